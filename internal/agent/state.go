package agent

import (
	"slices"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Rules is the version of the decisions that a new State is made under. A change that makes Step
// return other effects for a stored state raises it, and Step branches on State.Rules until no run
// has the old one.
const Rules = 1

// Phase is an agent's phase. Its reason to wait is in its open calls, not in the phase.
type Phase string

// The phases.
const (
	// Unborn is the zero State: only Begun is accepted.
	Unborn Phase = ""
	// Idle is an orchestrator between turns. A sub-agent is never idle.
	Idle Phase = "idle"
	// Thinking has a model call in flight, or waiting to be tried again.
	Thinking Phase = "thinking"
	// Working has an open round: at least one call without a result.
	Working Phase = "working"
	// Stopping lets go of everything that runs, for a bounded time, and starts nothing.
	Stopping Phase = "stopping"
	// Done is final.
	Done Phase = "done"
)

// State is everything an agent has to remember. It holds ids, counts and small decisions, never
// text, and it survives JSON unchanged. Every list in it is bounded; only Children and Questions
// grow with the number of agents that are open below this one.
type State struct {
	Rules int   `json:"rules,omitempty"`
	Now   int64 `json:"now,omitempty"`
	Phase Phase `json:"phase,omitempty"`
	Brief Brief `json:"brief"`

	// Turn numbers the model calls, Serial everything else that needs a name of its own.
	Turn   int        `json:"turn,omitempty"`
	Serial int        `json:"serial,omitempty"`
	Model  *ModelCall `json:"model,omitempty"`
	Round  *Round     `json:"round,omitempty"`

	// Children are shared between states: a step that changes one puts a copy in its place (edit).
	Children []*Child `json:"children,omitempty"`
	// Spawned counts the children so far and Settled those that have ended; the rest are in
	// Children.
	Spawned int      `json:"spawned,omitempty"`
	Settled int      `json:"settled,omitempty"`
	Recent  []Recent `json:"recent,omitempty"`
	// Notices are background tasks that ended and have not been told to the orchestrator's model.
	Notices []Notice `json:"notices,omitempty"`

	Inbox Inbox `json:"inbox"`
	// InTurn is set from the first message of an orchestrator's turn to its end.
	InTurn bool `json:"in_turn,omitempty"`
	// Muted is set when the person has stopped everything: only their next message starts a turn.
	Muted bool `json:"muted,omitempty"`
	// ToldWaiting is the reason to wait that the parent was told last.
	ToldWaiting chat.WaitReason `json:"told_waiting,omitempty"`
	// Cancelled are the last cancel requests that were handled.
	Cancelled []string `json:"cancelled,omitempty"`

	Sides []Side `json:"sides,omitempty"`
	// Questions are the open questions of the whole tree, oldest first; only an orchestrator has
	// them.
	Questions []Question `json:"questions,omitempty"`
	Answers   []Answer   `json:"answers,omitempty"`
	// Askers remembers, for each agent that has asked, its last question, so that no question
	// counts twice.
	Askers []Asker `json:"askers,omitempty"`

	Asked    []AskedBefore `json:"asked,omitempty"`
	Grants   []string      `json:"grants,omitempty"`
	Denials  []Tally       `json:"denials,omitempty"`
	Repeats  []Tally       `json:"repeats,omitempty"`
	Failures []Tally       `json:"failures,omitempty"`

	// Taint lists the strangers' sources that the agent has read. It only grows.
	Taint Taint `json:"taint,omitempty"`

	Progress Progress `json:"progress"`
	// Context is an upper estimate, in tokens, of the next model call's input.
	Context int64      `json:"context,omitempty"`
	Tokens  Lease      `json:"tokens"`
	Cost    Lease      `json:"cost"`
	Agents  Lease      `json:"agents"`
	Own     chat.Usage `json:"own"`
	Subtree chat.Usage `json:"subtree"`

	Clock Clock `json:"clock"`
	Stop  *Stop `json:"stop,omitempty"`
	// Closing means that the conversation is being archived or deleted.
	Closing bool `json:"closing,omitempty"`
	// Wake is when the host must deliver Ticked, zero if there is nothing to wait for.
	Wake    int64    `json:"wake,omitempty"`
	Outcome *Outcome `json:"outcome,omitempty"`
}

// Progress counts the work of a run, or of an orchestrator's user turn, so far.
type Progress struct {
	Iterations int `json:"iterations,omitempty"`
	ToolCalls  int `json:"tool_calls,omitempty"`
	Questions  int `json:"questions,omitempty"`
	// Mixed counts replies that broke the rule that submit and ask calls stand alone.
	Mixed     int  `json:"mixed,omitempty"`
	Empty     int  `json:"empty,omitempty"`
	Malformed int  `json:"malformed,omitempty"`
	Nudged    bool `json:"nudged,omitempty"`
	Repaired  bool `json:"repaired,omitempty"`
	// Evidence counts the facts that calls and sub-agents left; Challenged means that a result was
	// sent back because they do not bear it out.
	Evidence   int  `json:"evidence,omitempty"`
	Challenged bool `json:"challenged,omitempty"`
	Compacted  bool `json:"compacted,omitempty"`
	// Last is the turn of the last reply with text, the result when nothing was submitted.
	Last int `json:"last,omitempty"`
	// Partial is a result that was submitted when the run was already being stopped.
	Partial string `json:"partial,omitempty"`
	// Grace is set once the grace turn was granted, and says which limit it was granted for.
	Grace *Limit `json:"grace,omitempty"`
}

// Limit names a limit that was reached.
type Limit struct {
	Kind   chat.ErrorKind `json:"kind"`
	Reason string         `json:"reason,omitempty"`
}

// ModelCall is the model call that an agent is waiting for.
type ModelCall struct {
	Turn    int      `json:"turn"`
	Attempt int      `json:"attempt"`
	Kind    TurnKind `json:"kind"`
	// RetryAt is set while the call is not in flight but waits to be tried again.
	RetryAt    int64 `json:"retry_at,omitempty"`
	HoldTokens int64 `json:"hold_tokens,omitempty"`
	HoldCost   int64 `json:"hold_cost,omitempty"`
}

// Tally counts how often something with this key happened.
type Tally struct {
	Key string `json:"k"`
	N   int    `json:"n"`
}

// Stop is why an agent ends its running work. The first reason stays.
type Stop struct {
	Kind   chat.ErrorKind `json:"kind"`
	Reason string         `json:"reason,omitempty"`
	By     string         `json:"by,omitempty"`
	Until  int64          `json:"until"`
	// All means that somebody asked for everything to stop, background children too; asked again,
	// the books are closed at once. Otherwise only the turn or the run ends.
	All bool `json:"all,omitempty"`
}

// clone copies everything that a step may change in place.
func (s State) clone() State {
	s.Model = copied(s.Model)
	s.Round = copied(s.Round)
	if s.Round != nil {
		s.Round.Calls = slices.Clone(s.Round.Calls)
		s.Round.Notes = slices.Clone(s.Round.Notes)
	}
	s.Children = slices.Clone(s.Children)
	s.Recent = slices.Clone(s.Recent)
	s.Notices = slices.Clone(s.Notices)
	s.Sides = slices.Clone(s.Sides)
	s.Inbox.Queue = slices.Clone(s.Inbox.Queue)
	s.Questions = slices.Clone(s.Questions)
	s.Answers = slices.Clone(s.Answers)
	s.Askers = slices.Clone(s.Askers)
	s.Asked = slices.Clone(s.Asked)
	s.Grants = slices.Clone(s.Grants)
	s.Cancelled = slices.Clone(s.Cancelled)
	s.Denials = slices.Clone(s.Denials)
	s.Repeats = slices.Clone(s.Repeats)
	s.Failures = slices.Clone(s.Failures)
	s.Progress.Grace = copied(s.Progress.Grace)
	s.Stop = copied(s.Stop)
	return s
}

func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// orchestrator reports whether this is the agent that the person talks to.
func (s *State) orchestrator() bool { return s.Brief.Depth == 0 }

// Status projects the state onto the status of its task and, when it waits, what for.
func (s State) Status() (chat.Status, chat.WaitReason) {
	switch s.Phase {
	case Unborn:
		return chat.StatusPending, ""
	case Done:
		return s.Outcome.Status, ""
	case Idle:
		return chat.StatusCompleted, ""
	case Working:
		if reason := s.waitReason(); reason != "" {
			return chat.StatusWaiting, reason
		}
		return chat.StatusRunning, ""
	case Thinking, Stopping:
		return chat.StatusRunning, ""
	}
	return chat.StatusRunning, ""
}

// waitReason says why people are awaited, empty while anything is at work or nobody is awaited.
func (s *State) waitReason() chat.WaitReason {
	if s.Phase != Working || s.atWork() {
		return ""
	}
	reason := chat.WaitReason("")
	for i := range s.Round.Calls {
		switch s.Round.Calls[i].Status {
		case CallWants:
			return chat.WaitApproval
		case CallAsking:
			reason = chat.WaitUserInput
		case CallQueued, CallRunning, CallSpawned, CallCompleted, CallFailed, CallDenied, CallCancelled,
			CallTimedOut, CallSkipped:
		}
	}
	for i := range s.Children {
		switch c := s.Children[i]; {
		case c.Waiters == 0:
		case c.Waiting == chat.WaitApproval:
			return chat.WaitApproval
		case c.Waiting != "":
			reason = c.Waiting
		}
	}
	return reason
}
