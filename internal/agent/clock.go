package agent

// Clock measures how long an agent has been at work. It pauses while only people are awaited.
type Clock struct {
	Spent int64 `json:"spent,omitempty"`
	// Since is when the clock was last started, zero while it is paused.
	Since int64 `json:"since,omitempty"`
}

// elapsed is the time at work so far.
func (m *machine) elapsed() int64 {
	c := m.s.Clock
	if c.Since == 0 {
		return c.Spent
	}
	return c.Spent + m.now - c.Since
}

// forgive takes back time that was spent in a queue of ours.
func (m *machine) forgive(waited int64) {
	m.s.Clock.Spent -= min(max(waited, 0), m.elapsed())
}

// atWork reports whether anything runs that the agent's time is charged for.
func (s *State) atWork() bool {
	switch s.Phase {
	case Thinking, Stopping:
		return true
	case Working:
		return s.toolRunning() || s.childAtWork()
	case Unborn, Idle, Done:
		return false
	}
	return false
}

func (s *State) toolRunning() bool {
	for i := range s.Round.Calls {
		if s.Round.Calls[i].Status == CallRunning {
			return true
		}
	}
	return false
}

// childAtWork looks only at children that the open round waits for.
func (s *State) childAtWork() bool {
	for i := range s.Children {
		c := s.Children[i]
		if c.Waiters > 0 && c.started() && c.Waiting == "" {
			return true
		}
	}
	return false
}

// runClock starts or stops the clock after a step and tells the parent when that changes its reason
// to wait.
func (m *machine) runClock() {
	s := m.s
	was, is := s.Clock.Since != 0, s.atWork()
	if was && !is {
		s.Clock.Spent += m.now - s.Clock.Since
		s.Clock.Since = 0
	}
	if !was && is {
		s.Clock.Since = m.now
	}
	if s.orchestrator() || s.Phase == Done {
		return
	}
	if reason := s.waitReason(); reason != s.ToldWaiting {
		s.ToldWaiting = reason
		m.order(TellParent{Serial: m.serial(), Reason: reason})
	}
}

// wake is the earliest time at which something is due without anybody's help.
func (m *machine) wake() int64 {
	s := m.s
	at := int64(0)
	due := func(t int64) {
		if t != 0 && (at == 0 || t < at) {
			at = t
		}
	}
	if s.Phase == Done {
		return 0
	}
	switch {
	case s.Phase != Thinking && s.Phase != Working:
	case s.Clock.Since != 0:
		due(s.Clock.Since + max(1, s.Brief.Limits.Time-s.Clock.Spent))
	case s.Clock.Spent >= s.Brief.Limits.Time: // the deadline was over before the clock paused
		due(m.now + 1)
	}
	if s.Model != nil {
		due(s.Model.RetryAt)
	}
	if s.Stop != nil {
		due(s.Stop.Until)
	}
	if s.Round != nil {
		for i := range s.Round.Calls {
			due(s.Round.Calls[i].Until)
		}
	}
	for i := range s.Children {
		due(s.Children[i].Until)
	}
	return at
}

// ticked does everything that is due.
func (m *machine) ticked() error {
	s := m.s
	if s.Wake == 0 || m.now < s.Wake {
		return m.refuse(Early, "nothing is due yet")
	}
	if s.Stop != nil && s.Stop.Until <= m.now {
		m.force()
		return nil
	}
	for _, task := range m.overdue() {
		m.loseChild(task)
	}
	if (s.Phase == Thinking || s.Phase == Working) && m.elapsed() >= s.Brief.Limits.Time {
		m.halt(CancelTimeout.kind(), "time")
		return nil
	}
	if s.Model != nil && s.Model.RetryAt != 0 && s.Model.RetryAt <= m.now {
		m.retry()
	}
	if s.Phase == Working {
		m.expire()
	}
	return nil
}

// overdue lists the children that were told to stop and did not in time.
func (m *machine) overdue() []string {
	var out []string
	for i := range m.s.Children {
		if c := m.s.Children[i]; c.Until != 0 && c.Until <= m.now {
			out = append(out, c.ID)
		}
	}
	return out
}
