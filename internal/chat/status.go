package chat

// Status is the state of one task, the same words for an orchestrator's turn and a sub-agent's run.
type Status string

// The statuses. The last four are terminal.
const (
	StatusQueued    Status = "queued"
	StatusPending   Status = "pending"
	StatusRunning   Status = "running"
	StatusWaiting   Status = "waiting"
	StatusCompleted Status = "completed"
	StatusFailed    Status = "failed"
	StatusCancelled Status = "cancelled"
	StatusTimedOut  Status = "timed_out"
)

// Terminal reports whether a task in this status is over for ever.
func (s Status) Terminal() bool {
	switch s {
	case StatusCompleted, StatusFailed, StatusCancelled, StatusTimedOut:
		return true
	case StatusQueued, StatusPending, StatusRunning, StatusWaiting:
		return false
	}
	return false
}

// WaitReason says what a waiting task waits for.
type WaitReason string

// The reasons to wait.
const (
	WaitUserInput WaitReason = "user_input"
	WaitApproval  WaitReason = "approval"
)

// AgentStatus projects a task's status onto the names used for a sub-agent: active, completed,
// failed and waiting_for_user. It is a view; the task's status is the only fact.
func AgentStatus(s Status, reason WaitReason) string {
	switch s {
	case StatusCompleted:
		return "completed"
	case StatusFailed, StatusCancelled, StatusTimedOut:
		return "failed"
	case StatusWaiting:
		if reason == WaitUserInput {
			return "waiting_for_user"
		}
		return "active"
	case StatusQueued, StatusPending, StatusRunning:
		return "active"
	}
	return "active"
}
