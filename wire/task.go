package wire

import (
	"encoding/json"
	"time"
)

// Task is a task of an agent, as a line in a chat shows it.
type Task struct {
	ID         string     `json:"id"`
	Agent      string     `json:"agent"`
	Parent     string     `json:"parent,omitempty" doc:"The agent that asked for it."`
	Call       string     `json:"parent_call,omitempty" doc:"The call, in that agent's transcript, that asked for it."`
	Item       int        `json:"item,omitempty"`
	Trigger    int64      `json:"trigger,omitempty" doc:"The number of the message that it goes back to."`
	Background bool       `json:"background,omitempty"`
	Seq        int64      `json:"seq"`
	Status     string     `json:"status" enum:"queued,pending,running,waiting,completed,failed,cancelled,timed_out"`
	Reason     string     `json:"waiting_reason,omitempty"`
	Kind       string     `json:"error_kind,omitempty"`
	AssignedAt time.Time  `json:"assigned_at"`
	StartedAt  *time.Time `json:"started_at,omitempty"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`

	Title         string   `json:"title,omitempty" doc:"The start of the instruction, at most 200 characters."`
	Summary       string   `json:"summary,omitempty" doc:"What came of it; in lists at most 400 characters."`
	Message       string   `json:"message,omitempty" doc:"Why it failed; in lists at most 400 characters."`
	Changed       []string `json:"changed_files,omitempty" doc:"The files that it says it changed, at most 20."`
	ChangedCount  int      `json:"changed_count,omitempty" doc:"How many files it says it changed."`
	Verdict       string   `json:"verdict,omitempty" enum:"none,verified,unverified,contradicted" doc:"What is known of its claims; absent until it ended."`
	Iterations    int      `json:"iterations,omitempty" doc:"How many steps it took; absent until it ended."`
	MaxIterations int      `json:"max_iterations,omitempty"`
	MaxDuration   int64    `json:"max_duration_ms,omitempty"`
}

// TaskView is a task with its request and its outcome.
type TaskView struct {
	Task
	Instruction string          `json:"instruction,omitempty"`
	Criteria    string          `json:"success_criteria,omitempty"`
	Files       []string        `json:"files,omitempty" doc:"Where the agent was told to begin."`
	ContextMode string          `json:"context_mode,omitempty"`
	Brief       json.RawMessage `json:"brief,omitempty" doc:"All that the agent was given to begin with."`
	Result      json.RawMessage `json:"result,omitempty"`
	Receipt     json.RawMessage `json:"receipt,omitempty" doc:"Claims compared with the recorded effects."`
}

// TaskLine is a task in a list across conversations.
type TaskLine struct {
	Task
	Conversation string `json:"conversation"`
	Talk         string `json:"conversation_title"`
	By           string `json:"by" doc:"Who began the conversation."`
	Role         string `json:"role"`
	Cost         int64  `json:"cost_micro_usd" doc:"What its own model calls cost."`
}

// TaskLines is a page of the list of all tasks, the newest first.
type TaskLines struct {
	Items  []TaskLine `json:"items"`
	Cursor string     `json:"cursor,omitempty" doc:"Asks for the next page; absent on the last."`
}
