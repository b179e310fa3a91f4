package agent

import "github.com/retinue-dev/retinue/internal/chat"

const (
	// compactAt is the part of the context window, in percent, from which a transcript is
	// compacted.
	compactAt = 80
	// graceOutput is the most a grace turn may write.
	graceOutput = 4096
	// backoffBase is the wait before the second try of a model call; it doubles with each further
	// one.
	backoffBase = 1000
	// emptyReplies is how many replies without text and calls are tried again in a row.
	emptyReplies = 2
	// noteTokens is an upper estimate of one note of the core in a transcript.
	noteTokens = 128
)

// think asks the model for the next reply, unless a limit says otherwise. No round is open.
func (m *machine) think() {
	s := m.s
	switch {
	case m.elapsed() >= s.Brief.Limits.Time:
		m.halt(chat.KindTimedOut, "time")
	case s.Progress.Iterations >= s.Brief.Limits.Iterations:
		m.lastCall(chat.KindMaxIterations, "iterations")
	case m.crowded() && s.Progress.Compacted:
		m.halt(chat.KindContextExhausted, "")
	case m.crowded():
		m.callModel(TurnCompact)
	default:
		m.callModel(TurnNormal)
	}
}

// crowded reports whether the transcript should be compacted before the next call.
func (m *machine) crowded() bool {
	window := m.s.Brief.Model.Window
	return window > 0 && m.s.Context >= window*compactAt/100
}

// lastCall grants a sub-agent at a limit one turn to submit its result so far. An orchestrator
// simply ends its turn: the person sees why.
func (m *machine) lastCall(kind chat.ErrorKind, reason string) {
	s := m.s
	if s.orchestrator() || s.Progress.Grace != nil || !m.affordsGrace() {
		m.giveUp(kind, reason)
		return
	}
	s.Progress.Grace = &Limit{Kind: kind, Reason: reason}
	m.append(Append{Reads: m.takeUnread(), Notes: []string{textGrace}})
	m.callModel(TurnGrace)
}

func (m *machine) affordsGrace() bool {
	s := m.s
	input, output := s.Context+noteTokens+m.unreadTokens(), m.maxOutput(TurnGrace)
	return s.Tokens.affords(input+output) && s.Cost.affords(s.Brief.Model.price(input, output))
}

func (m *machine) maxOutput(kind TurnKind) int64 {
	if kind == TurnGrace {
		return min(m.s.Brief.Model.MaxOutput, graceOutput)
	}
	return m.s.Brief.Model.MaxOutput
}

// callModel starts the first attempt of a new model call.
func (m *machine) callModel(kind TurnKind) {
	m.attempt(ModelCall{Turn: m.s.Turn + 1, Attempt: 1, Kind: kind})
}

// attempt sends a model call if the leases allow it.
func (m *machine) attempt(c ModelCall) {
	s := m.s
	output := m.maxOutput(c.Kind)
	tokens, cost, ok := m.holdFor(output)
	if !ok {
		s.Model = nil
		m.lastCall(chat.KindBudgetExceeded, "budget")
		return
	}
	c.RetryAt, c.HoldTokens, c.HoldCost = 0, tokens, cost
	s.Model = &c
	s.Inbox.Shown = nil
	s.Turn = c.Turn
	s.Phase = Thinking
	order := CallModel{
		Turn: c.Turn, Attempt: c.Attempt, Kind: c.Kind, MaxOutput: output, HoldTokens: tokens, HoldCost: cost,
	}
	if c.Kind == TurnCompact {
		order.Pins = m.openTasks()
	}
	m.order(order)
}

// retry sends a failed model call again.
func (m *machine) retry() {
	c := *m.s.Model
	c.Attempt++
	m.attempt(c)
}

// inFlight finds the model call that an event answers.
func (m *machine) inFlight(turn, attempt int) (*ModelCall, error) {
	c := m.s.Model
	switch {
	case c != nil && c.RetryAt == 0 && c.Turn == turn && c.Attempt == attempt:
		return c, nil
	case turn > m.s.Turn || turn <= 0 || attempt <= 0 || (c != nil && c.Turn == turn && attempt > c.Attempt):
		return nil, m.refuse(Unknown, "no model call %s", attemptKey(turn, attempt))
	default:
		return nil, m.refuse(Late, "model call %s is over", attemptKey(turn, attempt))
	}
}

// charge settles a model call's hold with its use.
func (m *machine) charge(c *ModelCall, used chat.Usage) {
	m.s.Tokens.settle(c.HoldTokens, used.Tokens())
	m.s.Cost.settle(c.HoldCost, used.Cost)
	m.spend(used)
	c.HoldTokens, c.HoldCost = 0, 0
}

// chargeReply is charge for a reply: a reply without a report of its use has used its whole
// reservation.
func (m *machine) chargeReply(c *ModelCall, used chat.Usage) {
	if used.Tokens() == 0 {
		m.s.Tokens.settle(c.HoldTokens, c.HoldTokens)
		m.s.Cost.settle(c.HoldCost, c.HoldCost)
		c.HoldTokens, c.HoldCost = 0, 0
		m.spend(used)
		return
	}
	m.charge(c, used)
}

func (m *machine) spend(used chat.Usage) {
	m.s.Own = m.s.Own.Plus(used)
	m.s.Subtree = m.s.Subtree.Plus(used)
}

// replied handles a reply: it ends the turn, or the run, or opens a round.
func (m *machine) replied(e Replied) error {
	s := m.s
	c, err := m.inFlight(e.Turn, e.Attempt)
	if err != nil {
		return err
	}
	if c.Kind == TurnCompact {
		return m.refuse(Invalid, "turn %d asked for a compaction", e.Turn)
	}
	kind := c.Kind
	m.taint(e.Taint)
	m.chargeReply(c, e.Usage)
	m.forgive(e.Waited)
	if e.Usage.Tokens() > 0 {
		s.Context = e.Usage.Tokens()
	} else {
		s.Context += s.Brief.Model.MaxOutput
	}
	if len(e.Calls) == 0 && !e.Text && e.Stop != StopRefusal {
		m.emptyReply(c)
		return nil
	}
	s.Model = nil
	s.Progress.Empty = 0
	s.Progress.Compacted = false
	if e.Text {
		s.Progress.Last = e.Turn
	}
	if s.Phase == Stopping {
		m.openRound(e)
		if i := pickSubmit(e.Calls); i >= 0 && e.Calls[i].Kind == CallSubmit {
			s.Progress.Partial = callID(e.Turn, i)
		}
		m.skipAll(CallCancelled, textCancelledBefore)
		return nil
	}
	if kind == TurnNormal {
		s.Progress.Iterations++
	}
	switch {
	case e.Stop == StopRefusal:
		m.openRound(e)
		m.skipAll(CallSkipped, textRefused)
		m.giveUp(chat.KindContentFilter, "")
	case kind == TurnGrace:
		m.graceReply(e)
	case len(e.Calls) == 0:
		m.plainText(e)
	default:
		m.openRound(e)
		m.admitAll(e)
	}
	return nil
}

// emptyReply treats a reply without text and calls as a failed call. It is not in the transcript.
func (m *machine) emptyReply(c *ModelCall) {
	s := m.s
	s.Progress.Empty++
	switch {
	case s.Phase == Stopping:
		s.Model = nil
	case s.Progress.Empty <= emptyReplies:
		c.RetryAt = m.now + backoffBase
	default:
		s.Model = nil
		m.giveUp(chat.KindNoResult, "empty")
	}
}

// giveUp halts because the model gave nothing. If that was the grace turn, the limit it was for is
// the reason.
func (m *machine) giveUp(kind chat.ErrorKind, reason string) {
	if limit := m.s.Progress.Grace; limit != nil {
		kind, reason = limit.Kind, limit.Reason
	}
	m.halt(kind, reason)
}

// plainText is a reply without calls: an orchestrator's answer, or a sub-agent that has not
// submitted.
func (m *machine) plainText(e Replied) {
	s := m.s
	switch {
	case s.orchestrator():
		m.endTurn(EndTurn{Status: chat.StatusCompleted, Cut: e.Stop == StopMaxTokens})
	case e.Stop == StopMaxTokens:
		m.append(Append{Reads: m.takeUnread(), Notes: []string{textCutOff}})
		m.think()
	case (!s.Brief.Immediate || s.Brief.Shaped) && !s.Progress.Nudged:
		s.Progress.Nudged = true
		nudge := textNudge
		if s.Brief.CanAsk {
			nudge = textNudgeOrAsk
		}
		m.append(Append{Reads: m.takeUnread(), Notes: []string{nudge}})
		m.think()
	case m.unproven() && !s.Progress.Challenged:
		s.Progress.Challenged = true
		m.append(Append{Reads: m.takeUnread(), Notes: []string{textNoEvidence}})
		m.think()
	case m.unproven():
		m.fail(Outcome{Kind: chat.KindInvalidResult, Reason: reasonNoEvidence, PartialTurn: e.Turn})
	case s.Brief.Shaped:
		m.fail(Outcome{Kind: chat.KindInvalidResult, Reason: reasonNoShape, PartialTurn: e.Turn})
	default:
		m.succeed(Outcome{Completion: Implicit, Turn: e.Turn})
	}
}

// modelFailed tries again, makes room, or gives up.
func (m *machine) modelFailed(e ModelFailed) error {
	s := m.s
	c, err := m.inFlight(e.Turn, e.Attempt)
	if err != nil {
		return err
	}
	m.charge(c, e.Usage)
	m.forgive(e.Waited)
	switch {
	case s.Phase == Stopping:
		s.Model = nil
	case e.Kind.Retryable() && c.Attempt < s.Brief.Limits.Retries:
		c.RetryAt = m.now + max(e.RetryAfter, backoffBase<<(c.Attempt-1))
	case e.Kind == chat.KindContextExhausted && c.Kind == TurnNormal && !s.Progress.Compacted:
		s.Progress.Compacted = true
		m.callModel(TurnCompact)
	default:
		s.Model = nil
		m.giveUp(e.Kind, "")
	}
	return nil
}

// compacted continues with the shorter transcript.
func (m *machine) compacted(e Compacted) error {
	s := m.s
	c, err := m.inFlight(e.Turn, e.Attempt)
	if err != nil {
		return err
	}
	if c.Kind != TurnCompact {
		return m.refuse(Invalid, "turn %d did not ask for a compaction", e.Turn)
	}
	m.chargeReply(c, e.Usage)
	m.forgive(e.Waited)
	s.Model = nil
	s.Context = e.Context
	s.Progress.Compacted = true
	if s.Phase != Stopping {
		m.think()
	}
	return nil
}

// append records a message from the user's side, if there is anything in it.
func (m *machine) append(a Append) {
	if a.Results == 0 && len(a.Reads) == 0 && len(a.Notices) == 0 && len(a.Notes) == 0 {
		return
	}
	a.Serial = m.serial()
	m.s.Inbox.Shown = a.Reads
	m.s.Context += noteTokens * int64(len(a.Notes))
	m.record(a)
}

// openTasks lists the children that are still open, by their full ids.
func (m *machine) openTasks() []string {
	var out []string
	for i := range m.s.Children {
		out = append(out, m.s.taskID(m.s.Children[i].ID))
	}
	return out
}

func (s *State) taskID(short string) string {
	return string(chat.AgentPath(s.Brief.Agent).Child(short))
}
