// Package progress is what a person is shown of a conversation while it goes on: the agents as a
// tree, and what happened as events with names that other programs can rely on. Both are folds of
// the journal's entries. A follower reads those as they come, and deltas on their way.
//
// It imports chat, agent and the ports journal and live, and decides nothing.
package progress

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/agent/receipt"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
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
	// Doing is what it did last, in a few words.
	Doing string
	// Result is what it handed back, Message why it failed.
	Result  string
	Message string
	// Receipt compares what it claims with what it did; nil until it has ended.
	Receipt *receipt.Receipt
}

// Pending is something that waits for a person.
type Pending struct {
	// Question is the id of a question; Call and Hash are of an approval.
	Question string
	Call     string
	Hash     string
	Agent    string
	Task     string
	Role     string
	// Text is what is asked, or the arguments of the call; Tool is set for an approval.
	Text    string
	Options []string
	Tool    string
	// Pattern is what an approval may cover beside this one call; empty if it may not.
	Pattern string
	// Sources is what the agent has read, if that is why the person is asked whatever the rules say.
	Sources []journal.Source
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

// Tree is the fold of a conversation's entries since a message. The zero value is not ready; New
// makes one.
type Tree struct {
	conversation string
	// message is the id of what was said: the turn that takes it up is the one that counts.
	message string
	parts   []chat.Part
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

// New makes the tree of a conversation from the message with this id on.
func New(conversation, message string) *Tree {
	return &Tree{
		conversation: conversation, message: message, at: map[string]*Agent{},
		tools: map[string]string{}, asked: map[string]Pending{},
	}
}

// Agents lists the orchestrator and everyone below it, each after its parent and its elder siblings.
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

// Awaits reports whether nothing goes on until a person has decided or answered.
func (t *Tree) Awaits() bool {
	if len(t.pending) == 0 {
		return false
	}
	if t.end != nil {
		return true // what waits is in the background
	}
	return slices.ContainsFunc(t.agents, func(a *Agent) bool { return a.Depth == 0 && a.Status == chat.StatusWaiting })
}

// Unattended counts the questions and calls that were declined because nobody was there.
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

// Apply folds one entry and says what it means for those who watch. Entries come in order.
func (t *Tree) Apply(e journal.Entry) []Event {
	events := t.fold(e)
	for i := range events {
		events[i].Seq, events[i].At, events[i].Conversation = e.Seq, e.At, t.conversation
	}
	return events
}

func (t *Tree) fold(e journal.Entry) []Event {
	switch r := e.Row.(type) {
	case journal.MessageReceived:
		if r.ID == t.message {
			t.parts, t.number = r.Parts, e.Number
		}
		return []Event{{Type: MessageReceived, Text: journal.Words(r.Parts), By: r.By, Question: r.InReplyTo}}
	case journal.TaskAssigned:
		return t.assigned(e.At, r)
	case journal.StatusChanged:
		return t.moved(e.At, r)
	case journal.TaskEnded:
		return t.finished(e.At, r)
	case journal.TurnEnded:
		return t.turnEnded(e.At, r)
	case journal.MessageAdded:
		return t.spoke(r)
	case journal.ModelCalled:
		t.stirred = true // a reader over HTTP is not told of steps
		if a := t.agent(r.Agent); a.Depth > 0 || r.Type == journal.RequestPrompt || r.Type == journal.RequestContinuation {
			a.Doing = "thinking"
		}
		return nil
	case journal.ModelReplied:
		return t.responded(r)
	case journal.ToolReturned:
		return t.resulted(r)
	case journal.QuestionAsked, journal.QuestionRelayed, journal.QuestionAnswered, journal.ApprovalRequested, journal.ApprovalClosed:
		return t.person(r)
	case journal.Stepped:
		t.stirred = true
		return nil
	case journal.Opened, journal.Shared, journal.Titled, journal.Archived, journal.MailPosted, journal.MailDelivered, journal.NoteAdded,
		journal.ReplyVoided, journal.ToolStarted, journal.ApprovalDecided, journal.Granted, journal.PatchKept,
		journal.EditProposed, journal.HostReached, journal.Tainted, journal.Newer:
		return nil
	}
	return nil
}

// agent finds an agent. One whose beginning lies before the tree's is made up.
func (t *Tree) agent(id string) *Agent {
	a, ok := t.at[id]
	if !ok {
		a = &Agent{ID: id, Parent: parentOf(id), Depth: journal.Depth(id), Role: id, Status: chat.StatusPending}
		t.at[id] = a
		t.agents = append(t.agents, a)
	}
	return a
}

func (t *Tree) assigned(at time.Time, r journal.TaskAssigned) []Event {
	a := t.agent(r.Agent)
	a.Role, a.Task, a.Background, a.Began = r.Role, r.Instruction, r.Background, at
	a.Status, a.Kind, a.Ended, a.Result, a.Message = chat.StatusPending, "", time.Time{}, "", ""
	a.Receipt = nil
	if a.Depth == 0 {
		return nil
	}
	if r.Background {
		t.background++
	}
	return []Event{{
		Type: AgentSpawned, Agent: r.Agent, ParentCall: r.Parent + "#" + r.Call, Role: r.Role, Text: r.Instruction,
		Background: r.Background,
	}}
}

func (t *Tree) moved(at time.Time, r journal.StatusChanged) []Event {
	a := t.agent(r.Agent)
	if a.Depth == 0 && r.Status.Terminal() {
		return nil // it is idle; how its turn ended is a row of its own
	}
	was := a.Status
	a.Status, a.Reason = r.Status, r.Reason
	if a.Depth == 0 && r.Status == chat.StatusRunning && was != chat.StatusWaiting {
		if t.end == nil {
			a.Began = at
		}
		// A turn that begins after the end of one reports what ran in the background.
		a.Ended, t.notice, t.end = time.Time{}, time.Time{}, nil
	}
	switch {
	case r.Status == chat.StatusWaiting:
		return []Event{{Type: AgentWaiting, Agent: r.Agent, Role: a.Role, Reason: string(r.Reason)}}
	case r.Status == chat.StatusRunning && was == chat.StatusWaiting:
		return []Event{{Type: AgentResumed, Agent: r.Agent, Role: a.Role}}
	case r.Status == chat.StatusRunning:
		return []Event{{Type: AgentStarted, Agent: r.Agent, Role: a.Role}}
	}
	return nil
}

func (t *Tree) finished(at time.Time, r journal.TaskEnded) []Event {
	a := t.agent(r.Agent)
	a.Status, a.Reason, a.Kind, a.Ended = r.Status, "", r.ErrorKind, at
	a.Result, a.Message, a.Doing = r.Summary, r.Message, ""
	a.Receipt = receiptOf(r)
	if a.Background {
		t.background--
		t.notice = at
	}
	kind := AgentFailed
	switch r.Status {
	case chat.StatusCompleted:
		kind = AgentCompleted
	case chat.StatusCancelled:
		kind = AgentCancelled
	case chat.StatusFailed, chat.StatusTimedOut, chat.StatusQueued, chat.StatusPending, chat.StatusRunning, chat.StatusWaiting:
	}
	usage := usageOf(a.Usage)
	return []Event{{
		Type: kind, Agent: r.Agent, Role: a.Role, Status: r.Status, Kind: r.ErrorKind, Reason: r.Reason,
		Text: r.Summary, Message: r.Message, Usage: &usage, Receipt: a.Receipt,
	}}
}

// receiptOf is nil for a task that ended before receipts were written.
func receiptOf(row journal.TaskEnded) *receipt.Receipt {
	var r receipt.Receipt
	if len(row.Receipt) == 0 || json.Unmarshal(row.Receipt, &r) != nil {
		return nil
	}
	return &r
}

func (t *Tree) turnEnded(at time.Time, r journal.TurnEnded) []Event {
	a := t.agent(r.Agent)
	a.Status, a.Kind, a.Doing, a.Ended = r.Status, r.ErrorKind, "", at
	kind := TurnFailed
	switch r.Status {
	case chat.StatusCompleted:
		kind = TurnCompleted
	case chat.StatusCancelled:
		kind = TurnCancelled
	case chat.StatusFailed, chat.StatusTimedOut, chat.StatusQueued, chat.StatusPending, chat.StatusRunning, chat.StatusWaiting:
	}
	end := End{Status: r.Status, Kind: r.ErrorKind, Reason: r.Reason, Answer: t.answer, Cut: r.Cut}
	if r.Status != chat.StatusCompleted {
		end.Message = t.failure
	}
	if t.heard {
		t.end = &end
	}
	return []Event{{Type: kind, Agent: r.Agent, Role: a.Role, Status: r.Status, Kind: r.ErrorKind, Reason: r.Reason, By: r.By}}
}

func (t *Tree) spoke(r journal.MessageAdded) []Event {
	a := t.agent(r.Agent)
	if r.Message.Speaker == chat.User {
		if a.Depth == 0 && t.parts != nil && holds(r.Message.Parts, t.parts) {
			t.heard = true
		}
		return nil
	}
	var events []Event
	if words := journal.Words(r.Message.Parts); words != "" {
		a.Doing = words
		if a.Depth == 0 {
			t.answer = words
		}
		events = append(events, Event{Type: MessageCompleted, Agent: r.Agent, Role: a.Role, Text: words})
	}
	for _, p := range r.Message.Parts {
		if p.Kind != chat.PartToolUse {
			continue
		}
		t.tools[r.Agent+"#"+p.Call] = p.Tool
		a.Doing = Brief(p.Tool, p.Args)
		events = append(events, Event{
			Type: ToolCalled, Agent: r.Agent, Role: a.Role, Call: p.Call, Tool: p.Tool, Args: asJSON(p.Args),
		})
	}
	return events
}

func (t *Tree) responded(r journal.ModelReplied) []Event {
	a := t.agent(r.Agent)
	a.Usage = a.Usage.Plus(r.Usage)
	if r.Status == chat.StatusCompleted {
		if a.Depth == 0 {
			t.failure = ""
		}
		return nil
	}
	if a.Depth == 0 {
		t.failure = r.Message
	}
	a.Doing = "model call failed: " + string(r.ErrorKind)
	return []Event{{Type: AttemptFailed, Agent: r.Agent, Role: a.Role, Kind: r.ErrorKind, Message: r.Message, Call: r.Call}}
}

func (t *Tree) resulted(r journal.ToolReturned) []Event {
	a := t.agent(r.Agent)
	key := r.Agent + "#" + r.Call
	tool := t.tools[key]
	delete(t.tools, key)
	kind := ToolReturned
	if r.Status == journal.CallDenied {
		kind = ToolDenied
		if agent.DenialReason(r.Reason) == agent.DeniedHeadless {
			t.unattended++
		}
	}
	return []Event{{
		Type: kind, Agent: r.Agent, Role: a.Role, Call: r.Call, Tool: tool, Status: chat.Status(r.Status),
		Text: r.Text, Reason: r.Reason, Duration: r.Duration,
	}}
}

// holds reports whether a message holds all parts of another.
func holds(parts, wanted []chat.Part) bool {
	return !slices.ContainsFunc(wanted, func(w chat.Part) bool {
		return !slices.ContainsFunc(parts, func(p chat.Part) bool { return p.Kind == w.Kind && p.Text == w.Text })
	})
}

// Literal is JSON as a person reads it. Encoders write signs of markup as escapes; a backslash that is
// escaped itself is left alone.
func Literal(raw json.RawMessage) string { return literal.Replace(string(raw)) }

var literal = strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

func asJSON(args string) json.RawMessage {
	if json.Valid([]byte(args)) {
		return json.RawMessage(args)
	}
	quoted, err := json.Marshal(args)
	if err != nil {
		return nil
	}
	return quoted
}
