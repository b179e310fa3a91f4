package events

import (
	"encoding/json"
	"strings"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

// Of is the event that an entry of the journal is to watchers; false if it is none. It depends on
// the entry alone, so that a reader that continues from anywhere reads the same.
func Of(conversation string, entry journal.Entry) (wire.Event, bool) {
	e := wire.Event{Seq: entry.Seq, At: entry.At.UTC(), Conversation: conversation}
	e.Agent, e.Task = journal.About(entry.Row)
	switch r := entry.Row.(type) {
	case journal.Opened:
		e.Type, e.Data = wire.ConversationCreated, wire.Opened{By: r.By, Title: r.Title, Workspace: r.Workspace, Visibility: visibilityOf(r.PrivateTo)}
	case journal.Shared:
		e.Type, e.Data = wire.ConversationShared, wire.Actor{By: r.By}
	case journal.Titled:
		e.Type, e.Data = wire.ConversationRenamed, wire.Renamed{Title: r.Title}
	case journal.Archived:
		e.Type, e.Data = wire.ConversationArchived, wire.Actor{By: r.By}
	case journal.MessageReceived:
		e.Type, e.Data = wire.MessageReceived, wire.Received{
			Message: Message(journal.MessageOf(entry)), InReplyTo: r.InReplyTo, Decline: r.Decline,
		}
	case journal.MailPosted:
		return stopping(e, r)
	case journal.MailDelivered:
		id, ok := strings.CutPrefix(r.ID, "message:")
		e.Type, e.Data = wire.MessageDelivered, wire.Delivered{Message: id}
		return e, ok
	case journal.TaskAssigned:
		e.Type, e.Data = wire.AgentSpawned, spawned(r)
	case journal.StatusChanged:
		e.Type, e.Data = movedType(r), wire.Moved{Status: string(r.Status), Reason: string(r.Reason)}
	case journal.TaskEnded:
		e.Type, e.Data = endType(r.Status, wire.AgentCompleted, wire.AgentFailed, wire.AgentCancelled), wire.Finished{
			Status: string(r.Status), Kind: string(r.ErrorKind), Reason: r.Reason, Message: r.Message, Summary: r.Summary,
			Result: r.Result, Files: r.Files, Iterations: r.Iterations, Receipt: r.Receipt,
		}
	case journal.PatchKept:
		e.Type, e.Data = wire.AgentPatched, wire.Patched{
			Text: r.Text, Files: each(r.Files, func(f journal.PatchFile) wire.PatchFile { return wire.PatchFile(f) }), Partial: r.Partial, Problem: r.Problem,
		}
	case journal.TurnEnded:
		e.Type, e.Data = endType(r.Status, wire.TurnCompleted, wire.TurnFailed, wire.TurnCancelled), TurnEnd(r)
	case journal.NoteAdded:
		e.Type, e.Data = wire.NoteAdded, Noted(r)
	case journal.MessageAdded:
		e.Type, e.Data = wire.MessageCompleted, Message(journal.MessageOf(entry))
	case journal.ReplyVoided:
		e.Type, e.Data = wire.MessageVoided, wire.Voided{Turn: r.Turn}
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
func stopping(e wire.Event, r journal.MailPosted) (wire.Event, bool) {
	e.Type, e.Data = wire.CancelRequested, wire.Stopping{By: r.By, Task: r.Task}
	return e, r.Stops()
}

func spawned(r journal.TaskAssigned) wire.Spawned {
	return wire.Spawned{
		Parent: r.Parent, Call: r.Call, Item: r.Item, Trigger: r.Trigger, Depth: r.Depth, Role: r.Role, RoleHash: r.RoleHash,
		Background: r.Background, Instruction: r.Instruction, Criteria: r.Criteria, Files: r.Files,
		MaxIterations: r.MaxIterations, MaxDuration: r.MaxDuration,
	}
}

// movedType is the type of a move. One to a final status is no end: the orchestrator rests after
// every turn and begins the next. A task ends when it is finished.
func movedType(r journal.StatusChanged) wire.EventType {
	switch r.Status {
	case chat.StatusWaiting:
		return wire.AgentWaiting
	case chat.StatusRunning:
		if r.Serial > 1 {
			return wire.AgentResumed
		}
		return wire.AgentStarted
	case chat.StatusCompleted, chat.StatusFailed, chat.StatusCancelled, chat.StatusTimedOut:
		return wire.AgentSettled
	case chat.StatusQueued, chat.StatusPending:
		return wire.AgentQueued
	}
	return wire.AgentQueued
}

// endType is the type of an end: well, not well, or stopped.
func endType(s chat.Status, well, failed, stopped wire.EventType) wire.EventType {
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

// callEvent is the event of a row about a call of a model or a tool.
func callEvent(e wire.Event, row journal.Row) (wire.Event, bool) {
	switch r := row.(type) {
	case journal.ModelCalled:
		e.Type, e.Data = wire.AttemptStarted, wire.Attempt{
			Call: r.Call, Type: string(r.Type), Turn: r.Turn, Attempt: r.Attempt, Model: r.Model, Prompt: r.Prompt,
		}
	case journal.ModelReplied:
		e.Type = wire.AttemptFailed
		if r.Status == chat.StatusCompleted {
			e.Type = wire.AttemptCompleted
		}
		e.Data = wire.AttemptEnd{
			Call: r.Call, Status: string(r.Status), Kind: string(r.ErrorKind), Message: r.Message, Model: r.Model,
			Usage: Usage(r.Usage), First: r.First, Waited: r.Waited, Duration: r.Duration, Retry: r.RetryAfter,
			Tries: tries(r.Tries),
		}
	case journal.ToolStarted:
		e.Type, e.Data = wire.ToolStarted, wire.ToolBegin{Call: r.Call, Attempt: r.Attempt, Class: r.Class}
	case journal.ToolReturned:
		e.Type = wire.ToolReturned
		if r.Status == journal.CallDenied {
			e.Type = wire.ToolDenied
		}
		e.Data = wire.ToolResult{
			Call: r.Call, Status: string(r.Status), Text: r.Text, Images: r.Images, Whole: r.Whole, Reason: r.Reason,
			Facts: r.Facts, Duration: r.Duration,
		}
	default: // the caller sorted them
	}
	return e, true
}

// Object is a text that is a JSON object, as one. A text from an import may be none.
func Object(text string) json.RawMessage {
	if !strings.HasPrefix(text, "{") || !json.Valid([]byte(text)) {
		return nil
	}
	return json.RawMessage(text)
}

// askEvent is the event of a row about something that a person is asked.
func askEvent(e wire.Event, row journal.Row) (wire.Event, bool) {
	switch r := row.(type) {
	case journal.QuestionAsked:
		e.Type, e.Data = wire.QuestionAsked, wire.Question{
			ID: r.Question, Seq: e.Seq, Agent: r.Agent, Task: r.Task, Status: string(journal.QuestionStatusOpen), Text: r.Text,
			Options: r.Options, At: e.At, Until: until(r.Until),
		}
	case journal.QuestionRelayed:
		e.Type, e.Data = wire.QuestionRelayed, wire.Relayed{Question: r.Question}
	case journal.QuestionAnswered:
		e.Type, e.Data = wire.QuestionAnswered, wire.Answered{Question: r.Question, By: r.By, Text: r.Text, Number: r.Number}
	case journal.ApprovalRequested:
		e.Type, e.Data = wire.ApprovalRequested, wire.Approval{
			ID: ApprovalID(r.Agent, r.Call), Seq: e.Seq, Agent: r.Agent, Task: r.Task, Call: r.Call, Tool: r.Tool, Hash: r.Hash,
			Status: string(journal.ApprovalStatusOpen), Pattern: r.Pattern, Show: r.Show, Sources: Sources(r.Sources), At: e.At, Until: until(r.Until),
		}
	case journal.ApprovalDecided:
		e.Type, e.Data = wire.ApprovalDecided, wire.Decided{
			Approval: ApprovalID(r.Agent, r.Call), Allow: r.Allow, Scope: r.Scope, By: r.By, Note: r.Reason,
			Args: Object(r.Args),
		}
	case journal.ApprovalClosed:
		e.Type = wire.ApprovalResolved
		if r.Status == "expired" {
			e.Type = wire.ApprovalExpired
		}
		e.Data = wire.Closed{Approval: ApprovalID(r.Agent, r.Call), Status: r.Status, Scope: r.Scope, By: r.By}
	case journal.Granted:
		e.Type, e.Data = wire.ApprovalGranted, wire.Granted{Tool: r.Tool, Pattern: r.Pattern}
	default: // the caller sorted them
	}
	return e, true
}
