package agent

import "fmt"

// Step handles an event. It returns the next state and the effects that the host must carry out, in
// order. It is a pure function: the same state and event give the same answer, for ever, and the
// given state is not changed.
//
// An event that does not fit gives a *Refusal and the state as it was. A refusal never ends a run.
func Step(s State, e Event) (State, []Effect, error) {
	next := s.clone()
	m := &machine{s: &next, now: max(e.When(), s.Now)}
	next.Now = m.now
	if err := m.handle(e); err != nil {
		return s, nil, err
	}
	m.advance()
	m.runClock()
	next.Wake = m.wake()
	return next, append(m.records, m.orders...), nil
}

// machine is one step in progress: the state to come and the effects so far.
type machine struct {
	s       *State
	now     int64
	records []Effect
	orders  []Effect
}

func (m *machine) record(e Effect) { m.records = append(m.records, e) }
func (m *machine) order(e Effect)  { m.orders = append(m.orders, e) }

// serial numbers what has no other name.
func (m *machine) serial() int {
	m.s.Serial++
	return m.s.Serial
}

// handle takes the event in. Its consequences for the rest of the state are up to advance.
func (m *machine) handle(e Event) error {
	if m.s.Rules > Rules {
		return m.refuse(Invalid, "the state was made under rules %d, these are rules %d", m.s.Rules, Rules)
	}
	if begun, ok := e.(Begun); ok {
		return m.begun(begun)
	}
	switch m.s.Phase {
	case Unborn:
		return m.refuse(Conflict, "the agent has not begun")
	case Done:
		return m.afterwards(e)
	case Idle, Thinking, Working, Stopping:
	}
	switch e := e.(type) {
	case Begun:
		return m.begun(e)
	case Said:
		return m.said(e)
	case Corrected:
		return m.corrected(e)
	case Replied:
		return m.replied(e)
	case ModelFailed:
		return m.modelFailed(e)
	case Compacted:
		return m.compacted(e)
	case ToolDone:
		return m.toolDone(e)
	case ChildStarted:
		return m.childStarted(e)
	case ChildWaited:
		return m.childWaited(e)
	case ChildEnded:
		return m.childEnded(e)
	case Decided:
		return m.decided(e)
	case QuestionAsked:
		return m.questionAsked(e)
	case QuestionWithdrawn:
		return m.questionWithdrawn(e)
	case Resolved:
		return m.resolved(e)
	case Routed:
		return m.routed(e)
	case Answered:
		return m.answered(e)
	case Undelivered:
		return m.undelivered(e)
	case CancelRequested:
		return m.cancelRequested(e)
	case ChildCancelRequested:
		return m.childCancelRequested(e)
	case CloseRequested:
		return m.closeRequested(e)
	case Ticked:
		return m.ticked()
	}
	return m.refuse(Invalid, "unknown event %T", e)
}

// begun makes the agent. A sub-agent starts to think at once: its task is already in its
// transcript.
func (m *machine) begun(e Begun) error {
	s := m.s
	if s.Phase != Unborn {
		return m.refuse(Duplicate, "the agent has begun")
	}
	if err := e.Brief.check(); err != nil {
		return m.refuse(Invalid, "%s", err.Message)
	}
	s.Rules = Rules
	s.Brief = e.Brief
	s.Taint, s.Brief.Taint = s.Taint.With(e.Brief.Taint), nil
	s.Turn = e.From
	s.Context = e.Tokens
	s.Phase = Idle
	s.Tokens.Grant = e.Brief.Limits.Tokens
	s.Cost.Grant = e.Brief.Limits.Cost
	s.Agents.Grant = e.Brief.Limits.Agents
	if !s.orchestrator() {
		m.think()
	}
	return nil
}

// advance lets everything follow that the event made possible.
func (m *machine) advance() {
	s := m.s
	for {
		m.schedule()
		m.launch()
		switch {
		case s.Phase == Working && s.Round.settled():
			messages := m.takeUnread()
			m.closeRound(messages)
			m.fresh(messages)
			m.think()
		case s.Phase == Stopping && m.quiet():
			m.conclude()
		case s.Phase == Idle && s.Closing && len(s.Children) == 0:
			m.succeed(Outcome{})
		case s.Phase == Idle && !s.Closing && m.hasWork():
			m.beginTurn()
		default:
			return
		}
	}
}

// afterwards answers events that come when everything is over.
func (m *machine) afterwards(e Event) error {
	switch e.(type) {
	case Said, Corrected, Decided, CancelRequested, ChildCancelRequested, CloseRequested:
		return m.refuse(Conflict, "the agent has finished")
	default:
		return m.refuse(Late, "the agent has finished")
	}
}

// Refusal is what Step returns for an event that does not fit. The state is unchanged.
type Refusal struct {
	Kind  RefusalKind
	Phase Phase
	// Detail says what does not fit, for a log or for the sender.
	Detail string
}

// RefusalKind says what the host does about a refusal.
type RefusalKind string

// Counted refusals are normal where events are delivered more than once: the host counts them and
// continues.
const (
	// Duplicate was handled before.
	Duplicate RefusalKind = "duplicate"
	// Unknown names something that never was.
	Unknown RefusalKind = "unknown"
	// Late names something that is no longer awaited.
	Late RefusalKind = "late"
	// Early is a tick before its time, or a cancel with nothing to stop.
	Early RefusalKind = "early"
)

// The sender of the event is told of the other refusals.
const (
	// Conflict does not fit what the agent is doing: the sender looks again.
	Conflict RefusalKind = "conflict"
	// Gap is a message whose predecessor has not arrived: the host delivers that one first.
	Gap RefusalKind = "gap"
	// Full asks the host to deliver the message again when the agent has read some.
	Full RefusalKind = "full"
	// Invalid is a fault of the host.
	Invalid RefusalKind = "invalid"
)

// Error implements error.
func (r *Refusal) Error() string {
	phase := r.Phase
	if phase == Unborn {
		phase = "unborn"
	}
	return fmt.Sprintf("%s while %s: %s", r.Kind, phase, r.Detail)
}

// Counted reports whether the host only counts the refusal.
func (r *Refusal) Counted() bool {
	switch r.Kind {
	case Duplicate, Unknown, Late, Early:
		return true
	case Conflict, Gap, Full, Invalid:
		return false
	}
	return false
}

func (m *machine) refuse(kind RefusalKind, format string, args ...any) error {
	return &Refusal{Kind: kind, Phase: m.s.Phase, Detail: fmt.Sprintf(format, args...)}
}
