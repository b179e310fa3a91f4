package wire

import (
	"encoding/json"
	"reflect"
)

// EventType names what happened. The names are a promise to programs.
type EventType string

// The types of recorded events. Each entry of a journal is one event at most, so that its seq names
// it.
const (
	ConversationCreated  EventType = "conversation.created"
	ConversationRenamed  EventType = "conversation.renamed"
	ConversationShared   EventType = "conversation.shared"
	ConversationArchived EventType = "conversation.archived"
	MessageReceived      EventType = "message.received"
	MessageDelivered     EventType = "message.delivered"
	MessageCompleted     EventType = "message.completed"
	MessageVoided        EventType = "message.voided"
	CancelRequested      EventType = "cancel.requested"
	AgentSpawned         EventType = "agent.spawned"
	AgentQueued          EventType = "agent.queued"
	AgentStarted         EventType = "agent.started"
	AgentWaiting         EventType = "agent.waiting"
	AgentResumed         EventType = "agent.resumed"
	AgentSettled         EventType = "agent.settled"
	AgentCompleted       EventType = "agent.completed"
	AgentFailed          EventType = "agent.failed"
	AgentCancelled       EventType = "agent.cancelled"
	AgentPatched         EventType = "agent.patched"
	NoteAdded            EventType = "note.added"
	TurnCompleted        EventType = "turn.completed"
	TurnFailed           EventType = "turn.failed"
	TurnCancelled        EventType = "turn.cancelled"
	AttemptStarted       EventType = "attempt.started"
	AttemptCompleted     EventType = "attempt.completed"
	AttemptFailed        EventType = "attempt.failed"
	ToolStarted          EventType = "tool.started"
	ToolReturned         EventType = "tool.returned"
	ToolDenied           EventType = "tool.denied"
	QuestionAsked        EventType = "question.asked"
	QuestionRelayed      EventType = "question.relayed"
	QuestionAnswered     EventType = "question.answered"
	ApprovalRequested    EventType = "approval.requested"
	ApprovalDecided      EventType = "approval.decided"
	ApprovalResolved     EventType = "approval.resolved"
	ApprovalExpired      EventType = "approval.expired"
	ApprovalGranted      EventType = "approval.granted"
)

// dataTypes are the data types of recorded events.
var dataTypes = map[EventType]reflect.Type{
	ConversationCreated: reflect.TypeFor[Opened](), ConversationRenamed: reflect.TypeFor[Renamed](),
	ConversationShared: reflect.TypeFor[Actor](), ConversationArchived: reflect.TypeFor[Actor](), MessageReceived: reflect.TypeFor[Received](),
	MessageDelivered: reflect.TypeFor[Delivered](), MessageCompleted: reflect.TypeFor[Message](),
	MessageVoided: reflect.TypeFor[Voided](), CancelRequested: reflect.TypeFor[Stopping](),
	AgentSpawned: reflect.TypeFor[Spawned](), AgentQueued: reflect.TypeFor[Moved](), AgentStarted: reflect.TypeFor[Moved](),
	AgentWaiting: reflect.TypeFor[Moved](), AgentResumed: reflect.TypeFor[Moved](), AgentSettled: reflect.TypeFor[Moved](),
	AgentCompleted: reflect.TypeFor[Finished](), AgentFailed: reflect.TypeFor[Finished](), AgentCancelled: reflect.TypeFor[Finished](),
	AgentPatched: reflect.TypeFor[Patched](), NoteAdded: reflect.TypeFor[Noted](), TurnCompleted: reflect.TypeFor[TurnEnd](),
	TurnFailed: reflect.TypeFor[TurnEnd](), TurnCancelled: reflect.TypeFor[TurnEnd](), AttemptStarted: reflect.TypeFor[Attempt](),
	AttemptCompleted: reflect.TypeFor[AttemptEnd](), AttemptFailed: reflect.TypeFor[AttemptEnd](),
	ToolStarted: reflect.TypeFor[ToolBegin](), ToolReturned: reflect.TypeFor[ToolResult](), ToolDenied: reflect.TypeFor[ToolResult](),
	QuestionAsked: reflect.TypeFor[Question](), QuestionRelayed: reflect.TypeFor[Relayed](),
	QuestionAnswered: reflect.TypeFor[Answered](), ApprovalRequested: reflect.TypeFor[Approval](),
	ApprovalDecided: reflect.TypeFor[Decided](), ApprovalResolved: reflect.TypeFor[Closed](),
	ApprovalExpired: reflect.TypeFor[Closed](), ApprovalGranted: reflect.TypeFor[Granted](),
}

// Opened is a conversation that began.
type Opened struct {
	By        string `json:"by"`
	Title     string `json:"title"`
	Workspace string `json:"workspace"`
	// Visibility is the one that it began with.
	Visibility Visibility `json:"visibility" enum:"tenant,private"`
}

// Renamed is a conversation's new name.
type Renamed struct {
	Title string `json:"title"`
}

// Actor says who did it.
type Actor struct {
	By string `json:"by"`
}

// Received is a message that a person posted.
type Received struct {
	Message
	InReplyTo string `json:"in_reply_to,omitempty"`
	Decline   bool   `json:"decline,omitempty"`
}

// Delivered names a message that the orchestrator was told of.
type Delivered struct {
	Message string `json:"message"`
}

// Voided names a turn whose reply counts for nothing.
type Voided struct {
	Turn int `json:"turn"`
}

// Stopping is a request to stop one task, or everything if it names none.
type Stopping struct {
	Task string `json:"task,omitempty"`
	By   string `json:"by"`
}

// Spawned is a task that an agent was given. Its first one makes the agent.
type Spawned struct {
	Parent        string   `json:"parent,omitempty"`
	Call          string   `json:"parent_call,omitempty"`
	Item          int      `json:"item,omitempty"`
	Trigger       int64    `json:"trigger,omitempty"`
	Depth         int      `json:"depth"`
	Role          string   `json:"role"`
	RoleHash      string   `json:"role_hash,omitempty"`
	Background    bool     `json:"background,omitempty"`
	Instruction   string   `json:"instruction,omitempty"`
	Criteria      string   `json:"success_criteria,omitempty"`
	Files         []string `json:"files,omitempty"`
	MaxIterations int      `json:"max_iterations,omitempty"`
	MaxDuration   int64    `json:"max_duration_ms,omitempty"`
}

// Moved is a task's new status.
type Moved struct {
	Status string `json:"status" enum:"queued,pending,running,waiting,completed,failed,cancelled,timed_out"`
	Reason string `json:"waiting_reason,omitempty"`
}

// Finished is the end of a task.
type Finished struct {
	Status     string          `json:"status" enum:"completed,failed,cancelled,timed_out"`
	Kind       string          `json:"error_kind,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	Message    string          `json:"message,omitempty"`
	Summary    string          `json:"summary,omitempty"`
	Result     json.RawMessage `json:"result,omitempty"`
	Files      []string        `json:"files,omitempty"`
	Iterations int             `json:"iterations,omitempty"`
	Receipt    json.RawMessage `json:"receipt,omitempty"`
}

// Patched is the patch of a task with a tree of its own.
type Patched struct {
	Text    string      `json:"text,omitempty" doc:"The hash under which the patch is kept."`
	Files   []PatchFile `json:"files"`
	Partial bool        `json:"partial,omitempty"`
	Problem string      `json:"problem,omitempty"`
}

// PatchFile is one file of a patch.
type PatchFile struct {
	Path    string `json:"path"`
	Change  string `json:"change"`
	Added   int    `json:"added,omitempty"`
	Removed int    `json:"removed,omitempty"`
}

// Noted is a line for people.
type Noted struct {
	Note     string `json:"note"`
	Text     string `json:"text,omitempty"`
	Question string `json:"question,omitempty"`
	Number   int64  `json:"number,omitempty"`
}

// TurnEnd is the end of a turn of the orchestrator.
type TurnEnd struct {
	Turn   int    `json:"turn"`
	Status string `json:"status" enum:"completed,failed,cancelled,timed_out"`
	Kind   string `json:"error_kind,omitempty"`
	Reason string `json:"reason,omitempty"`
	By     string `json:"by,omitempty"`
	Cut    bool   `json:"cut,omitempty"`
}

// Attempt is a model call that begins.
type Attempt struct {
	Call    string `json:"call"`
	Type    string `json:"type"`
	Turn    int    `json:"turn,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	Model   string `json:"model,omitempty"`
	Prompt  string `json:"prompt,omitempty"`
}

// AttemptEnd is a model call that ended.
type AttemptEnd struct {
	Call     string `json:"call"`
	Status   string `json:"status" enum:"completed,failed,cancelled,timed_out"`
	Kind     string `json:"error_kind,omitempty"`
	Message  string `json:"message,omitempty"`
	Model    string `json:"model,omitempty"`
	Usage    Usage  `json:"usage"`
	First    int64  `json:"first_token_ms,omitempty"`
	Waited   int64  `json:"waited_ms,omitempty" doc:"How long it waited for its turn with the provider."`
	Duration int64  `json:"duration_ms,omitempty"`
	Retry    int64  `json:"retry_after_ms,omitempty" doc:"How long the provider asked to be left alone."`
	Tries    []Try  `json:"tries,omitempty" doc:"The sendings of the same call before the last one."`
}

// Try is a sending of a model call that came to nothing.
type Try struct {
	Model string `json:"model,omitempty" doc:"Who it went to, where that was chosen."`
	Kind  string `json:"error_kind"`
}

// ToolBegin is a tool call that a worker begins.
type ToolBegin struct {
	Call    string `json:"call"`
	Attempt int    `json:"attempt,omitempty"`
	Class   string `json:"effect_class,omitempty"`
}

// ToolResult is the one result of a tool call.
type ToolResult struct {
	Call     string          `json:"call"`
	Status   string          `json:"status"`
	Text     string          `json:"text,omitempty"`
	Images   []string        `json:"images,omitempty"`
	Whole    string          `json:"whole,omitempty" doc:"The hash under which the whole output is kept, if the text is cut."`
	Reason   string          `json:"reason,omitempty"`
	Facts    json.RawMessage `json:"facts,omitempty"`
	Duration int64           `json:"duration_ms,omitempty"`
}

// Relayed names a question.
type Relayed struct {
	Question string `json:"question"`
}

// Answered is the end of a question.
type Answered struct {
	Question string `json:"question"`
	By       string `json:"by,omitempty"`
	Text     string `json:"text,omitempty"`
	Number   int64  `json:"number,omitempty"`
}

// Decided is a person's decision.
type Decided struct {
	Approval string `json:"approval"`
	Allow    bool   `json:"allow"`
	Scope    string `json:"scope,omitempty"`
	By       string `json:"by"`
	Note     string `json:"note,omitempty"`
	// Args is empty unless the call was allowed with other arguments than the agent's.
	Args json.RawMessage `json:"args,omitempty" doc:"What the call is allowed with instead of the agent's arguments."`
}

// Closed is the end of an approval.
type Closed struct {
	Approval string `json:"approval"`
	Status   string `json:"status" enum:"approved,denied,expired,cancelled"`
	Scope    string `json:"scope,omitempty"`
	By       string `json:"by,omitempty"`
}

// Granted is a pattern that is approved for the rest of the conversation.
type Granted struct {
	Tool    string `json:"tool"`
	Pattern string `json:"pattern,omitempty"`
}
