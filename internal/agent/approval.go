package agent

import (
	"slices"

	"github.com/retinue-dev/retinue/internal/chat"
)

const (
	// denialStop is how often the same call may be denied before the run ends.
	denialStop = 3
	// grantsKept bounds the approvals that a task remembers.
	grantsKept = 16
)

// needsApproval reports whether a person must say yes first: the configured rules decide, and
// without a rule whatever writes is asked about.
func (c Call) needsApproval() bool {
	switch c.Policy {
	case PolicyAllow:
		return false
	case PolicyAsk, PolicyDeny:
		return true
	case PolicyUnset:
		return c.Writes
	}
	return true
}

// seekApproval lets a call queue, asks a person about it, or denies it.
func (m *machine) seekApproval(open *OpenCall, c Call) {
	s := m.s
	switch {
	case !c.needsApproval():
	case c.Policy == PolicyDeny:
		m.deny(open, textPolicyDenied)
	case open.Pattern != "" && slices.Contains(s.Grants, open.Pattern):
		open.Approved = true
	case s.Brief.Headless:
		m.deny(open, textHeadlessDenied)
	default:
		open.Status = CallWants
		open.Until = m.now + s.Brief.Limits.ApprovalTime
		m.record(OpenApproval{
			Call: open.ID, Tool: open.Tool, Hash: open.Hash, Pattern: c.Pattern, Until: open.Until,
		})
	}
}

// patternKey is what a state keeps of a pattern.
func patternKey(tool, pattern string) string {
	if pattern == "" {
		return ""
	}
	return hash(tool, pattern)
}

// deny settles a call and ends the run when the model will not take no for an answer.
func (m *machine) deny(open *OpenCall, text string) {
	m.settle(open, CallDenied, text)
	if bump(&m.s.Denials, open.Hash) >= denialStop {
		m.halt(chat.KindMaxIterations, "denials")
	}
}

// decided takes in a person's decision. It counts once, and only for what the person was shown.
func (m *machine) decided(e Decided) error {
	c := m.s.Round.find(e.Call)
	switch {
	case c != nil && c.Hash == e.Hash && (c.Approved && e.Allow || c.Status == CallDenied && !e.Allow):
		return m.refuse(Duplicate, "call %s has been decided so", e.Call)
	case c == nil || c.Status != CallWants:
		return m.refuse(Conflict, "the approval of call %s is closed", e.Call)
	case c.Hash != e.Hash:
		return m.refuse(Conflict, "the approval of call %s is for another version of it", e.Call)
	case !e.Allow:
		m.record(CloseApproval{Call: c.ID, Status: ApprovalDenied, By: e.By})
		m.deny(c, textDenied)
		return nil
	}
	if e.Scope == "" || c.Pattern == "" {
		e.Scope = ScopeOnce
	}
	m.approve(c, e.Scope, e.By)
	if e.Scope == ScopeOnce {
		return nil
	}
	if len(m.s.Grants) < grantsKept && !slices.Contains(m.s.Grants, c.Pattern) {
		m.s.Grants = append(m.s.Grants, c.Pattern)
	}
	if e.Scope == ScopeChat {
		m.record(Grant{Call: c.ID})
	}
	for i := range m.s.Round.Calls {
		if other := &m.s.Round.Calls[i]; other.Status == CallWants && other.Pattern == c.Pattern {
			m.approve(other, e.Scope, e.By)
		}
	}
	return nil
}

func (m *machine) approve(c *OpenCall, scope Scope, by string) {
	c.Status = CallQueued
	c.Approved = true
	c.Until = 0
	m.record(CloseApproval{Call: c.ID, Status: ApprovalApproved, Scope: scope, By: by})
}

// expire closes the approvals and questions whose time has come.
func (m *machine) expire() {
	for i := range m.s.Round.Calls {
		c := &m.s.Round.Calls[i]
		if c.Until == 0 || c.Until > m.now || m.s.Phase != Working {
			continue
		}
		if c.Status == CallWants {
			m.record(CloseApproval{Call: c.ID, Status: ApprovalExpired})
			m.settle(c, CallTimedOut, textApprovalExpired)
		} else {
			m.order(WithdrawQuestion{Question: m.questionID(c)})
			m.unanswered(c, textAskExpired)
		}
	}
}
