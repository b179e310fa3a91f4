package client

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"
)

// EventType names what happened.
type EventType string

// The types of what is recorded, and below them the three that pass by.
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

	// MessageDelta is text on its way. The MessageCompleted that follows replaces it.
	MessageDelta EventType = "message.delta"
	// Resynced comes when too much was missed to be sent. Its data is a Snapshot: what is known of
	// the conversation is to be replaced by it. The events that follow come after it.
	Resynced EventType = "resync"
	// streamCut is the server's reason for an end. Follow begins again by itself.
	streamCut EventType = "stream.cut"
)

// Event is one thing that happened. Data has the type that belongs to Type, such as *Message for
// MessageCompleted; of a type that this package does not know it is a json.RawMessage.
type Event struct {
	// Seq is its place in the conversation: it grows, and is zero for what is not recorded.
	Seq          int64
	Type         EventType
	At           time.Time
	Conversation string
	Agent        string
	Task         string
	Data         any
}

// The data of events.
type (
	// Opened is a conversation that began.
	Opened struct {
		By        string `json:"by"`
		Title     string `json:"title"`
		Workspace string `json:"workspace"`
		// Visibility is tenant or private, as it began.
		Visibility string `json:"visibility"`
	}
	// Shared says who let everybody in the tenant see a conversation that was private.
	Shared struct {
		By string `json:"by"`
	}
	// Renamed is a conversation's new name.
	Renamed struct {
		Title string `json:"title"`
	}
	// Archived says who took a conversation off the list.
	Archived struct {
		By string `json:"by"`
	}
	// Received is a message that a person posted.
	Received struct {
		Message
		InReplyTo string `json:"in_reply_to,omitempty"`
		Decline   bool   `json:"decline,omitempty"`
	}
	// Delivered names a message that the orchestrator was told of.
	Delivered struct {
		Message string `json:"message"`
	}
	// Voided names a turn whose reply counts for nothing.
	Voided struct {
		Turn int `json:"turn"`
	}
	// Stopping is a request to stop one task, or everything if it names none.
	Stopping struct {
		Task string `json:"task,omitempty"`
		By   string `json:"by"`
	}
	// Spawned is a task that an agent was given.
	Spawned struct {
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
	Moved struct {
		Status string `json:"status"`
		Reason string `json:"waiting_reason,omitempty"`
	}
	// Finished is the end of a task.
	Finished struct {
		Status     string          `json:"status"`
		Kind       string          `json:"error_kind,omitempty"`
		Reason     string          `json:"reason,omitempty"`
		Message    string          `json:"message,omitempty"`
		Summary    string          `json:"summary,omitempty"`
		Result     json.RawMessage `json:"result,omitempty"`
		Files      []string        `json:"files,omitempty"`
		Iterations int             `json:"iterations,omitempty"`
		Receipt    json.RawMessage `json:"receipt,omitempty"`
	}
	// Patched is what a task changed in a tree of its own.
	Patched struct {
		Text    string      `json:"text,omitempty"`
		Files   []PatchFile `json:"files"`
		Partial bool        `json:"partial,omitempty"`
		Problem string      `json:"problem,omitempty"`
	}
	// PatchFile is one file of a patch.
	PatchFile struct {
		Path    string `json:"path"`
		Change  string `json:"change"`
		Added   int    `json:"added,omitempty"`
		Removed int    `json:"removed,omitempty"`
	}
	// Noted is a line for people.
	Noted struct {
		Note     string `json:"note"`
		Text     string `json:"text,omitempty"`
		Question string `json:"question,omitempty"`
		Number   int64  `json:"number,omitempty"`
	}
	// TurnEnd is the end of a turn of the orchestrator.
	TurnEnd struct {
		Turn   int    `json:"turn"`
		Status string `json:"status"`
		Kind   string `json:"error_kind,omitempty"`
		Reason string `json:"reason,omitempty"`
		By     string `json:"by,omitempty"`
		Cut    bool   `json:"cut,omitempty"`
	}
	// Attempt is a model call that begins.
	Attempt struct {
		Call    string `json:"call"`
		Type    string `json:"type"`
		Turn    int    `json:"turn,omitempty"`
		Attempt int    `json:"attempt,omitempty"`
		Model   string `json:"model,omitempty"`
		Prompt  string `json:"prompt,omitempty"`
	}
	// AttemptEnd is a model call that ended.
	AttemptEnd struct {
		Call     string `json:"call"`
		Status   string `json:"status"`
		Kind     string `json:"error_kind,omitempty"`
		Message  string `json:"message,omitempty"`
		Model    string `json:"model,omitempty"`
		Usage    Usage  `json:"usage"`
		First    int64  `json:"first_token_ms,omitempty"`
		Waited   int64  `json:"waited_ms,omitempty"`
		Duration int64  `json:"duration_ms,omitempty"`
		// Retry is how long the provider asked to be left alone.
		Retry int64 `json:"retry_after_ms,omitempty"`
		Tries []Try `json:"tries,omitempty"`
	}
	// Try is a sending of a model call that came to nothing.
	Try struct {
		Model string `json:"model,omitempty"`
		Kind  string `json:"error_kind"`
	}
	// ToolBegin is a tool call that a worker begins.
	ToolBegin struct {
		Call    string `json:"call"`
		Attempt int    `json:"attempt,omitempty"`
		Class   string `json:"effect_class,omitempty"`
	}
	// ToolResult is the one result of a tool call.
	ToolResult struct {
		Call     string          `json:"call"`
		Status   string          `json:"status"`
		Text     string          `json:"text,omitempty"`
		Images   []string        `json:"images,omitempty"`
		Whole    string          `json:"whole,omitempty"`
		Reason   string          `json:"reason,omitempty"`
		Facts    json.RawMessage `json:"facts,omitempty"`
		Duration int64           `json:"duration_ms,omitempty"`
	}
	// Relayed names a question that a person is asked.
	Relayed struct {
		Question string `json:"question"`
	}
	// Answered is the end of a question.
	Answered struct {
		Question string `json:"question"`
		By       string `json:"by,omitempty"`
		Text     string `json:"text,omitempty"`
		Number   int64  `json:"number,omitempty"`
	}
	// Decided is a person's decision.
	Decided struct {
		Approval string `json:"approval"`
		Allow    bool   `json:"allow"`
		Scope    string `json:"scope,omitempty"`
		By       string `json:"by"`
		Note     string `json:"note,omitempty"`
		// Args are what the call is allowed with instead of the agent's arguments.
		Args json.RawMessage `json:"args,omitempty"`
	}
	// Closed is the end of an approval.
	Closed struct {
		Approval string `json:"approval"`
		Status   string `json:"status"`
		Scope    string `json:"scope,omitempty"`
		By       string `json:"by,omitempty"`
	}
	// Granted is a pattern that is approved for the rest of the conversation.
	Granted struct {
		Tool    string `json:"tool"`
		Pattern string `json:"pattern,omitempty"`
	}
	// Delta is text on its way. Offset is where it belongs in its part, in bytes of UTF-8.
	Delta struct {
		Agent   string `json:"agent_path"`
		Message string `json:"message"`
		Began   int64  `json:"began"`
		Part    int    `json:"part"`
		Kind    string `json:"kind"`
		Tool    string `json:"tool,omitempty"`
		Offset  int64  `json:"offset"`
		Text    string `json:"text,omitempty"`
	}
)

// dataTypes are the types of the data of events.
var dataTypes = map[EventType]reflect.Type{
	ConversationCreated: reflect.TypeFor[Opened](), ConversationRenamed: reflect.TypeFor[Renamed](),
	ConversationShared: reflect.TypeFor[Shared](), ConversationArchived: reflect.TypeFor[Archived](), MessageReceived: reflect.TypeFor[Received](),
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

// parseEvent reads the data of a recorded event.
func parseEvent(text []byte) (Event, error) {
	var wire struct {
		Seq          int64           `json:"seq"`
		Type         EventType       `json:"type"`
		At           time.Time       `json:"ts"`
		Conversation string          `json:"conversation"`
		Agent        string          `json:"agent_path"`
		Task         string          `json:"task"`
		Data         json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(text, &wire); err != nil {
		return Event{}, fmt.Errorf("read event: %w", err)
	}
	e := Event{
		Seq: wire.Seq, Type: wire.Type, At: wire.At, Conversation: wire.Conversation, Agent: wire.Agent, Task: wire.Task,
		Data: wire.Data,
	}
	if t, ok := dataTypes[wire.Type]; ok {
		data := reflect.New(t).Interface()
		if err := json.Unmarshal(wire.Data, data); err != nil {
			return Event{}, fmt.Errorf("read event %d: %w", wire.Seq, err)
		}
		e.Data = data
	}
	return e, nil
}
