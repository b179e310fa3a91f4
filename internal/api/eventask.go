package api

import (
	"encoding/json"
	"strings"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// about fills in which agent and task a row concerns.
func about(e *Event, row journal.Row) {
	in := func(i journal.In) { e.Agent, e.Task = i.Agent, i.Task }
	switch r := row.(type) {
	case journal.TaskAssigned:
		in(r.In)
	case journal.StatusChanged:
		in(r.In)
	case journal.TaskEnded:
		in(r.In)
	case journal.PatchKept:
		in(r.In)
	case journal.TurnEnded:
		in(r.In)
	case journal.NoteAdded:
		in(r.In)
	case journal.MessageAdded:
		in(r.In)
	case journal.ReplyVoided:
		in(r.In)
	case journal.ModelCalled:
		in(r.In)
	case journal.ModelReplied:
		in(r.In)
	case journal.ToolStarted:
		in(r.In)
	case journal.ToolReturned:
		in(r.In)
	case journal.QuestionAsked:
		in(r.In)
	case journal.QuestionRelayed:
		in(r.In)
	case journal.QuestionAnswered:
		in(r.In)
	case journal.ApprovalRequested:
		in(r.In)
	case journal.EditProposed:
		in(r.In)
	case journal.HostReached:
		in(r.In)
	case journal.Tainted:
		in(r.In)
	case journal.ApprovalDecided:
		in(r.In)
	case journal.ApprovalClosed:
		in(r.In)
	case journal.Granted:
		in(r.In)
	case journal.Stepped:
		in(r.In)
	case journal.Opened, journal.Shared, journal.Titled, journal.Archived, journal.MessageReceived, journal.MailPosted, journal.MailDelivered, journal.Newer:
	}
}

// callEvent is the event of a row about a call of a model or a tool.
func callEvent(e Event, row journal.Row) (Event, bool) {
	switch r := row.(type) {
	case journal.ModelCalled:
		e.Type, e.Data = EventAttempt, AttemptData{
			Call: r.Call, Type: string(r.Type), Turn: r.Turn, Attempt: r.Attempt, Model: r.Model, Prompt: r.Prompt,
		}
	case journal.ModelReplied:
		e.Type = EventAttemptFailed
		if r.Status == chat.StatusCompleted {
			e.Type = EventAttemptDone
		}
		e.Data = AttemptEndData{
			Call: r.Call, Status: string(r.Status), Kind: string(r.ErrorKind), Message: r.Message, Model: r.Model,
			Usage: usageOf(r.Usage), First: r.First, Waited: r.Waited, Duration: r.Duration, Retry: r.RetryAfter,
			Tries: triesOf(r.Tries),
		}
	case journal.ToolStarted:
		e.Type, e.Data = EventToolStarted, ToolStartedData{Call: r.Call, Attempt: r.Attempt, Class: r.Class}
	case journal.ToolReturned:
		e.Type = EventToolReturned
		if r.Status == journal.CallDenied {
			e.Type = EventToolDenied
		}
		e.Data = ToolData{
			Call: r.Call, Status: string(r.Status), Text: r.Text, Images: r.Images, Whole: r.Whole, Reason: r.Reason,
			Facts: r.Facts, Duration: r.Duration,
		}
	default: // the caller sorted them
	}
	return e, true
}

// object is a text that is a JSON object, as one. A text from an import may be none.
func object(text string) json.RawMessage {
	if !strings.HasPrefix(text, "{") || !json.Valid([]byte(text)) {
		return nil
	}
	return json.RawMessage(text)
}

// askEvent is the event of a row about something that a person is asked.
func askEvent(e Event, row journal.Row) (Event, bool) {
	switch r := row.(type) {
	case journal.QuestionAsked:
		e.Type, e.Data = EventAsked, Question{
			ID: r.Question, Seq: e.Seq, Agent: r.Agent, Task: r.Task, Status: string(journal.QuestionStatusOpen), Text: r.Text,
			Options: r.Options, At: e.At, Until: until(r.Until),
		}
	case journal.QuestionRelayed:
		e.Type, e.Data = EventRelayed, QuestionData{Question: r.Question}
	case journal.QuestionAnswered:
		e.Type, e.Data = EventAnswered, AnsweredData{Question: r.Question, By: r.By, Text: r.Text, Number: r.Number}
	case journal.ApprovalRequested:
		e.Type, e.Data = EventWanted, Approval{
			ID: approvalID(r.Agent, r.Call), Seq: e.Seq, Agent: r.Agent, Task: r.Task, Call: r.Call, Tool: r.Tool, Hash: r.Hash,
			Status: string(journal.ApprovalStatusOpen), Pattern: r.Pattern, Show: r.Show, Sources: sourcesOf(r.Sources), At: e.At, Until: until(r.Until),
		}
	case journal.ApprovalDecided:
		e.Type, e.Data = EventDecided, DecidedData{
			Approval: approvalID(r.Agent, r.Call), Allow: r.Allow, Scope: r.Scope, By: r.By, Note: r.Reason,
			Args: object(r.Args),
		}
	case journal.ApprovalClosed:
		e.Type = EventResolved
		if r.Status == "expired" {
			e.Type = EventExpired
		}
		e.Data = ClosedData{Approval: approvalID(r.Agent, r.Call), Status: r.Status, Scope: r.Scope, By: r.By}
	case journal.Granted:
		e.Type, e.Data = EventGranted, GrantedData{Tool: r.Tool, Pattern: r.Pattern}
	default: // the caller sorted them
	}
	return e, true
}
