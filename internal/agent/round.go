package agent

import (
	"fmt"
	"slices"

	"github.com/retinue-dev/retinue/internal/chat"
)

const (
	// repeatWarn and repeatStop count identical calls without a change in between.
	repeatWarn = 3
	repeatStop = 5
	// failureStop counts failures of one tool in a row.
	failureStop = 10
	// malformedStop counts replies in a row with arguments that cannot be used.
	malformedStop = 3
	// spawnMark stands before the keys of spawn calls among the repeats.
	spawnMark = "spawn/"
	// tallies bounds each list of counts.
	tallies = 8
)

// openRound notes the calls of a reply. Those beyond the limit are refused at once.
func (m *machine) openRound(e Replied) {
	s := m.s
	if len(e.Calls) == 0 {
		return
	}
	s.Round = &Round{Turn: e.Turn, Total: len(e.Calls)}
	if s.Phase != Stopping {
		s.Phase = Working
	}
	for i, c := range e.Calls {
		if i >= s.Brief.Limits.Calls {
			s.Context += noteTokens
			m.record(Settle{
				Call: callID(e.Turn, i), Status: CallFailed,
				Text: fmt.Sprintf(textTooManyCalls, s.Brief.Limits.Calls),
			})
			continue
		}
		s.Round.Calls = append(s.Round.Calls, OpenCall{
			ID: callID(e.Turn, i), Tool: c.Tool, Kind: c.Kind, Status: CallQueued, Class: c.Class,
			Writes: c.Writes, Network: c.Network, Sink: c.Sink, Hash: c.Hash, Pattern: patternKey(c.Tool, c.Pattern), Bound: c.Bound,
		})
	}
}

// admitAll decides about each call of the round that has just been opened.
func (m *machine) admitAll(e Replied) {
	calls := e.Calls[:len(m.s.Round.Calls)]
	if m.submitted(calls) || m.looping(calls) {
		return
	}
	malformed := false
	for i := range calls {
		m.admit(&m.s.Round.Calls[i], calls[i], e.Roles)
		malformed = malformed || calls[i].Problem != ""
	}
	if !malformed {
		m.s.Progress.Malformed = 0
	} else if m.s.Progress.Malformed++; m.s.Progress.Malformed >= malformedStop {
		m.halt(chat.KindMaxIterations, "malformed")
	}
}

// admit refuses a call, hands it to the code that decides about its kind, or lets it queue.
func (m *machine) admit(open *OpenCall, c Call, roles []RoleSpec) {
	if open.Status.Settled() || m.s.Phase != Working {
		return
	}
	if why := m.objection(c); why != "" {
		m.settleFailed(open, why)
		return
	}
	switch c.Kind {
	case CallSpawn, CallResume:
		m.spawn(open, c, roles)
	case CallAsk:
		m.ask(open, c)
	case CallReply:
		m.replyFromTurn(open, c)
	case CallTool:
		m.seekApproval(open, c)
	case CallSubmit, CallSubmitError:
	}
}

// objection is why a call is not carried out, or nothing. It does not depend on the offered tools.
func (m *machine) objection(c Call) string {
	b := &m.s.Brief
	switch {
	case m.s.orchestrator() && c.Kind.alone(), !m.s.orchestrator() && c.Kind == CallReply,
		c.Kind == CallTool && !c.Known:
		return fmt.Sprintf(textUnknownTool, c.Tool)
	case c.Kind.spawns() && !b.CanDelegate:
		return textNoDelegation
	case c.Kind.spawns() && b.Depth+1 > b.Limits.Depth:
		return fmt.Sprintf(textTooDeep, b.Limits.Depth)
	case c.Kind == CallAsk && !b.CanAsk:
		return textCannotAsk
	case c.Kind == CallTool && !hasTool(Offer(*m.s, TurnNormal), c.Tool):
		return fmt.Sprintf(textNotOffered, c.Tool)
	case c.Problem != "":
		return fmt.Sprintf(textMalformed, c.Problem)
	case c.Writes && !b.Authority.Write:
		return fmt.Sprintf(textReadOnly, c.Tool)
	case c.Network && !b.Authority.Network:
		return fmt.Sprintf(textNoNetwork, c.Tool)
	}
	return ""
}

// looping counts identical calls, warns about them, and stops before anything of the round is
// started.
func (m *machine) looping(calls []Call) bool {
	stop := false
	for _, c := range calls {
		stop = m.repeated(c) || stop
	}
	if stop {
		m.skipAll(CallSkipped, textLooping)
		m.halt(chat.KindMaxIterations, "loop")
	}
	return stop
}

// repeated counts a call, warns about one that is made again and again, and reports whether it has
// been made too often.
func (m *machine) repeated(c Call) bool {
	if c.Hash == "" || c.Kind.alone() {
		return false
	}
	s, key := m.s, c.Hash
	if c.Kind.spawns() {
		key = spawnMark + c.Hash
	}
	n := bump(&s.Repeats, key)
	if n >= repeatWarn && len(s.Round.Notes) == 0 {
		s.Round.Notes = append(s.Round.Notes, fmt.Sprintf(textRepeating, c.Tool, n))
	}
	return n >= repeatStop
}

// schedule starts every call of the round whose turn has come: reads together, writes one after
// another and after everything before them. Children do not hold up the calls that follow.
func (m *machine) schedule() {
	if m.s.Phase != Working {
		return
	}
	running, earlier, writes := 0, false, false
	for i := range m.s.Round.Calls {
		c := &m.s.Round.Calls[i]
		if c.Status == CallQueued && m.s.Phase == Working && !writes && (!c.Writes || !earlier) && running < m.s.Brief.Limits.Parallel {
			m.start(c)
		}
		if c.Status == CallRunning {
			running++
		}
		if !c.Status.Settled() && c.Status != CallSpawned {
			earlier = true
			writes = writes || c.Writes
		}
	}
}

func (m *machine) start(c *OpenCall) {
	if c.Kind.spawns() {
		c.Status = CallSpawned
		m.gather(c)
		return
	}
	if !m.stillGood(c) {
		return
	}
	c.Status = CallRunning
	m.order(RunTool{
		Call: c.ID, Tool: c.Tool, Class: c.Class, Hash: c.Hash, Approved: c.Approved, Bound: c.Bound, By: c.By, Edited: c.edited(),
	})
}

// toolDone handles the end of a call.
func (m *machine) toolDone(e ToolDone) error {
	s := m.s
	c := s.Round.find(e.Call)
	if c == nil || c.Status != CallRunning {
		return m.notAwaited(e.Call)
	}
	if !e.Result.valid() || (e.Result == ToolDenied) != (e.Reason.text() != "") {
		return m.refuse(Invalid, "unknown tool result %q %q", e.Result, e.Reason)
	}
	// Calls that stood in a queue side by side lost the time once.
	m.forgive(e.Waited - s.Round.Waited)
	s.Round.Waited = max(s.Round.Waited, e.Waited)
	s.Context += e.Tokens
	s.Progress.ToolCalls++
	s.Progress.Evidence += e.Facts
	m.taint(e.Taint)
	switch e.Result {
	case ToolOK:
		c.Status = CallCompleted
		forget(&s.Failures, c.Tool)
		if c.Writes {
			keepOnly(&s.Repeats, c.Hash)
		}
	case ToolFailed:
		c.Status = CallFailed
		m.countFailure(c.Tool)
	case ToolCancelled:
		m.settle(c, CallCancelled, orMaybe(c, textCancelled, textMayHaveHappened))
	case ToolTimedOut:
		m.settle(c, CallTimedOut, orMaybe(c, textTimedOut, textTimedOutWrite))
		m.countFailure(c.Tool)
	case ToolDenied:
		m.toolDenied(c, e.Reason)
	case ToolIndeterminate:
		m.settleUnknown(c)
		m.countFailure(c.Tool)
	}
	return nil
}

func orMaybe(c *OpenCall, plain, maybe string) string {
	if c.Writes {
		return maybe
	}
	return plain
}

// notAwaited refuses the end of a call that is not running.
func (m *machine) notAwaited(call string) error {
	if turn := chat.CallID(call).Turn(); turn > m.s.Turn || turn <= 0 {
		return m.refuse(Unknown, "no call %q", call)
	}
	return m.refuse(Late, "call %s is not awaited", call)
}

// settle gives a call the one result that no tool produced.
func (m *machine) settle(c *OpenCall, status CallStatus, text string) {
	m.settleAs(c, Settle{Status: status, Text: text})
}

// settleDenied is settle for a call that could have been carried out.
func (m *machine) settleDenied(c *OpenCall, status CallStatus, reason DenialReason) {
	m.settleAs(c, Settle{Status: status, Reason: reason, Text: reason.text()})
}

// settleUnknown ends a call that may or may not have happened.
func (m *machine) settleUnknown(c *OpenCall) {
	m.settleAs(c, Settle{Status: CallFailed, Text: textIndeterminate, Unknown: true})
}

func (m *machine) settleAs(c *OpenCall, e Settle) {
	c.Status, c.Until, e.Call, e.Edited = e.Status, 0, c.ID, c.edited()
	m.s.Context += noteTokens
	m.record(e)
}

func (m *machine) settleFailed(c *OpenCall, text string) {
	m.settle(c, CallFailed, text)
	m.countFailure(c.Tool)
}

func (m *machine) countFailure(tool string) {
	if bump(&m.s.Failures, tool) >= failureStop && m.s.Phase == Working {
		m.halt(chat.KindMaxIterations, "failures")
	}
}

// skipAll settles every call of the round that has no result yet.
func (m *machine) skipAll(status CallStatus, text string) {
	if m.s.Round == nil {
		return
	}
	for i := range m.s.Round.Calls {
		if c := &m.s.Round.Calls[i]; !c.Status.Settled() {
			m.settle(c, status, text)
		}
	}
}

// closeRound puts the results into the transcript, in the order of the calls.
func (m *machine) closeRound(messages []int64) {
	r := m.s.Round
	if r == nil {
		return
	}
	m.append(Append{Turn: r.Turn, Results: r.Total, Reads: messages, Notes: r.Notes})
	m.s.Round = nil
}

// bump counts one more of key, and forgets the oldest when the list is full.
func bump(list *[]Tally, key string) int {
	for i := range *list {
		if (*list)[i].Key == key {
			(*list)[i].N++
			return (*list)[i].N
		}
	}
	if len(*list) >= tallies {
		*list = slices.Delete(*list, 0, 1)
	}
	*list = append(*list, Tally{Key: key, N: 1})
	return 1
}

func forget(list *[]Tally, key string) {
	*list = emptyToNil(slices.DeleteFunc(*list, func(t Tally) bool { return t.Key == key }))
}

func keepOnly(list *[]Tally, key string) {
	*list = emptyToNil(slices.DeleteFunc(*list, func(t Tally) bool { return t.Key != key }))
}

// emptyToNil keeps a state the same through JSON, which drops empty lists.
func emptyToNil[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}
