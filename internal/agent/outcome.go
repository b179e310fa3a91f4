package agent

import (
	"slices"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Outcome is the one end of a run. Success comes from submit_result, or from plain text and then
// says so; everything else is a failure with a kind. Content is named, not carried.
type Outcome struct {
	Status chat.Status    `json:"status"`
	Kind   chat.ErrorKind `json:"kind,omitempty"`
	// Reason narrows a kind: loop, denials, failures, malformed, iterations, time, budget, no_evidence,
	// plain_text.
	Reason string `json:"reason,omitempty"`
	By     string `json:"by,omitempty"`
	// Completion says how a success came about.
	Completion Completion `json:"completion,omitempty"`
	// Call names the submit call, or Turn the reply, that holds the result or the error.
	Call string `json:"call,omitempty"`
	Turn int    `json:"turn,omitempty"`
	// Partial names the call, or PartialTurn the reply, that holds what a failed run achieved.
	Partial     string `json:"partial,omitempty"`
	PartialTurn int    `json:"partial_turn,omitempty"`

	Iterations int   `json:"iterations,omitempty"`
	ToolCalls  int   `json:"tool_calls,omitempty"`
	Agents     int64 `json:"agents,omitempty"`
	// Evidence counts the facts that the run and its sub-agents left.
	Evidence int        `json:"evidence,omitempty"`
	Duration int64      `json:"duration,omitempty"`
	Own      chat.Usage `json:"own"`
	Subtree  chat.Usage `json:"subtree"`
	// Tokens and Cost are the charges on the leases: the usage of the subtree, and the reservations
	// of calls whose usage is unknown.
	Tokens int64 `json:"tokens,omitempty"`
	Cost   int64 `json:"cost,omitempty"`
	// Taint is the run's taint. Typed means that its result holds only data that fits its role's
	// closed schema, no free text: such a report does not taint its reader.
	Taint Taint `json:"taint,omitempty"`
	Typed bool  `json:"typed,omitempty"`
}

// Completion is how a success came about.
type Completion string

// The completions.
const (
	Submitted Completion = "submitted"
	Implicit  Completion = "implicit"
)

// Failed reports whether the run did not reach its goal.
func (o Outcome) Failed() bool { return o.Status != chat.StatusCompleted }

// totals fills in the core's counts.
func (m *machine) totals(o Outcome) Outcome {
	s := m.s
	o.Iterations = s.Progress.Iterations
	o.ToolCalls = s.Progress.ToolCalls
	o.Agents = s.Agents.Spent
	o.Evidence = s.Progress.Evidence
	o.Duration = m.elapsed()
	o.Own = s.Own
	o.Subtree = s.Subtree
	o.Tokens, o.Cost = s.Tokens.Spent, s.Cost.Spent
	o.Taint = s.Taint
	return o
}

// succeed ends a sub-agent's run with a result.
func (m *machine) succeed(o Outcome) {
	o.Status = chat.StatusCompleted
	m.finish(o)
}

// fail ends a sub-agent's run with the rest of its work.
func (m *machine) fail(o Outcome) {
	o.Status = o.Kind.Status()
	if o.Partial == "" {
		o.Partial = m.s.Progress.Partial
	}
	if o.Partial == "" {
		o.PartialTurn = m.s.Progress.Last
	}
	m.finish(o)
}

func (m *machine) finish(o Outcome) {
	o = m.totals(o)
	m.s.Phase = Done
	m.s.Stop = nil
	m.s.Outcome = &o
	unread := slices.Clone(m.s.Inbox.Shown)
	for _, l := range m.s.Inbox.Queue {
		unread = append(unread, l.Seq)
	}
	m.order(Finish{Outcome: o, Unread: unread})
}

// endTurn brings an orchestrator back to idle.
func (m *machine) endTurn(e EndTurn) {
	s := m.s
	s.Phase = Idle
	s.Stop = nil
	s.Inbox.Shown = nil
	if s.InTurn {
		s.InTurn = false
		e.Serial = m.serial()
		e.Turn = s.Turn
		m.record(e)
	}
	m.resolveNext()
	m.routeNext()
}

func callID(turn, index int) string { return string(chat.NewCallID(turn, index)) }
