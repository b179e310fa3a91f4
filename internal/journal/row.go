package journal

import (
	"encoding/json"
	"net"
	"strconv"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Row is a fact. Its key is deterministic: a writer that writes the same fact again gives it the same
// key. The interface is sealed.
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
		// Command is a hash of all that was asked for. A conversation that was begun with one and then erased
		// is not begun again.
		Command string `json:"command,omitempty"`
		// PrivateTo is the id of the only person who may see the conversation; empty means everybody in the tenant.
		PrivateTo string `json:"private_to,omitempty"`
	}

	// Shared lets everybody in the tenant see a conversation that was private.
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

	// MessageReceived is what a person said to the orchestrator. The journal numbers it. ID is the client's.
	MessageReceived struct {
		nowhere
		ID    string      `json:"id"`
		By    string      `json:"by"`
		Parts []chat.Part `json:"parts"`
		// InReplyTo names a question, and Decline says that the person will not answer it.
		InReplyTo string `json:"in_reply_to,omitempty"`
		Decline   bool   `json:"decline,omitempty"`
	}

	// MailPosted is mail for an agent. It waits until a MailDelivered row names it: the agent has taken it in, or nobody is there to do
	// so. The topic says what it is about, the id which of those.
	MailPosted struct {
		nowhere
		ID    string `json:"id"`
		Topic string `json:"topic"`
		// To is the agent that is to read it. A command for the server itself has none.
		To string `json:"to,omitempty"`
		// Event is what another agent of the conversation tells. Messages and decisions of people are in rows of their own.
		Event json.RawMessage `json:"event,omitempty"`
		// Number is the person's message that the event brings. It goes back to the orchestrator if nobody reads it.
		Number int64 `json:"number,omitempty"`
		// Command is who asked: the id of the command, where the answer to it outlives the conversation.
		Command string `json:"command,omitempty"`
		// By and Task are of a command to stop: who gave it, and what is to stop. Without a task that is everything.
		By   string `json:"by,omitempty"`
		Task string `json:"task,omitempty"`
	}

	// MailDelivered says that mail waits no longer.
	MailDelivered struct {
		nowhere
		ID string `json:"id"`
		// Back means that nobody was there to take it in.
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
		// Brief is what the core was given.
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
		// Outcome is what the core decided.
		Outcome json.RawMessage `json:"outcome,omitempty"`
		// Receipt compares what is claimed in Result with what is known to have been done.
		Receipt json.RawMessage `json:"receipt,omitempty"`
	}

	// PatchKept is what a task changed in a tree of its own. It may be taken after the task has ended.
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
	// another who carries the same task on, are not written.
	Stepped struct {
		In
		N     int             `json:"n"`
		Event json.RawMessage `json:"event"`
		// State is the state that this and all earlier events led to. Few steps have it: who folds the task begins with the last.
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
	// Added and Removed count lines; both are -1 for what is no text.
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

// Try is a sending of a model call that came to nothing: who it went to, where that was chosen, and why.
type Try struct {
	Model string         `json:"model,omitempty"`
	Kind  chat.ErrorKind `json:"kind"`
}

// Source is a place that strangers write to. Kind is web, mcp, file, agent or more; Name a host, a server, a path
// or an agent.
type Source struct {
	Kind string `json:"kind"`
	Name string `json:"name,omitempty"`
}

// The rows about model calls and tool calls.
type (
	// ModelCalled opens a model call before the request is sent, with the most that it may use.
	ModelCalled struct {
		In
		// Call is unique among the model calls of a task.
		Call    string      `json:"call"`
		Type    RequestType `json:"type"`
		Turn    int         `json:"turn,omitempty"`
		Attempt int         `json:"attempt,omitempty"`
		Model   string      `json:"model,omitempty"`
		// Prompt is the hash of the kept system prompt.
		Prompt        string `json:"prompt,omitempty"`
		ContextTokens int64  `json:"context_tokens,omitempty"`
		HoldTokens    int64  `json:"hold_tokens,omitempty"`
		HoldCost      int64  `json:"hold_cost,omitempty"`
	}

	// ModelReplied ends a model call and says what it used.
	ModelReplied struct {
		In
		Call      string         `json:"call"`
		Status    chat.Status    `json:"status"`
		ErrorKind chat.ErrorKind `json:"error_kind,omitempty"`
		Message   string         `json:"message,omitempty"`
		Stop      string         `json:"stop,omitempty"`
		// Model and Provider are who answered, and the provider's name for the exchange.
		Model    string     `json:"model,omitempty"`
		Provider string     `json:"provider,omitempty"`
		Usage    chat.Usage `json:"usage"`
		// Unmetered means that more may have been used than is known: the hold stays.
		Unmetered bool `json:"unmetered,omitempty"`
		// Month and Reserved are what was reserved for the call of the tenant's budget. It is settled with what was used.
		Month    string `json:"month,omitempty"`
		Reserved int64  `json:"reserved,omitempty"`
		Prices   string `json:"prices,omitempty"`
		// First, Waited and Duration are in milliseconds, as is RetryAfter: how long the provider asked to be
		// left alone.
		First      int64 `json:"first,omitempty"`
		Waited     int64 `json:"waited,omitempty"`
		Duration   int64 `json:"duration,omitempty"`
		RetryAfter int64 `json:"retry_after,omitempty"`
		// Tries are the sendings of the same call before the last one.
		Tries []Try `json:"tries,omitempty"`
		// Parts holds the reply of a call that adds nothing to a transcript.
		Parts []chat.Part `json:"parts,omitempty"`
	}

	// ToolStarted says that a worker begins a tool call. It is written before a call that must not
	// happen twice.
	ToolStarted struct {
		In
		Call    string `json:"call"`
		Attempt int    `json:"attempt,omitempty"`
		Worker  string `json:"worker,omitempty"`
		Class   string `json:"class,omitempty"`
	}

	// HostReached says that a tool call opens a connection to a host. It is written before the first one.
	HostReached struct {
		In
		Call string `json:"call"`
		Host string `json:"host"`
		Port int    `json:"port"`
	}

	// Tainted says that an agent has read something that a stranger may have written. The first one of an agent
	// stands, and nothing takes it back: from then on a person decides about what the agent writes and sends.
	// The worker that writes such a text into the agent's transcript writes this beside it.
	Tainted struct {
		In
		// Call is the call whose result it was, if it was one.
		Call    string   `json:"call,omitempty"`
		Sources []Source `json:"sources"`
	}

	// ToolReturned is the one result of a tool call.
	ToolReturned struct {
		In
		Call   string     `json:"call"`
		Status CallStatus `json:"status"`
		Text   string     `json:"text,omitempty"`
		// Images are the hashes of kept data URLs, which the model is shown after the text.
		Images []string `json:"images,omitempty"`
		// Whole is the hash of the kept text that Text is the head and the tail of.
		Whole string `json:"whole,omitempty"`
		// Reason is why a call was not carried out that could have been: one of the core's.
		Reason string `json:"reason,omitempty"`
		// Facts is what the tool is known to have done.
		Facts    json.RawMessage `json:"facts,omitempty"`
		Duration int64           `json:"duration,omitempty"`
	}
)

// The rows about what waits for a person.
type (
	// QuestionAsked is a question of an agent.
	QuestionAsked struct {
		In
		Question string   `json:"question"`
		Call     string   `json:"call,omitempty"`
		Text     string   `json:"text"`
		Options  []string `json:"options,omitempty"`
		// Until is when it expires, in milliseconds since 1970.
		Until int64 `json:"until,omitempty"`
	}

	// QuestionRelayed shows a question to the person.
	QuestionRelayed struct {
		In
		Question string `json:"question"`
	}

	// QuestionAnswered ends a question. By says who answered, or that nobody did; Number names the
	// person's message.
	QuestionAnswered struct {
		In
		Question string `json:"question"`
		By       string `json:"by,omitempty"`
		Text     string `json:"text,omitempty"`
		Number   int64  `json:"number,omitempty"`
		// Sources is what the agent has read in whose words the answer is.
		Sources []Source `json:"sources,omitempty"`
	}

	// ApprovalRequested asks a person to approve a call.
	ApprovalRequested struct {
		In
		Call    string `json:"call"`
		Tool    string `json:"tool"`
		Hash    string `json:"hash"`
		Pattern string `json:"pattern,omitempty"`
		Until   int64  `json:"until,omitempty"`
		// Show is what the person is shown.
		Show json.RawMessage `json:"show,omitempty"`
		// Sources is what the agent has read, if that is why the person is asked whatever the rules say.
		Sources []Source `json:"sources,omitempty"`
	}

	// EditProposed are arguments that a person would give a call in the place of the model's, to be looked at
	// before they decide so. Nothing else comes of it. Edit is the hash of what they sent.
	EditProposed struct {
		In
		Call string `json:"call"`
		Edit string `json:"edit"`
		// Args is text, as in a tool_use: stores change how JSON of their own is written.
		Args string `json:"args"`
		By   string `json:"by"`
	}

	// ApprovalDecided is a person's decision. The first one counts.
	ApprovalDecided struct {
		In
		Call   string `json:"call"`
		Hash   string `json:"hash"`
		Allow  bool   `json:"allow,omitempty"`
		Scope  string `json:"scope,omitempty"`
		By     string `json:"by"`
		Reason string `json:"reason,omitempty"`
		// Args are what the call is allowed with instead of the model's arguments, if it is; Edited is what
		// the core is told of the call with them.
		Args   string          `json:"args,omitempty"`
		Edited json.RawMessage `json:"edited,omitempty"`
		// Audit is the key of the entry on the audit trail that says so. The audited journal sets it.
		Audit string `json:"audit,omitempty"`
	}

	// ApprovalClosed ends an approval: approved, denied, expired or cancelled.
	ApprovalClosed struct {
		In
		Call   string `json:"call"`
		Status string `json:"status"`
		Scope  string `json:"scope,omitempty"`
		By     string `json:"by,omitempty"`
	}

	// Granted approves a call's pattern for the whole conversation. Its key is made of tool and
	// pattern, so that it can be found.
	Granted struct {
		In
		Call    string `json:"call"`
		Tool    string `json:"tool"`
		Pattern string `json:"pattern,omitempty"`
	}
)

// RequestType is what a model call is for.
type RequestType string

// The request types.
const (
	RequestPrompt       RequestType = "prompt"
	RequestContinuation RequestType = "continuation"
	RequestDelegation   RequestType = "delegation"
	RequestResolution   RequestType = "question_resolution"
	RequestRouting      RequestType = "routing"
	RequestCompaction   RequestType = "compaction"
	RequestTitle        RequestType = "title"
)

// CallStatus is the state of a tool call.
type CallStatus string

// The states of a tool call.
const (
	CallPending       CallStatus = "pending"
	CallWaiting       CallStatus = "waiting_approval"
	CallRunning       CallStatus = "running"
	CallCompleted     CallStatus = "completed"
	CallFailed        CallStatus = "failed"
	CallDenied        CallStatus = "denied"
	CallCancelled     CallStatus = "cancelled"
	CallTimedOut      CallStatus = "timed_out"
	CallSkipped       CallStatus = "skipped"
	CallIndeterminate CallStatus = "indeterminate"
)

// The beginnings of the ids of messages that are no person's: the model's reply to a turn, and notes
// that stand for everything before them.
const (
	ReplyMark   = "t"
	CompactMark = "c"
)

// The beginnings of keys that later rows follow.
const (
	taskPrefix    = "task/"
	requestPrefix = "request/"
)

// Key implements Row.
func (Opened) Key() string            { return "opened" }
func (Shared) Key() string            { return "shared" }
func (r Titled) Key() string          { return "title/" + r.ID }
func (Archived) Key() string          { return "archived" }
func (r MessageReceived) Key() string { return "received/" + r.ID }
func (r MailPosted) Key() string      { return "post/" + r.ID }
func (r MailDelivered) Key() string   { return "delivered/" + r.ID }
func (r TaskAssigned) Key() string    { return taskPrefix + r.Task }
func (r StatusChanged) Key() string   { return "status/" + r.Task + "#" + strconv.Itoa(r.Serial) }
func (r TaskEnded) Key() string       { return "end/" + r.Task }
func (r PatchKept) Key() string       { return "patch/" + r.Task }
func (r TurnEnded) Key() string       { return "turn-end/" + r.Task + "#" + strconv.Itoa(r.Serial) }
func (r Stepped) Key() string         { return "step/" + r.Task + "#" + strconv.Itoa(r.N) }
func (r NoteAdded) Key() string       { return "note/" + r.Task + "#" + strconv.Itoa(r.Serial) }
func (r MessageAdded) Key() string    { return "message/" + r.Agent + "#" + r.Message.ID }
func (r ReplyVoided) Key() string     { return VoidKey(r.Agent, r.Turn) }
func (r ModelCalled) Key() string     { return requestPrefix + r.Task + "#" + r.Call }
func (r ModelReplied) Key() string    { return "response/" + r.Task + "#" + r.Call }
func (r ToolStarted) Key() string {
	return "start/" + r.Agent + "#" + r.Call + "#" + strconv.Itoa(r.Attempt)
}

func (r HostReached) Key() string {
	return "reached/" + r.Agent + "#" + r.Call + "#" + net.JoinHostPort(r.Host, strconv.Itoa(r.Port))
}
func (r Tainted) Key() string           { return "tainted/" + r.Agent }
func (r ToolReturned) Key() string      { return "result/" + r.Agent + "#" + r.Call }
func (r QuestionAsked) Key() string     { return "ask/" + r.Question }
func (r QuestionRelayed) Key() string   { return "relay/" + r.Question }
func (r QuestionAnswered) Key() string  { return "answer/" + r.Question }
func (r ApprovalRequested) Key() string { return "approval/" + r.Agent + "#" + r.Call }
func (r EditProposed) Key() string      { return "propose/" + r.Agent + "#" + r.Call + "#" + r.Edit }
func (r ApprovalDecided) Key() string   { return "decide/" + r.Agent + "#" + r.Call }
func (r ApprovalClosed) Key() string    { return "close-approval/" + r.Agent + "#" + r.Call }
func (r Granted) Key() string           { return "grant/" + HashOf(r.Tool+"\n"+r.Pattern) }

// VoidKey is the key of the row that voids a turn.
func VoidKey(agent string, turn int) string { return "void/" + agent + "#" + strconv.Itoa(turn) }

// LeaseKey is the key of the lease on a tool call. A later attempt takes it over.
func LeaseKey(agent, call string) string { return "tool/" + agent + "#" + call }
