package events

import (
	"cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

// ModelCall is a model call as the API says it.
func ModelCall(c journal.ModelCall) wire.ModelCall {
	return wire.ModelCall{
		Call: c.Call, Seq: c.Seq, Agent: c.Agent, Task: c.Task, Type: string(c.Type), Turn: c.Turn, Attempt: c.Attempt,
		Model: c.Model, Prompt: c.Prompt, Status: string(c.Status), Kind: string(c.Kind), Usage: Usage(c.Usage),
		StartedAt: Moment(c.StartedAt), FinishedAt: Moment(c.FinishedAt),
	}
}

// LearnModelCall applies a row to the call.
func LearnModelCall(v *wire.ModelCallView, e journal.Entry) {
	switch r := e.Row.(type) {
	case journal.ModelCalled:
		v.ModelCall = wire.ModelCall{
			Call: r.Call, Seq: e.Seq, Agent: r.Agent, Task: r.Task, Type: string(r.Type), Turn: r.Turn, Attempt: r.Attempt,
			Model: r.Model, Prompt: r.Prompt, Status: string(chat.StatusRunning), StartedAt: Moment(e.At),
		}
		v.Request.ContextTokens = r.ContextTokens
	case journal.ModelReplied:
		v.Status, v.Kind, v.Usage, v.FinishedAt = string(r.Status), string(r.ErrorKind), Usage(r.Usage), Moment(e.At)
		v.Model, v.Stop, v.Message, v.Provider = cmp.Or(r.Model, v.Model), r.Stop, r.Message, r.Provider
		v.First, v.Waited, v.Duration, v.Retry, v.Unmetered = r.First, r.Waited, r.Duration, r.RetryAfter, r.Unmetered
		v.Reply, v.Tries = Parts(r.Parts), tries(r.Tries)
	default: // nothing else is the call's
	}
}

func tries(tries []journal.Try) (out []wire.Try) {
	for _, t := range tries {
		out = append(out, wire.Try{Model: t.Model, Kind: string(t.Kind)})
	}
	return out
}

// ToolCall is a tool call as the API says it.
func ToolCall(c journal.ToolCall) wire.ToolCall {
	return wire.ToolCall{
		Call: c.Call, Seq: c.Seq, Agent: c.Agent, Task: c.Task, Tool: c.Tool, Turn: c.Turn, Status: string(c.Status),
		Attempt: c.Attempt, StartedAt: Moment(c.StartedAt), FinishedAt: Moment(c.FinishedAt), Duration: c.Duration,
	}
}
