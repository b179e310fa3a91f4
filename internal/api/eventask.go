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
	case journal.Assigned:
		in(r.In)
	case journal.Moved:
		in(r.In)
	case journal.Finished:
		in(r.In)
	case journal.Patched:
		in(r.In)
	case journal.TurnEnded:
		in(r.In)
	case journal.Noted:
		in(r.In)
	case journal.Spoke:
		in(r.In)
	case journal.Voided:
		in(r.In)
	case journal.Requested:
		in(r.In)
	case journal.Responded:
		in(r.In)
	case journal.Started:
		in(r.In)
	case journal.Resulted:
		in(r.In)
	case journal.Asked:
		in(r.In)
	case journal.Relayed:
		in(r.In)
	case journal.Answered:
		in(r.In)
	case journal.Wanted:
		in(r.In)
	case journal.Proposed:
		in(r.In)
	case journal.Reached:
		in(r.In)
	case journal.Tainted:
		in(r.In)
	case journal.Decided:
		in(r.In)
	case journal.Closed:
		in(r.In)
	case journal.Granted:
		in(r.In)
	case journal.Stepped:
		in(r.In)
	case journal.Opened, journal.Shared, journal.Titled, journal.Archived, journal.Said, journal.Posted, journal.Delivered, journal.Newer:
	}
}

// callEvent is the event of a row about a call of a model or a tool.
func callEvent(e Event, row journal.Row) (Event, bool) {
	switch r := row.(type) {
	case journal.Requested:
		e.Type, e.Data = EventAttempt, AttemptData{
			Call: r.Call, Type: string(r.Type), Turn: r.Turn, Attempt: r.Attempt, Model: r.Model, Prompt: r.Prompt,
		}
	case journal.Responded:
		e.Type = EventAttemptFailed
		if r.Status == chat.StatusCompleted {
			e.Type = EventAttemptDone
		}
		e.Data = AttemptEndData{
			Call: r.Call, Status: string(r.Status), Kind: string(r.ErrorKind), Message: r.Message, Model: r.Model,
			Usage: usageOf(r.Usage), First: r.First, Waited: r.Waited, Duration: r.Duration, Retry: r.RetryAfter,
			Tries: triesOf(r.Tries),
		}
	case journal.Started:
		e.Type, e.Data = EventToolStarted, ToolStartedData{Call: r.Call, Attempt: r.Attempt, Class: r.Class}
	case journal.Resulted:
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

// object is a text that is a JSON object, as one. What an import brings may be none.
func object(text string) json.RawMessage {
	if !strings.HasPrefix(text, "{") || !json.Valid([]byte(text)) {
		return nil
	}
	return json.RawMessage(text)
}

// askEvent is the event of a row about something that a person is asked.
func askEvent(e Event, row journal.Row) (Event, bool) {
	switch r := row.(type) {
	case journal.Asked:
		e.Type, e.Data = EventAsked, Question{
			ID: r.Question, Seq: e.Seq, Agent: r.Agent, Task: r.Task, Status: string(journal.QuestionOpen), Text: r.Text,
			Options: r.Options, At: e.At, Until: until(r.Until),
		}
	case journal.Relayed:
		e.Type, e.Data = EventRelayed, QuestionData{Question: r.Question}
	case journal.Answered:
		e.Type, e.Data = EventAnswered, AnsweredData{Question: r.Question, By: r.By, Text: r.Text, Number: r.Number}
	case journal.Wanted:
		e.Type, e.Data = EventWanted, Approval{
			ID: approvalID(r.Agent, r.Call), Seq: e.Seq, Agent: r.Agent, Task: r.Task, Call: r.Call, Tool: r.Tool, Hash: r.Hash,
			Status: string(journal.ApprovalOpen), Pattern: r.Pattern, Show: r.Show, Sources: sourcesOf(r.Sources), At: e.At, Until: until(r.Until),
		}
	case journal.Decided:
		e.Type, e.Data = EventDecided, DecidedData{
			Approval: approvalID(r.Agent, r.Call), Allow: r.Allow, Scope: r.Scope, By: r.By, Note: r.Reason,
			Args: object(r.Args),
		}
	case journal.Closed:
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
