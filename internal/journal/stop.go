package journal

// topicStop is the topic of commands to stop, and the beginning of their ids.
const topicStop = "cancel"

// Stop is a person's command to stop a task, or everything if none is named. The same id is the same command.
func Stop(id, by, task string) MailPosted {
	return MailPosted{ID: topicStop + ":" + id, Topic: topicStop, By: by, Task: task}
}

// Stops reports whether a post is a command to stop.
func (r MailPosted) Stops() bool { return r.Topic == topicStop }
