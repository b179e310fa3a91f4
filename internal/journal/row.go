package journal

import (
	"encoding/json"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Row is a fact. Its key is deterministic: a writer that writes the same fact again gives it the
// same key. The interface is sealed.
//
//sumtype:decl
type Row interface {
	// Key names the fact within its conversation.
	Key() string
	// Kind is the name of the row's type, as it is recorded.
	Kind() Kind
	// about names the agent and the task that the fact concerns; both may be empty.
	about() (agent, task string)
}

// In says which agent, and which task of it, a row is about.
type In struct {
	Agent string `json:"agent"`
	Task  string `json:"task"`
}

func (in In) about() (agent, task string) { return in.Agent, in.Task }

// nowhere is embedded by rows about the conversation itself.
type nowhere struct{}

func (nowhere) about() (agent, task string) { return "", "" }

// The rows about a conversation.
type (
	// Opened begins a conversation.
	Opened struct {
		nowhere
		By        string `json:"by"`
		Title     string `json:"title,omitempty"`
		Workspace string `json:"workspace,omitempty"`
		// Command is a hash of all that was asked for. A conversation that was begun with one and then
		// erased is not begun again.
		Command string `json:"command,omitempty"`
		// PrivateTo is the id of the only person who may see the conversation; empty means everybody in the
		// tenant.
		PrivateTo string `json:"private_to,omitempty"`
	}

	// Shared shows a conversation that was private to everybody in the tenant.
	Shared struct {
		nowhere
		By string `json:"by"`
	}

	// Titled gives a conversation its name. The last one counts.
	Titled struct {
		nowhere
		ID    string `json:"id"`
		Title string `json:"title"`
	}

	// Archived takes a conversation off the list.
	Archived struct {
		nowhere
		By string `json:"by"`
	}

	// MessageReceived is a person's message to the orchestrator. The journal numbers it. ID is the
	// client's.
	MessageReceived struct {
		nowhere
		ID    string      `json:"id"`
		By    string      `json:"by"`
		Parts []chat.Part `json:"parts"`
		// InReplyTo names a question, and Decline says that the person will not answer it.
		InReplyTo string `json:"in_reply_to,omitempty"`
		Decline   bool   `json:"decline,omitempty"`
	}

	// MailPosted is mail for an agent. It waits until a MailDelivered row names it: the agent has
	// read it, or no agent is left to read it. The topic names the kind of subject, the id the
	// subject.
	MailPosted struct {
		nowhere
		ID    string `json:"id"`
		Topic string `json:"topic"`
		// To is the agent that is to read it. A command for the server itself has none.
		To string `json:"to,omitempty"`
		// Event is an event from another agent of the conversation. Messages and decisions of
		// people are in rows of their own.
		Event json.RawMessage `json:"event,omitempty"`
		// Number is the person's message that the event brings. It goes back to the orchestrator if nobody
		// reads it.
		Number int64 `json:"number,omitempty"`
		// Command is who asked: the id of the command, where the answer to it outlives the conversation.
		Command string `json:"command,omitempty"`
		// By and Task belong to a command to stop: the person, and the task to stop. Without a task
		// everything stops.
		By   string `json:"by,omitempty"`
		Task string `json:"task,omitempty"`
	}

	// MailDelivered says that mail waits no longer.
	MailDelivered struct {
		nowhere
		ID string `json:"id"`
		// Back means that no agent was left to read it.
		Back bool `json:"back,omitempty"`
	}
)

// The rows about tasks.
type (
	// TaskAssigned gives an agent a task; its first one makes the agent.
	TaskAssigned struct {
		In
		// Parent is the agent that asked, and Call the call in its transcript, of which this is
		// item number Item.
		Parent string `json:"parent,omitempty"`
		Call   string `json:"call,omitempty"`
		Item   int    `json:"item,omitempty"`
		// Trigger is the number of the person's message that all this goes back to.
		Trigger     int64  `json:"trigger,omitempty"`
		Depth       int    `json:"depth,omitempty"`
		Role        string `json:"role"`
		RoleHash    string `json:"role_hash,omitempty"`
		Background  bool   `json:"background,omitempty"`
		Instruction string `json:"instruction,omitempty"`
		Criteria    string `json:"criteria,omitempty"`
		// Files are where the agent was told to begin.
		Files       []string `json:"files,omitempty"`
		ContextMode string   `json:"context_mode,omitempty"`
		// MaxIterations and MaxDuration (milliseconds) are the limits that people see.
		MaxIterations int   `json:"max_iterations,omitempty"`
		MaxDuration   int64 `json:"max_duration,omitempty"`
		// Brief is the core's brief.
		Brief json.RawMessage `json:"brief,omitempty"`
	}

	// StatusChanged says that a task's status changed. Serial counts the changes of one task.
	StatusChanged struct {
		In
		Serial int             `json:"serial"`
		Status chat.Status     `json:"status"`
		Reason chat.WaitReason `json:"reason,omitempty"`
	}

	// TaskEnded is the one end of a task.
	TaskEnded struct {
		In
		Status    chat.Status    `json:"status"`
		ErrorKind chat.ErrorKind `json:"error_kind,omitempty"`
		Reason    string         `json:"reason,omitempty"`
		// Message tells a person why it failed.
		Message string `json:"message,omitempty"`
		// Summary is the result in words, Result the result as the agent submitted it.
		Summary    string          `json:"summary,omitempty"`
		Result     json.RawMessage `json:"result,omitempty"`
		Files      []string        `json:"files,omitempty"`
		Iterations int             `json:"iterations,omitempty"`
		// Outcome is the core's outcome.
		Outcome json.RawMessage `json:"outcome,omitempty"`
		// Receipt compares the claims in Result with the known effects.
		Receipt json.RawMessage `json:"receipt,omitempty"`
	}

	// PatchKept is the patch of a task with a tree of its own. It may be taken after the task has
	// ended.
	PatchKept struct {
		In
		// Text is the hash of the kept patch, empty if nothing was changed or it could not be kept.
		Text  string      `json:"text,omitempty"`
		Bytes int         `json:"bytes,omitempty"`
		Files []PatchFile `json:"files,omitempty"`
		// Partial means that the task did not reach its goal.
		Partial bool `json:"partial,omitempty"`
		// Problem says why there is no text although files were changed.
		Problem string `json:"problem,omitempty"`
	}

	// TurnEnded is the end of an orchestrator's turn.
	TurnEnded struct {
		In
		Serial    int            `json:"serial"`
		Turn      int            `json:"turn"`
		Status    chat.Status    `json:"status"`
		ErrorKind chat.ErrorKind `json:"error_kind,omitempty"`
		Reason    string         `json:"reason,omitempty"`
		By        string         `json:"by,omitempty"`
		Cut       bool           `json:"cut,omitempty"`
	}

	// Stepped is an event that the core was given. N counts the events of one task from 1. It is
	// also a fence: rows that are appended together with a step that was recorded before, by
	// another writer of the same task, are not written.
	Stepped struct {
		In
		N     int             `json:"n"`
		Event json.RawMessage `json:"event"`
		// State is the state after this and all earlier events. Few steps have it: a fold of the
		// task begins with the last.
		State json.RawMessage `json:"state,omitempty"`
	}

	// NoteAdded is a line for people.
	NoteAdded struct {
		In
		Serial   int    `json:"serial"`
		Note     string `json:"note"`
		Text     string `json:"text,omitempty"`
		Question string `json:"question,omitempty"`
		Number   int64  `json:"number,omitempty"`
	}
)

// PatchFile is one file of a patch.
type PatchFile struct {
	Path string `json:"path"`
	// Change is added, modified or deleted.
	Change string `json:"change"`
	// Added and Removed count lines; both are -1 for a file that is no text.
	Added   int `json:"added,omitempty"`
	Removed int `json:"removed,omitempty"`
}

// The rows that make up transcripts.
type (
	// MessageAdded adds a message to an agent's transcript. A reply of the model has the turn that it
	// answers; its tool_use parts open calls.
	MessageAdded struct {
		In
		Turn    int          `json:"turn,omitempty"`
		Message chat.Message `json:"message"`
		// Reads are the numbers of the people's messages that the agent reads with this one.
		Reads []int64 `json:"reads,omitempty"`
	}

	// ReplyVoided takes the reply of a turn out of the transcript, whenever it was recorded.
	ReplyVoided struct {
		In
		Turn int `json:"turn"`
	}
)

// The beginnings of the ids of messages that are no person's: the model's reply to a turn, and
// notes that stand for everything before them.
const (
	ReplyMark   = "t"
	CompactMark = "c"
)
