package journal

// RoleRuns is what became of the runs of one role that have ended. A run is a task, or a turn of an
// agent that talks to people: its task goes on as long as the conversation does.
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
