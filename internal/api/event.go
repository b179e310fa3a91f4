package api

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// EventType names what happened. The names are a promise to programs.
type EventType string

// The types. Each entry of a journal is one event at most, so that its seq names it.
const (
	EventOpened    EventType = "conversation.created"
	EventTitled    EventType = "conversation.renamed"
	EventShared    EventType = "conversation.shared"
	EventArchived  EventType = "conversation.archived"
	EventReceived  EventType = "message.received"
	EventDelivered EventType = "message.delivered"
	EventCompleted EventType = "message.completed"
	EventVoided    EventType = "message.voided"
	EventStopping  EventType = "cancel.requested"

	EventSpawned   EventType = "agent.spawned"
	EventQueued    EventType = "agent.queued"
	EventStarted   EventType = "agent.started"
	EventWaiting   EventType = "agent.waiting"
	EventResumed   EventType = "agent.resumed"
	EventSettled   EventType = "agent.settled"
	EventDone      EventType = "agent.completed"
	EventFailed    EventType = "agent.failed"
	EventCancelled EventType = "agent.cancelled"
	EventPatched   EventType = "agent.patched"
	EventNoted     EventType = "note.added"

	EventTurnDone      EventType = "turn.completed"
	EventTurnFailed    EventType = "turn.failed"
	EventTurnCancelled EventType = "turn.cancelled"

	EventAttempt       EventType = "attempt.started"
	EventAttemptDone   EventType = "attempt.completed"
	EventAttemptFailed EventType = "attempt.failed"

	EventToolStarted  EventType = "tool.started"
	EventToolReturned EventType = "tool.returned"
	EventToolDenied   EventType = "tool.denied"

	EventAsked    EventType = "question.asked"
	EventRelayed  EventType = "question.relayed"
	EventAnswered EventType = "question.answered"

	EventWanted   EventType = "approval.requested"
	EventDecided  EventType = "approval.decided"
	EventResolved EventType = "approval.resolved"
	EventExpired  EventType = "approval.expired"
	EventGranted  EventType = "approval.granted"
)

// Event is one thing that happened and is recorded.
type Event struct {
	Seq          int64     `json:"seq" doc:"Its place in the conversation. It grows; some numbers are no event."`
	Type         EventType `json:"type"`
	At           time.Time `json:"ts"`
	Conversation string    `json:"conversation"`
	Agent        string    `json:"agent_path,omitempty" doc:"The agent's path from the orchestrator down."`
	Task         string    `json:"task,omitempty"`
	Data         any       `json:"data"`
}

// The data of events.
type (
	// OpenedData is a conversation that began.
	OpenedData struct {
		By        string `json:"by"`
		Title     string `json:"title"`
		Workspace string `json:"workspace"`
		// Visibility is the one that it began with.
		Visibility Visibility `json:"visibility" enum:"tenant,private"`
	}
	// TitledData is a conversation's new name.
	TitledData struct {
		Title string `json:"title"`
	}
	// ByData says who did it.
	ByData struct {
		By string `json:"by"`
	}
	// ReceivedData is a message that a person posted.
	ReceivedData struct {
		Message
		InReplyTo string `json:"in_reply_to,omitempty"`
		Decline   bool   `json:"decline,omitempty"`
	}
	// DeliveredData names a message that the orchestrator was told of.
	DeliveredData struct {
		Message string `json:"message"`
	}
	// VoidedData names a turn whose reply counts for nothing.
	VoidedData struct {
		Turn int `json:"turn"`
	}
	// StoppingData is a request to stop one task, or everything if it names none.
	StoppingData struct {
		Task string `json:"task,omitempty"`
		By   string `json:"by"`
	}
	// SpawnedData is a task that an agent was given. Its first one makes the agent.
	SpawnedData struct {
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
	// MovedData is a task's new status.
	MovedData struct {
		Status string `json:"status" enum:"queued,pending,running,waiting,completed,failed,cancelled,timed_out"`
		Reason string `json:"waiting_reason,omitempty"`
	}
	// FinishedData is the end of a task.
	FinishedData struct {
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
	// PatchedData is what a task changed in a tree of its own.
	PatchedData struct {
		Text    string              `json:"text,omitempty" doc:"The hash under which the patch is kept."`
		Files   []journal.PatchFile `json:"files"`
		Partial bool                `json:"partial,omitempty"`
		Problem string              `json:"problem,omitempty"`
	}
	// NotedData is a line for people.
	NotedData struct {
		Note     string `json:"note"`
		Text     string `json:"text,omitempty"`
		Question string `json:"question,omitempty"`
		Number   int64  `json:"number,omitempty"`
	}
	// TurnData is the end of a turn of the orchestrator.
	TurnData struct {
		Turn   int    `json:"turn"`
		Status string `json:"status" enum:"completed,failed,cancelled,timed_out"`
		Kind   string `json:"error_kind,omitempty"`
		Reason string `json:"reason,omitempty"`
		By     string `json:"by,omitempty"`
		Cut    bool   `json:"cut,omitempty"`
	}
	// AttemptData is a model call that begins.
	AttemptData struct {
		Call    string `json:"call"`
		Type    string `json:"type"`
		Turn    int    `json:"turn,omitempty"`
		Attempt int    `json:"attempt,omitempty"`
		Model   string `json:"model,omitempty"`
		Prompt  string `json:"prompt,omitempty"`
	}
	// AttemptEndData is a model call that ended.
	AttemptEndData struct {
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
	Try struct {
		Model string `json:"model,omitempty" doc:"Who it went to, where that was chosen."`
		Kind  string `json:"error_kind"`
	}
	// ToolStartedData is a tool call that a worker begins.
	ToolStartedData struct {
		Call    string `json:"call"`
		Attempt int    `json:"attempt,omitempty"`
		Class   string `json:"effect_class,omitempty"`
	}
	// ToolData is the one result of a tool call.
	ToolData struct {
		Call     string          `json:"call"`
		Status   string          `json:"status"`
		Text     string          `json:"text,omitempty"`
		Images   []string        `json:"images,omitempty"`
		Whole    string          `json:"whole,omitempty" doc:"The hash under which the whole output is kept, if the text is cut."`
		Reason   string          `json:"reason,omitempty"`
		Facts    json.RawMessage `json:"facts,omitempty"`
		Duration int64           `json:"duration_ms,omitempty"`
	}
	// QuestionData names a question.
	QuestionData struct {
		Question string `json:"question"`
	}
	// AnsweredData is the end of a question.
	AnsweredData struct {
		Question string `json:"question"`
		By       string `json:"by,omitempty"`
		Text     string `json:"text,omitempty"`
		Number   int64  `json:"number,omitempty"`
	}
	// DecidedData is a person's decision.
	DecidedData struct {
		Approval string `json:"approval"`
		Allow    bool   `json:"allow"`
		Scope    string `json:"scope,omitempty"`
		By       string `json:"by"`
		Note     string `json:"note,omitempty"`
		// Args is empty unless the call was allowed with other arguments than the agent's.
		Args json.RawMessage `json:"args,omitempty" doc:"What the call is allowed with instead of the agent's arguments."`
	}
	// ClosedData is the end of an approval.
	ClosedData struct {
		Approval string `json:"approval"`
		Status   string `json:"status" enum:"approved,denied,expired,cancelled"`
		Scope    string `json:"scope,omitempty"`
		By       string `json:"by,omitempty"`
	}
	// GrantedData is a pattern that is approved for the rest of the conversation.
	GrantedData struct {
		Tool    string `json:"tool"`
		Pattern string `json:"pattern,omitempty"`
	}
)

// eventData is the data of each type, for the document.
var eventData = map[EventType]any{
	EventOpened: OpenedData{}, EventTitled: TitledData{}, EventShared: ByData{}, EventArchived: ByData{}, EventReceived: ReceivedData{},
	EventDelivered: DeliveredData{}, EventCompleted: Message{}, EventVoided: VoidedData{}, EventStopping: StoppingData{},
	EventSpawned: SpawnedData{}, EventQueued: MovedData{}, EventStarted: MovedData{}, EventWaiting: MovedData{},
	EventResumed: MovedData{}, EventSettled: MovedData{}, EventDone: FinishedData{}, EventFailed: FinishedData{},
	EventCancelled: FinishedData{}, EventPatched: PatchedData{}, EventNoted: NotedData{}, EventTurnDone: TurnData{},
	EventTurnFailed: TurnData{}, EventTurnCancelled: TurnData{}, EventAttempt: AttemptData{},
	EventAttemptDone: AttemptEndData{}, EventAttemptFailed: AttemptEndData{}, EventToolStarted: ToolStartedData{}, EventToolReturned: ToolData{},
	EventToolDenied: ToolData{}, EventAsked: Question{}, EventRelayed: QuestionData{}, EventAnswered: AnsweredData{},
	EventWanted: Approval{}, EventDecided: DecidedData{}, EventResolved: ClosedData{}, EventExpired: ClosedData{},
	EventGranted: GrantedData{},
}

// eventOf is what an entry of the journal means to those who watch; false if it is of no concern to
// them. It depends on nothing but the entry, so that a reader that goes on from anywhere reads the same.
func eventOf(conversation string, entry journal.Entry) (Event, bool) {
	e := Event{Seq: entry.Seq, At: entry.At.UTC(), Conversation: conversation}
	about(&e, entry.Row)
	switch r := entry.Row.(type) {
	case journal.Opened:
		e.Type, e.Data = EventOpened, OpenedData{By: r.By, Title: r.Title, Workspace: r.Workspace, Visibility: visibilityOf(r.PrivateTo)}
	case journal.Shared:
		e.Type, e.Data = EventShared, ByData{By: r.By}
	case journal.Titled:
		e.Type, e.Data = EventTitled, TitledData{Title: r.Title}
	case journal.Archived:
		e.Type, e.Data = EventArchived, ByData{By: r.By}
	case journal.MessageReceived:
		e.Type, e.Data = EventReceived, ReceivedData{
			Message: messageOf(journal.MessageOf(entry)), InReplyTo: r.InReplyTo, Decline: r.Decline,
		}
	case journal.MailPosted:
		return stopping(e, r)
	case journal.MailDelivered:
		id, ok := strings.CutPrefix(r.ID, "message:")
		e.Type, e.Data = EventDelivered, DeliveredData{Message: id}
		return e, ok
	case journal.TaskAssigned:
		e.Type, e.Data = EventSpawned, spawned(r)
	case journal.StatusChanged:
		e.Type, e.Data = movedType(r), MovedData{Status: string(r.Status), Reason: string(r.Reason)}
	case journal.TaskEnded:
		e.Type, e.Data = endType(r.Status, EventDone, EventFailed, EventCancelled), FinishedData{
			Status: string(r.Status), Kind: string(r.ErrorKind), Reason: r.Reason, Message: r.Message, Summary: r.Summary,
			Result: r.Result, Files: r.Files, Iterations: r.Iterations, Receipt: r.Receipt,
		}
	case journal.PatchKept:
		e.Type, e.Data = EventPatched, PatchedData{
			Text: r.Text, Files: append([]journal.PatchFile{}, r.Files...), Partial: r.Partial, Problem: r.Problem,
		}
	case journal.TurnEnded:
		e.Type, e.Data = endType(r.Status, EventTurnDone, EventTurnFailed, EventTurnCancelled), turnOf(r)
	case journal.NoteAdded:
		e.Type, e.Data = EventNoted, notedOf(r)
	case journal.MessageAdded:
		e.Type, e.Data = EventCompleted, messageOf(journal.MessageOf(entry))
	case journal.ReplyVoided:
		e.Type, e.Data = EventVoided, VoidedData{Turn: r.Turn}
	case journal.ModelCalled, journal.ModelReplied, journal.ToolStarted, journal.ToolReturned:
		return callEvent(e, r)
	case journal.QuestionAsked, journal.QuestionRelayed, journal.QuestionAnswered, journal.ApprovalRequested, journal.ApprovalDecided, journal.ApprovalClosed, journal.Granted:
		return askEvent(e, r)
	case journal.Stepped, journal.EditProposed, journal.HostReached, journal.Tainted, journal.Newer:
		return e, false
	}
	return e, true
}

// stopping is the event of a request to stop. Other posts only say that the engine must be told.
func stopping(e Event, r journal.MailPosted) (Event, bool) {
	e.Type, e.Data = EventStopping, StoppingData{By: r.By, Task: r.Task}
	return e, r.Stops()
}

func spawned(r journal.TaskAssigned) SpawnedData {
	return SpawnedData{
		Parent: r.Parent, Call: r.Call, Item: r.Item, Trigger: r.Trigger, Depth: r.Depth, Role: r.Role, RoleHash: r.RoleHash,
		Background: r.Background, Instruction: r.Instruction, Criteria: r.Criteria, Files: r.Files,
		MaxIterations: r.MaxIterations, MaxDuration: r.MaxDuration,
	}
}

// movedType is the type of a move. One to a final status is no end: the orchestrator comes to rest after
// every turn and goes on with the next. A task ends when it is finished.
func movedType(r journal.StatusChanged) EventType {
	switch r.Status {
	case chat.StatusWaiting:
		return EventWaiting
	case chat.StatusRunning:
		if r.Serial > 1 {
			return EventResumed
		}
		return EventStarted
	case chat.StatusCompleted, chat.StatusFailed, chat.StatusCancelled, chat.StatusTimedOut:
		return EventSettled
	case chat.StatusQueued, chat.StatusPending:
		return EventQueued
	}
	return EventQueued
}

// endType is the type of an end: well, not well, or stopped.
func endType(s chat.Status, well, failed, stopped EventType) EventType {
	switch s {
	case chat.StatusCompleted:
		return well
	case chat.StatusCancelled:
		return stopped
	case chat.StatusFailed, chat.StatusTimedOut, chat.StatusQueued, chat.StatusPending, chat.StatusRunning, chat.StatusWaiting:
		return failed
	}
	return failed
}
