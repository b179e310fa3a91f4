package journal

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Record is a model call or a delegation with everything about it in one flat line, for reports
// and for rebuilding what happened. Delegations carry no tokens of their own, so that sums over
// records count nothing twice.
type Record struct {
	ID      int64
	Session string
	// Parent is, for a delegation, the model call that asked for it; for a model call, the
	// delegation that it is a part of. Zero means that there is none.
	Parent      int64
	StartedAt   time.Time
	CompletedAt time.Time
	Duration    int64

	Role   string
	Depth  int
	Model  string
	Prompt string

	RequestType   RequestType
	Request       string
	ContextMode   string
	ContextTokens int64

	Response  string
	Summary   string
	ToolCalls []chat.Part
	Files     []string

	PromptTokens     int64
	CompletionTokens int64
	Iterations       int

	MaxIterations int
	MaxDuration   int64
	Bailout       string

	Status  chat.Status
	Error   string
	Details map[string]any
}

// TotalTokens is what the call is charged with.
func (r Record) TotalTokens() int64 { return r.PromptTokens + r.CompletionTokens }

// Records returns the model calls and delegations as flat lines, in the order of the list.
func (v *View) Records() []Record {
	var out []Record
	for _, c := range v.modelCalls {
		out = append(out, v.callRecord(c))
	}
	for _, t := range v.tasks {
		if t.Parent != "" {
			out = append(out, v.taskRecord(t))
		}
	}
	slices.SortFunc(out, func(a, b Record) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

func (v *View) callRecord(c ModelCall) Record {
	in := In{Agent: c.Agent, Task: c.Task}
	request, _ := v.facts[ModelCalled{In: in, Call: c.Call}.Key()].Row.(ModelCalled)
	response, _ := v.facts[ModelReplied{In: in, Call: c.Call}.Key()].Row.(ModelReplied)
	assigned, _ := v.facts[TaskAssigned{In: in}.Key()].Row.(TaskAssigned)
	agent := v.agents[v.agentAt[c.Agent]]
	r := Record{
		ID: c.Seq, Session: v.conversation.ID, StartedAt: c.StartedAt, CompletedAt: c.FinishedAt,
		Duration: response.Duration, Role: agent.Role, Depth: agent.Depth, Model: c.Model,
		Prompt: c.Prompt, RequestType: c.Type, ContextMode: assigned.ContextMode,
		ContextTokens: request.ContextTokens, Response: Words(response.Parts),
		PromptTokens: c.Usage.Input, CompletionTokens: c.Usage.Output,
		MaxIterations: assigned.MaxIterations, MaxDuration: assigned.MaxDuration,
		Status: c.Status, Error: response.Message, ToolCalls: []chat.Part{}, Files: []string{},
		Details: map[string]any{
			"agent": c.Agent, "task": c.Task, "call": c.Call, "cost": float64(c.Usage.Cost),
		},
	}
	if agent.Parent != "" {
		r.Parent = v.tasks[v.taskAt[c.Task]].Seq
	}
	for _, m := range v.messages {
		switch {
		case m.Agent != c.Agent:
		case m.Speaker == chat.User && m.Seq < c.Seq:
			r.Request = Words(m.Parts)
		case m.Speaker == chat.Assistant && m.Seq > c.Seq && m.Turn == c.Turn && c.Turn > 0 &&
			c.Status == chat.StatusCompleted:
			r.Response = Words(m.Parts)
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

func (v *View) taskRecord(t Task) Record {
	in := In{Agent: t.Agent, Task: t.ID}
	assigned, _ := v.facts[TaskAssigned{In: in}.Key()].Row.(TaskAssigned)
	finished, _ := v.facts[TaskEnded{In: in}.Key()].Row.(TaskEnded)
	agent := v.agents[v.agentAt[t.Agent]]
	r := Record{
		ID: t.Seq, Session: v.conversation.ID, StartedAt: t.AssignedAt, CompletedAt: t.FinishedAt,
		Role: agent.Role, Depth: agent.Depth, RequestType: RequestDelegation,
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
	turn, _, _ := strings.Cut(t.Call, ".")
	for _, c := range v.modelCalls {
		if c.Agent == t.Parent && strconv.Itoa(c.Turn) == turn && c.Seq < t.Seq {
			r.Parent = c.Seq
		}
	}
	return r
}
