package events

import (
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

// Noted is a line for people as the API says it.
func Noted(r journal.NoteAdded) wire.Noted {
	return wire.Noted{Note: r.Note, Text: r.Text, Question: r.Question, Number: r.Number}
}

// TurnEnd is the end of a turn as the API says it.
func TurnEnd(r journal.TurnEnded) wire.TurnEnd {
	return wire.TurnEnd{
		Turn: r.Turn, Status: string(r.Status), Kind: string(r.ErrorKind), Reason: r.Reason, By: r.By, Cut: r.Cut,
	}
}

func visibilityOf(privateTo string) wire.Visibility {
	if privateTo != "" {
		return wire.VisiblePrivate
	}
	return wire.VisibleToTenant
}

// Conversation is a conversation as the API says it.
func Conversation(c journal.Conversation) wire.Conversation {
	return wire.Conversation{
		ID: c.ID, By: c.By, Title: c.Title, Workspace: c.Workspace, Archived: c.Archived, OpenedAt: c.OpenedAt.UTC(),
		UpdatedAt: c.UpdatedAt.UTC(), Seq: c.Seq, Number: c.Number, Visibility: visibilityOf(c.PrivateTo),
	}
}

// Usage is the usage of model calls, as the API returns it.
func Usage(u chat.Usage) wire.Usage {
	return wire.Usage{
		Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Reasoning: u.Reasoning,
		Cost: u.Cost, Unpriced: u.Unpriced,
	}
}

// Parts are the pieces of a message as the API says them.
func Parts(parts []chat.Part) []wire.Part {
	out := make([]wire.Part, 0, len(parts))
	for _, p := range parts {
		out = append(out, wire.Part{
			Kind: string(p.Kind), Text: p.Text, Call: p.Call, Tool: p.Tool, Args: p.Args, Image: p.Image, Failed: p.Failed,
		})
	}
	return out
}

// Message is a message as the API says it.
func Message(m journal.Message) wire.Message {
	return wire.Message{
		ID: m.ID, Seq: m.Seq, Number: m.Number, At: m.At.UTC(), Agent: m.Agent, Speaker: string(m.Speaker), By: m.By,
		Turn: m.Turn, Parts: Parts(m.Parts), Reads: m.Reads,
	}
}

// Agent is an agent as the API says it.
func Agent(a journal.Agent) wire.Agent {
	return wire.Agent{
		ID: a.ID, Parent: a.Parent, Depth: a.Depth, Role: a.Role, RoleHash: a.RoleHash, Task: a.Task,
		Own: Usage(a.Own), Subtree: Usage(a.Subtree),
	}
}

// Moment leaves out a time that has not come.
func Moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// until is a time in milliseconds since 1970, zero if there is none.
func until(ms int64) *time.Time {
	if ms == 0 {
		return nil
	}
	return Moment(time.UnixMilli(ms))
}

// each turns a list into a list that is never null.
func each[A, B any](list []A, f func(A) B) []B {
	out := make([]B, 0, len(list))
	for _, a := range list {
		out = append(out, f(a))
	}
	return out
}
