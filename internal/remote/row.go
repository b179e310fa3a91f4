package remote

import (
	"strings"

	"github.com/retinue-dev/retinue/client"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// entryOf is the entry that an event tells of, as far as progress needs to know it; false for events that
// people are not shown.
func entryOf(e client.Event) (journal.Entry, bool) {
	entry := journal.Entry{Seq: e.Seq, At: e.At}
	in := journal.In{Agent: e.Agent, Task: e.Task}
	switch d := e.Data.(type) {
	case *client.Received:
		entry.Number = d.Number
		entry.Row = journal.MessageReceived{ID: d.ID, By: d.By, Parts: partsOf(d.Parts), InReplyTo: d.InReplyTo, Decline: d.Decline}
	case *client.Message:
		entry.Row = journal.MessageAdded{In: in, Turn: d.Turn, Reads: d.Reads, Message: chat.Message{
			ID: d.ID, Speaker: chat.Speaker(d.Speaker), Parts: partsOf(d.Parts),
		}}
	case *client.Spawned, *client.Moved, *client.Finished, *client.TurnEnd:
		entry.Row = taskRow(in, d)
	case *client.Attempt, *client.AttemptEnd, *client.ToolResult:
		entry.Row = callRow(in, d)
	case *client.Question, *client.Relayed, *client.Answered, *client.Approval, *client.Closed:
		entry.Row = askRow(in, d)
	}
	return entry, entry.Row != nil
}

// taskRow is the row of an event about a task.
func taskRow(in journal.In, data any) journal.Row {
	switch d := data.(type) {
	case *client.Spawned:
		return journal.TaskAssigned{
			In: in, Parent: d.Parent, Call: d.Call, Item: d.Item, Trigger: d.Trigger, Depth: d.Depth, Role: d.Role,
			RoleHash: d.RoleHash, Background: d.Background, Instruction: d.Instruction, Criteria: d.Criteria, Files: d.Files,
			MaxIterations: d.MaxIterations, MaxDuration: d.MaxDuration,
		}
	case *client.Moved:
		return journal.StatusChanged{In: in, Status: chat.Status(d.Status), Reason: chat.WaitReason(d.Reason)}
	case *client.Finished:
		return journal.TaskEnded{
			In: in, Status: chat.Status(d.Status), ErrorKind: chat.ErrorKind(d.Kind), Reason: d.Reason, Message: d.Message,
			Summary: d.Summary, Result: d.Result, Files: d.Files, Iterations: d.Iterations, Receipt: d.Receipt,
		}
	case *client.TurnEnd:
		return journal.TurnEnded{
			In: in, Turn: d.Turn, Status: chat.Status(d.Status), ErrorKind: chat.ErrorKind(d.Kind), Reason: d.Reason, By: d.By,
			Cut: d.Cut,
		}
	}
	return nil
}

// callRow is the row of an event about a call of a model or a tool.
func callRow(in journal.In, data any) journal.Row {
	switch d := data.(type) {
	case *client.Attempt:
		return journal.ModelCalled{
			In: in, Call: d.Call, Type: journal.RequestType(d.Type), Turn: d.Turn, Attempt: d.Attempt, Model: d.Model, Prompt: d.Prompt,
		}
	case *client.AttemptEnd:
		return journal.ModelReplied{
			In: in, Call: d.Call, Status: chat.Status(d.Status), ErrorKind: chat.ErrorKind(d.Kind), Message: d.Message,
			Model: d.Model, First: d.First, Waited: d.Waited, Duration: d.Duration, RetryAfter: d.Retry, Tries: triesOf(d.Tries), Usage: chat.Usage{
				Input: d.Usage.Input, Output: d.Usage.Output, CacheRead: d.Usage.CacheRead, CacheWrite: d.Usage.CacheWrite,
				Reasoning: d.Usage.Reasoning, Cost: d.Usage.Cost, Unpriced: d.Usage.Unpriced,
			},
		}
	case *client.ToolResult:
		return journal.ToolReturned{
			In: in, Call: d.Call, Status: journal.CallStatus(d.Status), Text: d.Text, Images: d.Images, Whole: d.Whole,
			Reason: d.Reason, Facts: d.Facts, Duration: d.Duration,
		}
	}
	return nil
}

func triesOf(tries []client.Try) (out []journal.Try) {
	for _, t := range tries {
		out = append(out, journal.Try{Model: t.Model, Kind: chat.ErrorKind(t.Kind)})
	}
	return out
}

// askRow is the row of an event about something that a person is asked.
func askRow(in journal.In, data any) journal.Row {
	switch d := data.(type) {
	case *client.Question:
		return journal.QuestionAsked{In: in, Question: d.ID, Text: d.Text, Options: d.Options}
	case *client.Relayed:
		return journal.QuestionRelayed{In: in, Question: d.Question}
	case *client.Answered:
		return journal.QuestionAnswered{In: in, Question: d.Question, By: d.By, Text: d.Text, Number: d.Number}
	case *client.Approval:
		return journal.ApprovalRequested{In: in, Call: d.Call, Tool: d.Tool, Hash: d.Hash, Pattern: d.Pattern, Show: d.Show}
	case *client.Closed:
		_, call, _ := strings.Cut(d.Approval, ":")
		return journal.ApprovalClosed{In: in, Call: call, Status: d.Status, Scope: d.Scope, By: d.By}
	}
	return nil
}

func partsOf(parts []client.Part) []chat.Part {
	out := make([]chat.Part, 0, len(parts))
	for _, p := range parts {
		out = append(out, chat.Part{
			Kind: chat.PartKind(p.Kind), Text: p.Text, Call: p.Call, Tool: p.Tool, Args: p.Args, Image: p.Image, Failed: p.Failed,
		})
	}
	return out
}
