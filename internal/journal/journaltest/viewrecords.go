package journaltest

import (
	"cmp"
	"slices"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// Records returns the model calls and delegations as flat lines, in the order of the list.
func (v *View) Records() []journal.Record {
	var out []journal.Record
	for _, c := range v.modelCalls {
		out = append(out, v.callRecord(c))
	}
	for _, t := range v.tasks {
		if t.Parent != "" {
			out = append(out, v.taskRecord(t))
		}
	}
	slices.SortFunc(out, func(a, b journal.Record) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

func (v *View) callRecord(c journal.ModelCall) journal.Record {
	in := journal.In{Agent: c.Agent, Task: c.Task}
	request, _ := v.find(journal.ModelCalled{In: in, Call: c.Call}.Key()).(journal.ModelCalled)
	response, _ := v.find(journal.ModelReplied{In: in, Call: c.Call}.Key()).(journal.ModelReplied)
	assigned, _ := v.find(journal.TaskAssigned{In: in}.Key()).(journal.TaskAssigned)
	agent := *v.agent(c.Agent)
	r := journal.Record{
		ID: c.Seq, Session: v.conversation.ID, StartedAt: c.StartedAt, CompletedAt: c.FinishedAt,
		Duration: response.Duration, Role: agent.Role, Depth: agent.Depth, Model: c.Model,
		Prompt: c.Prompt, RequestType: c.Type, ContextMode: assigned.ContextMode,
		ContextTokens: request.ContextTokens, Response: journal.Words(response.Parts),
		PromptTokens: c.Usage.Input, CompletionTokens: c.Usage.Output,
		MaxIterations: assigned.MaxIterations, MaxDuration: assigned.MaxDuration,
		Status: c.Status, Error: response.Message, ToolCalls: []chat.Part{}, Files: []string{},
		Details: map[string]any{
			"agent": c.Agent, "task": c.Task, "call": c.Call, "cost": float64(c.Usage.Cost),
		},
	}
	if agent.Parent != "" {
		r.Parent = v.task(c.Task).Seq
	}
	for _, m := range v.messages {
		switch {
		case m.Agent != c.Agent:
		case m.Speaker == chat.User && m.Seq < c.Seq:
			r.Request = journal.Words(m.Parts)
		case m.Speaker == chat.Assistant && m.Seq > c.Seq && m.Turn == c.Turn && c.Turn > 0 &&
			c.Status == chat.StatusCompleted:
			r.Response = journal.Words(m.Parts)
			for _, p := range m.Parts {
				if p.Kind == chat.PartToolUse {
					r.ToolCalls = append(r.ToolCalls, p)
				}
			}
			return r
		}
	}
	return r
}

func (v *View) taskRecord(t journal.Task) journal.Record {
	in := journal.In{Agent: t.Agent, Task: t.ID}
	assigned, _ := v.find(journal.TaskAssigned{In: in}.Key()).(journal.TaskAssigned)
	finished, _ := v.find(journal.TaskEnded{In: in}.Key()).(journal.TaskEnded)
	agent := *v.agent(t.Agent)
	r := journal.Record{
		ID: t.Seq, Session: v.conversation.ID, StartedAt: t.AssignedAt, CompletedAt: t.FinishedAt,
		Role: agent.Role, Depth: agent.Depth, RequestType: journal.RequestDelegation,
		Request: assigned.Instruction, ContextMode: assigned.ContextMode,
		Response: finished.Summary, Summary: finished.Summary, Iterations: finished.Iterations,
		MaxIterations: assigned.MaxIterations, MaxDuration: assigned.MaxDuration,
		Bailout: finished.Reason, Status: t.Status, Error: finished.Message,
		ToolCalls: []chat.Part{}, Files: []string{},
		Details: map[string]any{"agent": t.Agent, "task": t.ID},
	}
	if len(finished.Files) > 0 {
		r.Files = finished.Files
	}
	if !t.FinishedAt.IsZero() {
		r.Duration = t.FinishedAt.Sub(t.AssignedAt).Milliseconds()
	}
	turn := chat.CallID(t.Call).Turn()
	for _, c := range v.modelCalls {
		if c.Agent == t.Parent && c.Turn == turn && c.Seq < t.Seq {
			r.Parent = c.Seq
		}
	}
	return r
}
