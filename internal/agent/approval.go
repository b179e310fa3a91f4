package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/retinue-dev/retinue/internal/chat"
)

const (
	// denialStop is how often the same call may be denied before the run ends.
	denialStop = 3
	// grantsKept bounds the approvals that a task remembers.
	grantsKept = 16
)

// DenialReason is why a call was not carried out that could have been.
type DenialReason string

// The reasons. The journal keeps them with the result, so that nobody has to read the text.
const (
	// DeniedByPerson and DeniedByPolicy are a no; nobody tries again as it is.
	DeniedByPerson DenialReason = "by_person"
	DeniedByPolicy DenialReason = "by_policy"
	// DeniedHeadless means that the run has no person to decide, DeniedExpired that nobody decided
	// in time, DeniedCancelled that the run ended first.
	DeniedHeadless  DenialReason = "headless"
	DeniedExpired   DenialReason = "expired"
	DeniedCancelled DenialReason = "cancelled"
	// DeniedChanged means that the call is no longer the approved one, DeniedUnapproved that no
	// approval of it is on record.
	DeniedChanged    DenialReason = "changed"
	DeniedUnapproved DenialReason = "unapproved"
)

// text is the message for the model.
func (r DenialReason) text() string {
	switch r {
	case DeniedByPerson:
		return textDenied
	case DeniedByPolicy:
		return textPolicyDenied
	case DeniedHeadless:
		return textHeadlessDenied
	case DeniedExpired:
		return textApprovalExpired
	case DeniedCancelled:
		return textCancelledBefore
	case DeniedChanged:
		return textChanged
	case DeniedUnapproved:
		return textUnapproved
	}
	return ""
}

// Bound identifies everything that decides the effect of an approved call: the tool and its
// arguments, the tool's description of its surroundings, the role with its rules, and the caller.
// The person decides on it, and the host computes it again just before the call runs.
func Bound(b Brief, tool, args, binding string) string {
	canonical, ok := canonicalObject(args)
	if !ok {
		canonical = args
	}
	var body strings.Builder
	for _, part := range []string{tool, canonical, binding, b.RoleHash, b.Conversation, b.Agent, b.Task} {
		body.WriteString(strconv.Itoa(len(part)) + ":" + part)
	}
	sum := sha256.Sum256([]byte(body.String()))
	return hex.EncodeToString(sum[:16])
}

// Permits reports whether the brief gives its agent a tool that needs such authority.
func (b Brief) Permits(tool string, writes, network bool) bool {
	return hasTool(b.Tools, tool) && b.Authority.Covers(Authority{Tools: []string{tool}, Write: writes, Network: network})
}

// Asks reports whether a person is to be asked about the call, unless an earlier approval covers
// it.
func (c Call) Asks() bool { return c.needsApproval() && c.Policy != PolicyDeny }

// needsApproval reports whether a person must say yes first: the configured rules decide, and
// without a rule a person is asked about each call that writes or reaches the network.
func (c Call) needsApproval() bool {
	switch c.Policy {
	case PolicyAllow:
		return false
	case PolicyAsk, PolicyDeny:
		return true
	case PolicyUnset:
		return c.Writes || c.Network
	}
	return true
}

// seekApproval lets a call queue, asks a person about it, or denies it.
func (m *machine) seekApproval(open *OpenCall, c Call) {
	switch {
	case c.Policy == PolicyDeny:
		m.deny(open, DeniedByPolicy)
	case !c.needsApproval(), m.granted(open):
		m.stillGood(open)
	default:
		m.askPerson(open, c.Pattern)
	}
}

// askPerson shows a call to a person, if there is one. A person who decides about a barred call is
// told why, and decides about that call only.
func (m *machine) askPerson(open *OpenCall, pattern string) {
	if m.s.Brief.Headless {
		m.deny(open, DeniedHeadless)
		return
	}
	open.Status = CallWants
	open.Until = m.now + m.s.Brief.Limits.ApprovalTime
	ask := OpenApproval{Call: open.ID, Tool: open.Tool, Hash: open.shown(), Pattern: pattern, Until: open.Until}
	if m.barred(open) {
		open.Pattern, ask.Pattern, ask.Taint = "", "", m.s.Taint
	}
	m.record(ask)
}

// grantMark stands between the key of a pattern and the call whose approval covers it.
const grantMark = "@"

// granted lets a call queue whose pattern a person has approved for the task. A grant that does not
// name its call is none for a call that is bound: the leg that runs that one would find no
// approval.
func (m *machine) granted(open *OpenCall) bool {
	for _, grant := range m.s.Grants {
		pattern, call, _ := strings.Cut(grant, grantMark)
		if pattern != "" && pattern == open.Pattern && (call == "") == (open.Bound == "") {
			open.Approved, open.Cover, open.By = true, CoverGrant, call
			return true
		}
	}
	return false
}

// grant remembers the approval of a call's pattern.
func (m *machine) grant(c *OpenCall) {
	key := c.Pattern
	if c.Bound != "" {
		key += grantMark + c.ID
	}
	known := slices.ContainsFunc(m.s.Grants, func(g string) bool {
		pattern, call, _ := strings.Cut(g, grantMark)
		return pattern == c.Pattern && (call == "") == (c.Bound == "")
	})
	if !known && len(m.s.Grants) < grantsKept {
		m.s.Grants = append(m.s.Grants, key)
	}
}

// shown is the call as the person sees it.
func (c *OpenCall) shown() string {
	switch {
	case c.Shown != "":
		return c.Shown
	case c.Bound != "":
		return c.Bound
	}
	return c.Hash
}

// patternKey is the form in which a state keeps a pattern.
func patternKey(tool, pattern string) string {
	if pattern == "" {
		return ""
	}
	return hash(tool, pattern)
}

// deny settles a call and ends the run when the model will not take no for an answer.
func (m *machine) deny(open *OpenCall, reason DenialReason) {
	m.settleDenied(open, CallDenied, reason)
	if bump(&m.s.Denials, open.Hash) >= denialStop {
		m.halt(chat.KindMaxIterations, "denials")
	}
}

// toolDenied handles a call that was stopped just before it ran. A person may be asked again about
// a call that has changed; a rule's no is one like any other.
func (m *machine) toolDenied(c *OpenCall, reason DenialReason) {
	if reason == DeniedByPolicy && m.s.Phase == Working {
		m.deny(c, reason)
		return
	}
	m.settleDenied(c, CallDenied, reason)
}

// decided handles a person's decision. It counts once, and only for the call that the person saw.
func (m *machine) decided(e Decided) error {
	c := m.s.Round.find(e.Call)
	switch {
	case c != nil && c.shown() == e.Hash && c.decided(e):
		return m.refuse(Duplicate, "call %s has been decided so", e.Call)
	case c == nil || c.Status != CallWants:
		return m.refuse(Conflict, "the approval of call %s is closed", e.Call)
	case c.shown() != e.Hash:
		return m.refuse(Conflict, "the approval of call %s is for another version of it", e.Call)
	case e.Allow && c.Bound != "" && c.Until <= m.now:
		// The tick that denies it is on its way. Calls of older builds are not bound, and were let by.
		return m.refuse(Conflict, "the approval of call %s has expired", e.Call)
	case e.Edited != nil:
		return m.decidedEdited(c, e)
	case !e.Allow:
		m.record(CloseApproval{Call: c.ID, Status: ApprovalDenied, By: e.By})
		m.deny(c, DeniedByPerson)
		return nil
	}
	if e.Scope == "" || c.Pattern == "" {
		e.Scope = ScopeOnce
	}
	m.approve(c, e.Scope, e.By)
	if e.Scope == ScopeOnce {
		return nil
	}
	m.grant(c)
	if e.Scope == ScopeChat {
		m.record(Grant{Call: c.ID})
	}
	for i := range m.s.Round.Calls {
		if other := &m.s.Round.Calls[i]; m.covers(c, other) {
			m.approve(other, e.Scope, e.By)
			other.Cover = CoverBeside
			if c.Bound != "" {
				other.By = c.ID
			}
		}
	}
	return nil
}

// covers reports whether the approval of a call, wider than that call, lets another one through
// that waits.
func (m *machine) covers(c, other *OpenCall) bool {
	return other.Status == CallWants && other.Pattern == c.Pattern && !m.barred(other)
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
			m.settleDenied(c, CallTimedOut, DeniedExpired)
		} else {
			m.order(WithdrawQuestion{Question: m.questionID(c)})
			m.unanswered(c, textAskExpired)
		}
	}
}
