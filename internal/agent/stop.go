package agent

import (
	"slices"

	"github.com/retinue-dev/retinue/internal/chat"
)

// cancelsKept is how many cancel requests an agent remembers, so that none counts twice.
const cancelsKept = 8

// cancelRequested stops the agent. The first reason decides how the run ends; a second request
// closes the books at once; the same request again is nothing new.
func (m *machine) cancelRequested(e CancelRequested) error {
	s := m.s
	switch {
	case !e.Reason.valid() || e.ID == "":
		return m.refuse(Invalid, "a cancel request needs an id and a reason, not %q", e.Reason)
	case slices.Contains(s.Cancelled, e.ID):
		return m.refuse(Duplicate, "cancel request %s has been taken in", e.ID)
	case s.Phase == Idle && len(s.Children) == 0:
		return m.refuse(Early, "nothing is running")
	}
	if len(s.Cancelled) >= cancelsKept {
		s.Cancelled = slices.Delete(s.Cancelled, 0, 1)
	}
	s.Cancelled = append(s.Cancelled, e.ID)
	if s.Stop != nil && s.Stop.All {
		m.force()
		return nil
	}
	m.stop(Stop{
		Kind: e.Reason.kind(), Reason: string(e.Reason), By: e.By, All: e.Reason != CancelHistory,
	})
	return nil
}

// cancelTurn is a person's wish to stop, read out of a message.
func (m *machine) cancelTurn() {
	if m.s.Phase == Idle && len(m.s.Children) == 0 {
		return
	}
	m.stop(Stop{Kind: chat.KindCancelled, Reason: string(CancelUser), All: true})
}

// closeRequested ends the conversation: everything stops first, then the agent is done.
func (m *machine) closeRequested(e CloseRequested) error {
	s := m.s
	switch {
	case !s.orchestrator():
		return m.refuse(Invalid, "only a conversation is closed")
	case s.Closing:
		return m.refuse(Duplicate, "the conversation is being closed")
	}
	s.Closing = true
	if s.Phase != Idle || len(s.Children) > 0 {
		m.stop(Stop{Kind: chat.KindCancelled, Reason: "closed", By: e.By, All: true})
	}
	return nil
}

// halt ends a turn or a run that must not continue: a limit, a loop, an error that cannot be
// retried.
func (m *machine) halt(kind chat.ErrorKind, reason string) {
	m.stop(Stop{Kind: kind, Reason: reason})
}

// stop ends all work. Work that has not begun is settled at once. Work that runs is told to stop,
// and awaited until the grace period is over. The first reason stays; a later one may only widen
// the stop.
func (m *machine) stop(st Stop) {
	s := m.s
	until := m.now + s.Brief.Limits.Grace
	switch {
	case s.Stop == nil:
		st.Until = until
		s.Stop = &st
		s.Phase = Stopping
		m.stopModel()
		m.stopCalls()
	case st.All && !s.Stop.All:
		s.Stop.All, s.Stop.Until = true, until
	}
	m.stopChildren(st.By)
}

func (m *machine) stopModel() {
	c := m.s.Model
	switch {
	case c == nil:
	case c.RetryAt != 0:
		m.s.Model = nil
	default:
		m.order(AbortModel{Turn: c.Turn, Attempt: c.Attempt})
	}
}

func (m *machine) stopCalls() {
	if m.s.Round == nil {
		return
	}
	for i := range m.s.Round.Calls {
		c := &m.s.Round.Calls[i]
		switch c.Status {
		case CallQueued:
			if len(c.Tasks) > 0 {
				m.dropUnreached(c)
				continue
			}
			m.settle(c, CallCancelled, textCancelledBefore)
		case CallWants:
			m.record(CloseApproval{Call: c.ID, Status: ApprovalCancelled})
			m.settleDenied(c, CallCancelled, DeniedCancelled)
		case CallAsking:
			m.order(WithdrawQuestion{Question: m.questionID(c)})
			m.settle(c, CallCancelled, textCancelled)
		case CallRunning:
			m.order(AbortTool{Call: c.ID, Class: c.Class})
		case CallSpawned, CallCompleted, CallFailed, CallDenied, CallCancelled, CallTimedOut, CallSkipped:
		}
	}
}

// dropUnreached ends the children of a spawn call whose turn never came, background or not.
func (m *machine) dropUnreached(call *OpenCall) {
	call.Status = CallSpawned
	for _, short := range call.Tasks {
		if c := m.s.child(short); c != nil && callOf(short) == call.ID {
			child := *c
			child.Background = false // the call's own result tells of it
			m.dropChild(child, CancelParent, m.s.Stop.By)
		}
	}
	m.gather(call)
}

// inScope reports whether a stop reaches a child: background children survive the end of a turn.
func (s *State) inScope(c *Child) bool { return s.Stop.All || !c.Background }

func (m *machine) stopChildren(by string) {
	s := m.s
	var queued []Child
	for i := range s.Children {
		c := s.Children[i]
		switch {
		case !s.inScope(c):
		case c.started():
			m.stopChild(m.edit(i), CancelParent, by)
		default:
			queued = append(queued, *c)
		}
	}
	for _, c := range queued {
		m.dropChild(c, CancelParent, by)
	}
}

// quiet reports whether everything in scope has let go.
func (m *machine) quiet() bool {
	s := m.s
	if s.Model != nil || (s.Round != nil && s.toolRunning()) {
		return false
	}
	for i := range s.Children {
		if s.inScope(s.Children[i]) {
			return false
		}
	}
	return true
}

// force closes the books on work that has not stopped.
func (m *machine) force() {
	s := m.s
	if c := s.Model; c != nil {
		m.record(Void{Turn: c.Turn})
		m.chargeReply(c, chat.Usage{})
		s.Model = nil
	}
	if s.Round != nil {
		for i := range s.Round.Calls {
			if c := &s.Round.Calls[i]; c.Status == CallRunning {
				m.settle(c, CallCancelled, orMaybe(c, textCancelled, textMayHaveHappened))
			}
		}
	}
	var lost []string
	for i := range s.Children {
		if s.inScope(s.Children[i]) {
			lost = append(lost, s.Children[i].ID)
		}
	}
	for _, short := range lost {
		m.loseChild(short)
	}
}

// conclude ends the turn or the run for the reason it was stopped.
func (m *machine) conclude() {
	s := m.s
	st := *s.Stop
	if s.Round != nil {
		for i := range s.Round.Calls {
			m.unwait(&s.Round.Calls[i])
		}
		m.closeRound(nil)
	}
	if s.orchestrator() {
		s.Muted = s.Muted || st.All
		m.endTurn(EndTurn{Status: st.Kind.Status(), Kind: st.Kind, Reason: st.Reason, By: st.By})
		return
	}
	m.fail(Outcome{Kind: st.Kind, Reason: st.Reason, By: st.By})
}

// unwait settles a spawn call that waits only for background children, which continue without it.
func (m *machine) unwait(call *OpenCall) {
	for _, short := range call.Wait {
		if i := m.s.childIndex(short); i >= 0 {
			m.edit(i).Waiters--
		}
	}
	call.Wait = nil
	m.gather(call)
}
