package agent

import (
	"fmt"

	"github.com/retinue-dev/retinue/internal/chat"
)

// submitted deals with the calls that must stand alone, submit and ask. It reports whether it has
// decided about the whole round.
func (m *machine) submitted(calls []Call) bool {
	if m.s.orchestrator() || !anyAlone(calls) {
		return false
	}
	if m.s.Round.Total == 1 {
		if calls[0].Kind.submits() {
			m.submit(0, calls)
		}
		return calls[0].Kind.submits()
	}
	if m.s.Progress.Mixed++; m.s.Progress.Mixed == 1 {
		m.skipAll(CallFailed, textAlone)
		return true
	}
	if i := pickSubmit(calls); i >= 0 {
		m.submit(i, calls)
		return true
	}
	m.askOnly(calls)
	return true
}

func anyAlone(calls []Call) bool {
	for _, c := range calls {
		if c.Kind.alone() {
			return true
		}
	}
	return false
}

// pickSubmit is the submit call that counts when there are several: one that can be used before one
// that cannot, an error before a result, else the first.
func pickSubmit(calls []Call) int {
	found, best := -1, 0
	for i, c := range calls {
		worth := 0
		switch {
		case !c.Kind.submits():
		case c.Problem != "":
			worth = 1
		case c.Kind == CallSubmit:
			worth = 2
		default:
			worth = 3
		}
		if worth > best {
			found, best = i, worth
		}
	}
	return found
}

// askOnly admits the first question of a reply and skips everything else in it.
func (m *machine) askOnly(calls []Call) {
	for i := range calls {
		open := &m.s.Round.Calls[i]
		if calls[i].Kind == CallAsk && open.Status == CallQueued {
			for j := range m.s.Round.Calls {
				if j != i {
					m.settle(&m.s.Round.Calls[j], CallSkipped, textSkippedForAsk)
				}
			}
			m.admit(open, calls[i], nil)
			return
		}
	}
}

// submit ends the run with what was submitted, or lets the model repair it once.
func (m *machine) submit(i int, calls []Call) {
	s := m.s
	open := &s.Round.Calls[i]
	if calls[i].Problem == "" {
		m.accept(i, calls)
		return
	}
	text := textSubmitMalformed
	if s.Progress.Repaired {
		text = textSubmitUnusable
	}
	m.settle(open, CallFailed, fmt.Sprintf(text, calls[i].Problem))
	m.skipAll(CallSkipped, textSkipped)
	if s.Progress.Repaired {
		m.closeRound(nil)
		m.fail(Outcome{Kind: chat.KindInvalidResult, Partial: open.ID})
		return
	}
	s.Progress.Repaired = true
}

// accept closes the books on a valid submit call.
func (m *machine) accept(i int, calls []Call) {
	id := m.s.Round.Calls[i].ID
	m.settle(&m.s.Round.Calls[i], CallCompleted, textAccepted)
	m.skipAll(CallSkipped, textSkipped)
	m.closeRound(nil)
	if calls[i].Kind == CallSubmit {
		m.succeed(Outcome{Completion: Submitted, Call: id})
		return
	}
	partial := ""
	for j, c := range calls {
		if c.Kind == CallSubmit && c.Problem == "" && partial == "" {
			partial = callID(m.s.Turn, j)
		}
	}
	m.fail(Outcome{Kind: chat.KindSubAgentError, Call: id, Partial: partial})
}

// graceReply takes a submit call of the last turn; whatever else it holds is not carried out.
func (m *machine) graceReply(e Replied) {
	limit := *m.s.Progress.Grace
	m.openRound(e)
	calls := e.Calls
	if m.s.Round != nil {
		calls = calls[:len(m.s.Round.Calls)]
	}
	partial := ""
	if i := pickSubmit(calls); i >= 0 {
		if calls[i].Problem == "" {
			m.accept(i, calls)
			return
		}
		partial = callID(e.Turn, i)
		m.settle(&m.s.Round.Calls[i], CallFailed, fmt.Sprintf(textSubmitUnusable, calls[i].Problem))
	}
	m.skipAll(CallSkipped, textGraceOnly)
	m.closeRound(nil)
	m.fail(Outcome{Kind: limit.Kind, Reason: limit.Reason, Partial: partial})
}
