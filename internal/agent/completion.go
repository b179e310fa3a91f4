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

// submit ends the run with the submitted result, or has the model repair it once.
func (m *machine) submit(i int, calls []Call) {
	s := m.s
	open := &s.Round.Calls[i]
	if calls[i].Problem == "" {
		if !m.doubted(open, calls[i]) {
			m.accept(i, calls)
		}
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

// reasonNoEvidence is why a run fails whose role asks for evidence and gets none.
const reasonNoEvidence = "no_evidence"

// reasonNoShape is why a run fails that answers in plain text although its result must fit a
// schema.
const reasonNoShape = "plain_text"

// unproven reports whether a result would rest on nothing although the role asks for evidence.
func (m *machine) unproven() bool { return m.s.Brief.Evidence && m.s.Progress.Evidence == 0 }

// doubted sends a result back that the facts do not bear out, once. A second one without any
// evidence ends the run; one that is contradicted is then taken as it is, and its receipt says so.
func (m *machine) doubted(open *OpenCall, c Call) bool {
	s := m.s
	settle := Settle{Call: open.ID, Status: CallFailed, Text: textNoEvidence}
	switch {
	case c.Kind != CallSubmit || !s.Brief.Evidence:
		return false
	case m.unproven() && s.Progress.Challenged:
		settle.Text = textStillNoEvidence
	case m.unproven():
	case s.Progress.Challenged || c.Contradicted == 0:
		return false
	default:
		settle.Text, settle.Receipt = textContradicted, true
	}
	open.Status = CallFailed
	s.Context += noteTokens * 2 // the host may add to the text
	m.record(settle)
	m.skipAll(CallSkipped, textSkipped)
	if m.unproven() && s.Progress.Challenged {
		m.closeRound(nil)
		m.fail(Outcome{Kind: chat.KindInvalidResult, Reason: reasonNoEvidence, Partial: open.ID})
	}
	s.Progress.Challenged = true
	return true
}

// accept closes the books on a valid submit call.
func (m *machine) accept(i int, calls []Call) {
	id := m.s.Round.Calls[i].ID
	m.settle(&m.s.Round.Calls[i], CallCompleted, textAccepted)
	m.skipAll(CallSkipped, textSkipped)
	m.closeRound(nil)
	if calls[i].Kind == CallSubmit {
		m.succeed(Outcome{Completion: Submitted, Call: id, Typed: calls[i].Typed})
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

// graceReply takes a submit call of the last turn; its other calls are not run.
func (m *machine) graceReply(e Replied) {
	limit := *m.s.Progress.Grace
	m.openRound(e)
	calls := e.Calls
	if m.s.Round != nil {
		calls = calls[:len(m.s.Round.Calls)]
	}
	partial := ""
	if i := pickSubmit(calls); i >= 0 {
		unproven := calls[i].Kind == CallSubmit && m.unproven()
		if calls[i].Problem == "" && !unproven {
			m.accept(i, calls)
			return
		}
		partial = callID(e.Turn, i)
		why := textStillNoEvidence
		if calls[i].Problem != "" {
			why = fmt.Sprintf(textSubmitUnusable, calls[i].Problem)
		}
		m.settle(&m.s.Round.Calls[i], CallFailed, why)
	}
	m.skipAll(CallSkipped, textGraceOnly)
	m.closeRound(nil)
	m.fail(Outcome{Kind: limit.Kind, Reason: limit.Reason, Partial: partial})
}
