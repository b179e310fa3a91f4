package journal

// RoleRuns counts how the finished runs of one role ended. A run is a task, or a turn of an agent
// that talks to people: its task lasts as long as the conversation.
type RoleRuns struct {
	Role      string
	Runs      int64
	Completed int64
	// Cost and Questions are the sums of all of them.
	Cost      int64
	Questions int64
	// Duration is the median of the times, in milliseconds, from when each first ran to its end; the
	// shorter one of two in the middle.
	Duration int64
}
