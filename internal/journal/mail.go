package journal

import "strings"

// Mail is mail for an agent on a topic. The id names one subject within the topic: the same topic
// and id are the same mail.
func Mail(topic, about, to string) MailPosted {
	return MailPosted{ID: topic + ":" + about, Topic: topic, To: to}
}

// About is the subject of the mail within its topic.
func (r MailPosted) About() string { return strings.TrimPrefix(r.ID, r.Topic+":") }

// topicStop is the topic of commands to stop.
const topicStop = "cancel"

// Stop is a person's command to stop a task, or everything if none is named. The same id is the
// same command.
func Stop(id, by, task string) MailPosted {
	stop := Mail(topicStop, id, "")
	stop.By, stop.Task = by, task
	return stop
}

// Stops reports whether a post is a command to stop.
func (r MailPosted) Stops() bool { return r.Topic == topicStop }
