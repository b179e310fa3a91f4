package events

import (
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

// ApprovalID names an approval in its conversation, as it can stand in an address.
func ApprovalID(agent, call string) string { return chat.RefOf(agent, call).Address() }

// Approval is an approval as the API returns it, without the call that the person sees.
func Approval(a journal.Approval) wire.Approval {
	return wire.Approval{
		ID: ApprovalID(a.Agent, a.Call), Seq: a.Seq, Agent: a.Agent, Task: a.Task, Call: a.Call, Tool: a.Tool, Hash: a.Hash,
		Status: string(a.Status), By: a.By, Allow: a.Allow, Scope: a.Scope, Edited: a.Edited, At: a.At.UTC(), Until: until(a.Until),
	}
}

// LearnWaiting applies an entry to a waiting item.
func LearnWaiting(i *wire.Waiting, w journal.Waiting, e journal.Entry) {
	switch r := e.Row.(type) {
	case journal.QuestionAsked:
		i.Question = &wire.Question{
			ID: r.Question, Seq: e.Seq, Agent: w.Agent, Task: w.Task, Status: string(journal.QuestionStatusRelayed), Text: r.Text,
			Options: r.Options, At: w.At.UTC(), Until: until(w.Until),
		}
	case journal.ApprovalRequested:
		i.Approval = &wire.Approval{
			ID: ApprovalID(w.Agent, r.Call), Seq: e.Seq, Agent: w.Agent, Task: w.Task, Call: r.Call, Tool: r.Tool, Hash: r.Hash,
			Status: string(journal.ApprovalStatusOpen), Pattern: r.Pattern, Show: r.Show, Sources: Sources(r.Sources), At: w.At.UTC(), Until: until(w.Until),
		}
	case journal.TaskAssigned:
		i.Role = r.Role
	default: // nothing else was asked for
	}
}

// Sources are an agent's taint, as the API returns it.
func Sources(list []journal.Source) []wire.Source {
	if len(list) == 0 {
		return nil
	}
	return each(list, func(s journal.Source) wire.Source { return wire.Source(s) })
}

// Question is a question as the API says it, without its text.
func Question(q journal.Question) wire.Question {
	return wire.Question{
		ID: q.ID, Seq: q.Seq, Agent: q.Agent, Task: q.Task, Status: string(q.Status), By: q.By, At: q.At.UTC(), Until: until(q.Until),
	}
}
