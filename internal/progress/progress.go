// Package progress shows a person a conversation while it runs: the agents as a tree, and events
// with names that other programs can rely on. Both are folds of the events of the HTTP API, from
// any source. A follower makes them of a journal's entries as those come, and of deltas on their
// way.
//
// It imports wire, chat, agent, the ports journal and live, and events, and decides nothing.
package progress

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/agent/receipt"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

// Agent is one line of the tree.
type Agent struct {
	ID         string
	Parent     string
	Depth      int
	Role       string
	Task       string
	Background bool
	Status     chat.Status
	Reason     chat.WaitReason
	Kind       chat.ErrorKind
	Began      time.Time
	Ended      time.Time
	// Usage is what the agent's own model calls used.
	Usage chat.Usage
	// Doing is its last action, in a few words.
	Doing string
	// Result is its result, Message why it failed.
	Result  string
	Message string
	// Receipt compares its claims with its effects; nil until it has ended.
	Receipt *receipt.Receipt
}

// Pending is something that waits for a person.
type Pending struct {
	// Question is the id of a question, Approval that of an approval. Call and Hash are of an approval.
	Question string
	Approval string
	Call     string
	Hash     string
	Agent    string
	Task     string
	Role     string
	// Text is the question, or the arguments of the call; Tool is set for an approval.
	Text    string
	Options []string
	Tool    string
	// Pattern is the wider scope that an approval may have; empty if it covers only this call.
	Pattern string
	// Sources are the agent's taint, if it is the reason to ask the person despite the rules.
	Sources []wire.Source
}

// End is how a turn ended.
type End struct {
	Status chat.Status
	Kind   chat.ErrorKind
	Reason string
	// Message says why a model call failed that the turn ended with.
	Message string
	// Answer is the orchestrator's last words.
	Answer string
	Cut    bool
}

// Tree is the fold of a conversation's events since a message. The zero value is not ready; New
// makes one.
type Tree struct {
	conversation string
	// message is the id of what was said: the turn that takes it up is the one that counts. It is empty
	// until the first message comes if that one is meant.
	message string
	parts   []wire.Part
	number  int64
	agents  []*Agent
	at      map[string]*Agent
	tools   map[string]string
	asked   map[string]Pending
	pending []Pending

	heard      bool
	end        *End
	answer     string
	failure    string
	background int
	notice     time.Time
	unattended int
	stirred    bool
}

// New makes the tree of a conversation from the message with this id on, or from the first message
// if the id is empty.
func New(conversation, message string) *Tree {
	return &Tree{
		conversation: conversation, message: message, at: map[string]*Agent{},
		tools: map[string]string{}, asked: map[string]Pending{},
	}
}

// Agents lists the orchestrator and everyone below it, each after its parent and its elder
// siblings.
func (t *Tree) Agents() []Agent {
	var out []Agent
	var below func(parent string)
	below = func(parent string) {
		for _, a := range t.agents {
			if a.Parent == parent {
				out = append(out, *a)
				below(a.ID)
			}
		}
	}
	below("")
	return out
}

// Usage is what all agents used.
func (t *Tree) Usage() chat.Usage {
	var sum chat.Usage
	for _, a := range t.agents {
		sum = sum.Plus(a.Usage)
	}
	return sum
}

// Pending lists what waits for a person, the oldest first.
func (t *Tree) Pending() []Pending { return slices.Clone(t.pending) }

// Awaits reports whether nothing runs until a person has decided or answered.
func (t *Tree) Awaits() bool {
	if len(t.pending) == 0 {
		return false
	}
	if t.end != nil {
		return true // the waiting agents are in the background
	}
	return slices.ContainsFunc(t.agents, func(a *Agent) bool { return a.Depth == 0 && a.Status == chat.StatusWaiting })
}

// Unattended counts the questions and calls that were declined because the run has no person.
func (t *Tree) Unattended() int { return t.unattended }

// Stirred reports whether an agent has taken anything in.
func (t *Tree) Stirred() bool { return t.stirred }

// noticeGrace is how long the end of a background task may take to start the turn that reports it.
const noticeGrace = 5 * time.Second

// Ended returns how the turn that took the message up ended, once nothing that it began is under
// way.
func (t *Tree) Ended(now time.Time) (End, bool) {
	switch {
	case t.end == nil || t.background > 0:
		return End{}, false
	case !t.notice.IsZero() && now.Sub(t.notice) < noticeGrace:
		return End{}, false
	}
	return *t.end, true
}

// Apply folds one event and returns its events for watchers. Events come in order.
func (t *Tree) Apply(e wire.Event) []Event {
	out := t.fold(e)
	for i := range out {
		out[i].Seq, out[i].At, out[i].Conversation = e.Seq, e.At, t.conversation
	}
	return out
}

func (t *Tree) fold(e wire.Event) []Event {
	switch d := e.Data.(type) {
	case wire.Received:
		if t.message == "" {
			t.message = d.ID
		}
		if d.ID == t.message {
			t.parts, t.number = d.Parts, d.Number
		}
		return []Event{{Type: e.Type, Text: Words(d.Parts), By: d.By, Question: d.InReplyTo}}
	case wire.Spawned:
		return t.assigned(e, d)
	case wire.Moved:
		return t.moved(e, d)
	case wire.Finished:
		return t.finished(e, d)
	case wire.TurnEnd:
		return t.turnEnded(e, d)
	case wire.Message:
		return t.spoke(e, d)
	case wire.Attempt:
		t.stirred = true
		kind := journal.RequestType(d.Type)
		if a := t.agent(e.Agent); a.Depth > 0 || kind == journal.RequestPrompt || kind == journal.RequestContinuation {
			a.Doing = "thinking"
		}
	case wire.AttemptEnd:
		return t.responded(e, d)
	case wire.ToolResult:
		return t.resulted(e, d)
	default:
		return t.person(e)
	}
	return nil
}

// agent finds an agent. One whose beginning lies before the tree's is made up.
func (t *Tree) agent(id string) *Agent {
	a, ok := t.at[id]
	if !ok {
		a = &Agent{ID: id, Parent: parentOf(id), Depth: chat.AgentPath(id).Depth(), Role: id, Status: chat.StatusPending}
		t.at[id] = a
		t.agents = append(t.agents, a)
	}
	return a
}

func (t *Tree) assigned(e wire.Event, d wire.Spawned) []Event {
	a := t.agent(e.Agent)
	a.Role, a.Task, a.Background, a.Began = d.Role, d.Instruction, d.Background, e.At
	a.Status, a.Kind, a.Ended, a.Result, a.Message = chat.StatusPending, "", time.Time{}, "", ""
	a.Receipt = nil
	if a.Depth == 0 {
		return nil
	}
	if d.Background {
		t.background++
	}
	return []Event{{
		Type: e.Type, Agent: e.Agent, ParentCall: chat.RefOf(d.Parent, d.Call).String(), Role: d.Role, Text: d.Instruction,
		Background: d.Background,
	}}
}

func (t *Tree) moved(e wire.Event, d wire.Moved) []Event {
	a, status := t.agent(e.Agent), chat.Status(d.Status)
	if a.Depth == 0 && status.Terminal() {
		return nil // it is idle; how its turn ended is an event of its own
	}
	was := a.Status
	a.Status, a.Reason = status, chat.WaitReason(d.Reason)
	if a.Depth == 0 && status == chat.StatusRunning && was != chat.StatusWaiting {
		if t.end == nil {
			a.Began = e.At
		}
		// A turn that begins after the end of one reports what ran in the background.
		a.Ended, t.notice, t.end = time.Time{}, time.Time{}, nil
	}
	switch {
	case status == chat.StatusWaiting:
		return []Event{{Type: wire.AgentWaiting, Agent: e.Agent, Role: a.Role, Reason: d.Reason}}
	case status == chat.StatusRunning && was == chat.StatusWaiting:
		return []Event{{Type: wire.AgentResumed, Agent: e.Agent, Role: a.Role}}
	case status == chat.StatusRunning:
		return []Event{{Type: wire.AgentStarted, Agent: e.Agent, Role: a.Role}}
	}
	return nil
}

func (t *Tree) finished(e wire.Event, d wire.Finished) []Event {
	a := t.agent(e.Agent)
	a.Status, a.Reason, a.Kind, a.Ended = chat.Status(d.Status), "", chat.ErrorKind(d.Kind), e.At
	a.Result, a.Message, a.Doing = d.Summary, d.Message, ""
	a.Receipt = receiptOf(d)
	if a.Background {
		t.background--
		t.notice = e.At
	}
	usage := usageOf(a.Usage)
	return []Event{{
		Type: e.Type, Agent: e.Agent, Role: a.Role, Status: a.Status, Kind: a.Kind, Reason: d.Reason,
		Text: d.Summary, Message: d.Message, Usage: &usage, Receipt: a.Receipt,
	}}
}

// receiptOf is nil for a task that ended before receipts were written.
func receiptOf(d wire.Finished) *receipt.Receipt {
	var r receipt.Receipt
	if len(d.Receipt) == 0 || json.Unmarshal(d.Receipt, &r) != nil {
		return nil
	}
	return &r
}

func (t *Tree) turnEnded(e wire.Event, d wire.TurnEnd) []Event {
	a := t.agent(e.Agent)
	a.Status, a.Kind, a.Doing, a.Ended = chat.Status(d.Status), chat.ErrorKind(d.Kind), "", e.At
	end := End{Status: a.Status, Kind: a.Kind, Reason: d.Reason, Answer: t.answer, Cut: d.Cut}
	if a.Status != chat.StatusCompleted {
		end.Message = t.failure
	}
	if t.heard {
		t.end = &end
	}
	return []Event{{Type: e.Type, Agent: e.Agent, Role: a.Role, Status: a.Status, Kind: a.Kind, Reason: d.Reason, By: d.By}}
}

func (t *Tree) spoke(e wire.Event, d wire.Message) []Event {
	a := t.agent(e.Agent)
	if d.Speaker == string(chat.User) {
		if a.Depth == 0 && t.parts != nil && holds(d.Parts, t.parts) {
			t.heard = true
		}
		return nil
	}
	var out []Event
	if text := Words(d.Parts); text != "" {
		a.Doing = text
		if a.Depth == 0 {
			t.answer = text
		}
		out = append(out, Event{Type: e.Type, Agent: e.Agent, Role: a.Role, Text: text})
	}
	for _, p := range d.Parts {
		if p.Kind != string(chat.PartToolUse) {
			continue
		}
		t.tools[e.Agent+"#"+p.Call] = p.Tool
		a.Doing = Brief(p.Tool, p.Args)
		out = append(out, Event{
			Type: ToolCalled, Agent: e.Agent, Role: a.Role, Call: p.Call, Tool: p.Tool, Args: asJSON(p.Args),
		})
	}
	return out
}

func (t *Tree) responded(e wire.Event, d wire.AttemptEnd) []Event {
	a := t.agent(e.Agent)
	a.Usage = a.Usage.Plus(chat.Usage{
		Input: d.Usage.Input, Output: d.Usage.Output, CacheRead: d.Usage.CacheRead, CacheWrite: d.Usage.CacheWrite,
		Reasoning: d.Usage.Reasoning, Cost: d.Usage.Cost, Unpriced: d.Usage.Unpriced,
	})
	if e.Type == wire.AttemptCompleted {
		if a.Depth == 0 {
			t.failure = ""
		}
		return nil
	}
	if a.Depth == 0 {
		t.failure = d.Message
	}
	a.Doing = "model call failed: " + d.Kind
	return []Event{{
		Type: e.Type, Agent: e.Agent, Role: a.Role, Kind: chat.ErrorKind(d.Kind), Message: d.Message, Call: d.Call,
	}}
}

func (t *Tree) resulted(e wire.Event, d wire.ToolResult) []Event {
	a := t.agent(e.Agent)
	key := e.Agent + "#" + d.Call
	tool := t.tools[key]
	delete(t.tools, key)
	if e.Type == wire.ToolDenied && agent.DenialReason(d.Reason) == agent.DeniedHeadless {
		t.unattended++
	}
	return []Event{{
		Type: e.Type, Agent: e.Agent, Role: a.Role, Call: d.Call, Tool: tool, Status: chat.Status(d.Status),
		Text: d.Text, Reason: d.Reason, Duration: d.Duration,
	}}
}
