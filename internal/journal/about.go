package journal

// About names the agent and the task that a row concerns; both may be empty.
func About(row Row) (agent, task string) { return row.about() }
