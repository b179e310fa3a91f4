package sim

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/retinue-dev/retinue/internal/agent"
)

// Check tests one accepted step for what must be true of every step. It returns the first
// breach.
func Check(before agent.State, e agent.Event, after agent.State, effects []agent.Effect) error {
	for _, law := range []func(agent.State, agent.State, []agent.Effect) error{
		terminal, order, conservation, inSpawnOrder, waits, exits, leases, authority, fence, firstReason, grows,
	} {
		if err := law(before, after, effects); err != nil {
			return fmt.Errorf("after %s: %w", agent.EventName(e), err)
		}
	}
	return nil
}

// grows: a source that an agent has read stays on its list, and its children begin with that list.
func grows(before, after agent.State, effects []agent.Effect) error {
	for _, source := range before.Taint {
		if !slices.Contains(after.Taint, source) {
			return fmt.Errorf("taint: %s %s was dropped", source.Kind, source.Name)
		}
	}
	for _, effect := range effects {
		e, ok := effect.(agent.Enlist)
		for _, source := range before.Taint {
			if ok && !slices.Contains(e.Brief.Taint, source) {
				return fmt.Errorf("taint: child %s begins without %s %s", e.Brief.Task, source.Kind, source.Name)
			}
		}
	}
	return nil
}

// terminal: nothing happens after the end, and the end is announced exactly once.
func terminal(before, after agent.State, effects []agent.Effect) error {
	if before.Phase == agent.Done {
		return fmt.Errorf("terminal: a finished agent accepted an event")
	}
	finishes := 0
	for _, effect := range effects {
		if _, ok := effect.(agent.Finish); ok {
			finishes++
		}
	}
	want := 0
	if after.Phase == agent.Done {
		want = 1
	}
	if finishes != want || (after.Outcome != nil) != (want == 1) {
		return fmt.Errorf("one outcome: phase %s with %d Finish", after.Phase, finishes)
	}
	if want == 1 && !after.Outcome.Status.Terminal() {
		return fmt.Errorf("one outcome: status %s is not terminal", after.Outcome.Status)
	}
	if want == 1 && after.Brief.Shaped && after.Outcome.Completion == agent.Implicit {
		return errors.New("shape: plain text was taken for a result that must fit a schema")
	}
	if want == 1 && after.Brief.Evidence && !after.Outcome.Failed() && after.Outcome.Evidence == 0 {
		return errors.New("evidence: the run succeeded without any")
	}
	return nil
}

// order: everything is recorded before anything is done.
func order(_, _ agent.State, effects []agent.Effect) error {
	acted := ""
	for _, effect := range effects {
		if effect.Record() && acted != "" {
			return fmt.Errorf("persist precedes IO: %s comes after %s", effect.Key(), acted)
		}
		if !effect.Record() {
			acted = effect.Key()
		}
	}
	return nil
}

// conservation: spawned = open + settled, and neither count ever falls.
func conservation(before, after agent.State, _ []agent.Effect) error {
	if after.Spawned != after.Settled+len(after.Children) {
		return fmt.Errorf("conservation: %d spawned, %d settled, %d open",
			after.Spawned, after.Settled, len(after.Children))
	}
	if after.Settled < before.Settled || after.Spawned < before.Spawned {
		return fmt.Errorf("monotone settlement: settled %d to %d, spawned %d to %d",
			before.Settled, after.Settled, before.Spawned, after.Spawned)
	}
	return nil
}

// inSpawnOrder: a call's own children are reported in the order it asked for them.
func inSpawnOrder(_, _ agent.State, effects []agent.Effect) error {
	for _, effect := range effects {
		e, ok := effect.(agent.Settle)
		if !ok {
			continue
		}
		last := -1
		for _, task := range e.Tasks {
			at := strings.LastIndexByte(task, '.')
			item, err := strconv.Atoi(task[at+1:])
			if !strings.HasSuffix(task[:at], "/"+e.Call) {
				continue // a task that an earlier call asked for
			}
			if err != nil || item <= last {
				return fmt.Errorf("order of results: call %s reports %v", e.Call, e.Tasks)
			}
			last = item
		}
	}
	return nil
}

// waits: no agent waits for an empty set, or for a missing child.
func waits(_, after agent.State, _ []agent.Effect) error {
	open := 0
	if after.Round != nil {
		for i := range after.Round.Calls {
			c := &after.Round.Calls[i]
			if !c.Status.Settled() {
				open++
			}
			if c.Status == agent.CallSpawned && len(c.Wait) == 0 {
				return fmt.Errorf("no wait on an empty set: call %s waits for no child", c.ID)
			}
			for _, task := range c.Wait {
				if !hasChild(after, task) {
					return fmt.Errorf("no lost child: call %s waits for %s", c.ID, task)
				}
			}
		}
	}
	switch after.Phase {
	case agent.Working:
		if open == 0 {
			return fmt.Errorf("no wait on an empty set: working without an open call")
		}
	case agent.Idle, agent.Thinking, agent.Done:
		if after.Round != nil {
			return fmt.Errorf("no open round while %s", after.Phase)
		}
	case agent.Unborn, agent.Stopping:
	}
	return nil
}

func hasChild(s agent.State, short string) bool {
	for i := range s.Children {
		if s.Children[i].ID == short {
			return true
		}
	}
	return false
}

// exits: every state that is not final has a way out.
func exits(_, after agent.State, _ []agent.Effect) error {
	if unsorted(after) {
		return fmt.Errorf("lost wake-up: a message waits to be sorted and nobody sorts")
	}
	if unheard(after) {
		return fmt.Errorf("lost wake-up: a question is neither looked up nor put before a person")
	}
	switch after.Phase {
	case agent.Thinking:
		if after.Model == nil {
			return fmt.Errorf("exit: thinking without a model call")
		}
		if after.Wake == 0 || (after.Model.RetryAt != 0 && after.Wake > after.Model.RetryAt) {
			return fmt.Errorf("exit: thinking without a deadline")
		}
	case agent.Working:
		if after.Wake == 0 && !boundedByChild(after) {
			return fmt.Errorf("exit: working without a deadline")
		}
		if stranded(after) {
			return fmt.Errorf("lost wake-up: a child waits although there is a place")
		}
	case agent.Stopping:
		if after.Stop == nil || after.Wake == 0 || after.Wake > after.Stop.Until {
			return fmt.Errorf("exit: stopping without a bound")
		}
	case agent.Idle:
		if after.Model != nil || after.InTurn {
			return fmt.Errorf("exit: idle in the middle of a turn")
		}
		if q := after.Inbox.Queue; len(q) > 0 && q[0].State == agent.UnreadReady && !after.Closing {
			return fmt.Errorf("lost wake-up: idle with message %d unread", q[0].Seq)
		}
		if !after.Closing && stranded(after) {
			return fmt.Errorf("lost wake-up: a child waits although there is a place")
		}
	case agent.Unborn, agent.Done:
		if after.Wake != 0 {
			return fmt.Errorf("exit: %s with a wake-up", after.Phase)
		}
	}
	return nil
}

// unsorted reports a message that waits although no side turn is sorting.
func unsorted(s agent.State) bool {
	if s.Phase == agent.Stopping || s.Phase == agent.Done {
		return false
	}
	waiting := slices.ContainsFunc(s.Inbox.Queue, func(l agent.Unread) bool { return l.State != agent.UnreadReady })
	return waiting && !slices.ContainsFunc(s.Sides, func(d agent.Side) bool { return d.Kind == agent.SideRoute })
}

// unheard reports a question that no agent handles although a side turn could be started. The
// question of a child that is being stopped only waits to be withdrawn.
func unheard(s agent.State) bool {
	if s.Phase == agent.Stopping || s.Phase == agent.Done || len(s.Sides) > 7 {
		return false
	}
	for _, q := range s.Questions {
		if !q.Relayed && !q.Resolving {
			return true
		}
	}
	return false
}

// boundedByChild: a child that has started has a deadline of its own, and its end is the exit.
func boundedByChild(s agent.State) bool {
	for i := range s.Children {
		if s.Children[i].State != agent.ChildQueued {
			return true
		}
	}
	return false
}

// stranded reports a child that could be started and is not.
func stranded(s agent.State) bool {
	free, ready := s.Brief.Limits.Slots, false
	for i := range s.Children {
		c := s.Children[i]
		if c.State == agent.ChildQueued {
			ready = ready || reached(s, c)
		} else if c.Waiting == "" {
			free -= c.Slots
		}
	}
	if s.Brief.Depth > 0 && s.Round != nil {
		for i := range s.Round.Calls {
			if s.Round.Calls[i].Status == agent.CallRunning {
				free--
				break
			}
		}
	}
	return ready && free > 0
}

func reached(s agent.State, child *agent.Child) bool {
	if s.Round == nil {
		return true
	}
	for i := range s.Round.Calls {
		c := &s.Round.Calls[i]
		if len(child.ID) > len(c.ID) && child.ID[:len(c.ID)+1] == c.ID+"." {
			return c.Status != agent.CallQueued
		}
	}
	return true
}

// leases: each reservation belongs to something open, and reserved plus spent stays within the
// grant.
func leases(_, after agent.State, _ []agent.Effect) error {
	var tokens, cost, agents int64
	if after.Model != nil {
		tokens, cost = after.Model.HoldTokens, after.Model.HoldCost
	}
	for _, d := range after.Sides {
		tokens += d.HoldTokens
		cost += d.HoldCost
	}
	for i := range after.Children {
		c := after.Children[i]
		tokens += c.Tokens
		cost += c.Cost
		agents += 1 + c.Agents
	}
	for _, l := range []struct {
		name string
		agent.Lease
		held int64
	}{{"tokens", after.Tokens, tokens}, {"cost", after.Cost, cost}, {"agents", after.Agents, agents}} {
		if l.Held != l.held || l.Spent < 0 {
			return fmt.Errorf("lease of %s: %d held for what needs %d, %d spent", l.name, l.Held, l.held, l.Spent)
		}
		if l.Grant > 0 && l.Held+l.Spent > l.Grant {
			return fmt.Errorf("lease of %s: %d held and %d spent of %d", l.name, l.Held, l.Spent, l.Grant)
		}
	}
	return nil
}

// authority: a child holds no more than its parent, and its limits nest.
func authority(_, after agent.State, effects []agent.Effect) error {
	parent := after.Brief
	for _, effect := range effects {
		switch e := effect.(type) {
		case agent.Enlist:
			b := e.Brief
			if !parent.Authority.Covers(b.Authority) || !b.Authority.Covers(agent.Authority{Tools: b.Tools}) {
				return fmt.Errorf("authority: child %s holds more than its parent", b.Task)
			}
			if b.Depth != parent.Depth+1 || b.Depth > parent.Limits.Depth || b.Limits.Depth > parent.Limits.Depth {
				return fmt.Errorf("authority: child %s at depth %d of %d", b.Task, b.Depth, parent.Limits.Depth)
			}
			if b.Limits.Iterations > parent.Limits.Iterations || b.Limits.Grace >= max(2, parent.Limits.Grace) {
				return fmt.Errorf("authority: the limits of child %s do not nest", b.Task)
			}
			if (parent.Limits.Tokens > 0 && b.Limits.Tokens == 0) || (parent.Limits.Cost > 0 && b.Limits.Cost == 0) {
				return fmt.Errorf("authority: child %s is unbounded and its parent is not", b.Task)
			}
		case agent.StartChild:
			if !e.Background && e.Time > max(1, parent.Limits.Time-after.Clock.Spent) {
				return fmt.Errorf("authority: child %s has more time than its parent", e.Task)
			}
		default:
		}
	}
	return nil
}

// fence: once an agent stops it starts nothing, and a model is never called beside an open round.
func fence(before, after agent.State, effects []agent.Effect) error {
	for _, effect := range effects {
		switch e := effect.(type) {
		case agent.CallModel:
			if after.Phase != agent.Thinking || after.Model == nil || after.Model.Turn != e.Turn {
				return fmt.Errorf("fence: model call %d while %s", e.Turn, after.Phase)
			}
		case agent.RunTool:
			if after.Phase != agent.Working {
				return fmt.Errorf("fence: tool %s while %s", e.Call, after.Phase)
			}
		case agent.CallSide:
			if after.Phase == agent.Stopping || after.Phase == agent.Done {
				return fmt.Errorf("fence: side turn %d while %s", e.Side, after.Phase)
			}
		case agent.StartChild:
			if after.Phase == agent.Stopping || after.Phase == agent.Done || before.Phase == agent.Stopping && after.Stop != nil {
				return fmt.Errorf("fence: child %s started while %s", e.Task, after.Phase)
			}
		default:
		}
	}
	return nil
}

// firstReason: the first reason to stop decides how it ends.
func firstReason(before, after agent.State, effects []agent.Effect) error {
	if before.Stop == nil || (before.Brief.Depth == 0 && !before.InTurn) {
		return nil
	}
	kind := before.Stop.Kind
	if after.Stop != nil && after.Stop.Kind != kind {
		return fmt.Errorf("first reason: %s became %s", kind, after.Stop.Kind)
	}
	if after.Phase == agent.Done && !after.Closing && after.Outcome.Kind != kind {
		return fmt.Errorf("first reason: stopped for %s, ended as %s", kind, after.Outcome.Kind)
	}
	for _, effect := range effects {
		end, ok := effect.(agent.EndTurn)
		if ok && end.Kind != kind {
			return fmt.Errorf("first reason: stopped for %s, the turn ended as %s", kind, end.Kind)
		}
		if ok {
			return nil // the next record is of another turn
		}
	}
	return nil
}
