package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
)

// carry carries out the next effect of a host. The acknowledgement may get lost: then it is carried
// out again.
func (w *world) carry(n *node) error {
	e := n.outbox[0]
	if n.acked[e.Key()] {
		return fmt.Errorf("%s: %s was carried out before", n.task, e.Key())
	}
	if err := w.effect(n, e); err != nil {
		return err
	}
	if n.killed || len(n.outbox) == 0 {
		return nil
	}
	if !w.calm && w.c.odds(4) {
		w.say("%6d  %-14s %s is done, but the host saw an error", w.now, n.task, e.Key())
		w.stats.LostAcks++
		return nil
	}
	n.acked[e.Key()] = true
	n.outbox = n.outbox[1:]
	return nil
}

// leg carries out effects of one host in a row, as long as they need no engine, and handles their
// answers at once. In between the host may crash.
func (w *world) leg(n *node) error {
	if w.legs == 0 {
		return w.carry(n)
	}
	for range w.legs {
		if len(n.outbox) == 0 || n.killed {
			return nil
		}
		if e := n.outbox[0]; !e.Local() {
			return w.carry(n)
		}
		if err := w.carry(n); err != nil {
			return err
		}
		if err := w.answers(n); err != nil {
			return err
		}
		if !w.calm && w.c.odds(2) {
			return w.crash(n)
		}
	}
	return nil
}

// answers handles the mail that answers the effects which a leg has just carried out.
func (w *world) answers(n *node) error {
	for i := 0; i < len(w.mail); i++ {
		m := w.mail[i]
		if m.to != n || m.due > w.now || m.channel != 0 {
			continue
		}
		switch m.event.(type) {
		case agent.Replied, agent.ModelFailed, agent.Compacted, agent.ToolDone:
		default:
			continue
		}
		w.mail = slices.Delete(w.mail, i, i+1)
		if _, err := w.step(n, m.event); err != nil {
			return err
		}
		i = -1
	}
	return nil
}

// effect does in the world what an effect orders. Doing it twice is the same as once.
func (w *world) effect(n *node, effect agent.Effect) error {
	at := agent.At{At: w.now}
	switch e := effect.(type) {
	case agent.CallModel:
		w.callModel(n, e)
	case agent.AbortModel:
		w.abort(n, func(m agent.Event) agent.Event {
			if r, ok := m.(agent.Replied); ok && r.Turn == e.Turn {
				return agent.ModelFailed{At: at, Turn: e.Turn, Attempt: e.Attempt, Kind: chat.KindCancelled, Usage: r.Usage}
			}
			return nil
		})
	case agent.CallSide:
		w.callSide(n, e)
	case agent.RunTool:
		w.runTool(n, e)
	case agent.AbortTool:
		w.abort(n, func(m agent.Event) agent.Event {
			if d, ok := m.(agent.ToolDone); ok && d.Call == e.Call {
				return agent.ToolDone{At: at, Call: e.Call, Result: agent.ToolCancelled}
			}
			return nil
		})
	case agent.Enlist:
		w.enlisted[e.Brief.Task] = e.Brief
	case agent.StartChild:
		return w.startChild(n, e)
	case agent.StopChild:
		w.tellAgent(n, w.node(e.Task), agent.CancelRequested{At: at, ID: "parent", Reason: e.Reason, By: e.By})
	case agent.KillChild:
		w.kill(w.node(e.Task))
	case agent.EndTask:
		w.endTask(n, e.Task)
	case agent.Finish:
		w.finish(n, e)
	case agent.OpenApproval:
		w.openApproval(n, e)
	case agent.CloseApproval:
		w.approvals = slices.DeleteFunc(w.approvals, func(a approval) bool { return a.node == n && a.call == e.Call })
	case agent.Relay:
		if !slices.Contains(w.relayed, e.Question) {
			w.relayed = append(w.relayed, e.Question)
		}
	case agent.CloseQuestion:
		w.relayed = slices.DeleteFunc(w.relayed, func(q string) bool { return q == e.Question })
	case agent.TellParent:
		w.tellAgent(n, n.parent, agent.ChildWaited{At: at, Task: n.task, Reason: e.Reason})
	case agent.Ask:
		w.stats.Questions++
		w.tellAgent(n, w.root, agent.QuestionAsked{
			At: at, Question: e.Question, Hash: e.Hash, Relay: e.Relay,
		})
	case agent.WithdrawQuestion:
		w.tellAgent(n, w.root, agent.QuestionWithdrawn{At: at, Question: e.Question})
	case agent.Reply:
		w.sendOn(n, e.Agent, agent.Answered{At: at, Question: e.Question, By: e.By, Taint: e.Taint}, e.Seq)
	case agent.Correct:
		w.sendOn(n, e.Agent, agent.Corrected{At: at, Seq: e.Seq}, e.Seq)
	case agent.Append, agent.Settle, agent.Note, agent.Void, agent.EndTurn, agent.Grant:
	}
	return nil
}

// abort lets an answer that is still on its way be replaced, or not.
func (w *world) abort(n *node, replaced func(agent.Event) agent.Event) {
	for i := range w.mail {
		if w.mail[i].to != n {
			continue
		}
		if e := replaced(w.mail[i].event); e != nil && w.c.odds(70) {
			w.mail[i].event = e
			w.mail[i].due = min(w.mail[i].due, w.now+50)
		}
	}
}

// once posts the answer to an effect that is carried out for the first time, and the same answer
// again otherwise.
func (w *world) once(n *node, key string, delay int64, answer func() agent.Event) {
	key = n.task + " " + key
	e, done := w.executed[key]
	if !done {
		e = answer()
		w.executed[key] = e
	}
	w.post(n, e, delay)
}

// patience is how long an answer takes: mostly not long, sometimes past every deadline.
func (w *world) patience() int64 {
	if w.calm {
		return 0
	}
	switch w.c.pick(80, 15, 5) {
	case 0:
		return int64(w.c.n(20))
	case 1:
		return int64(w.c.n(3000))
	default:
		return int64(20_000 + w.c.n(100_000))
	}
}

// runTool runs a call. A call that must not be run twice is reported as indeterminate the second
// time.
func (w *world) runTool(n *node, e agent.RunTool) {
	key := n.task + " " + e.Key()
	if _, done := w.executed[key]; !done {
		w.ran[key]++
		if e.Edited {
			w.stats.Edited++
		}
	} else if !e.Class.Repeatable() {
		w.post(n, agent.ToolDone{At: agent.At{At: w.now}, Call: e.Call, Result: agent.ToolIndeterminate}, 5)
		return
	}
	results := []agent.ToolResult{agent.ToolOK, agent.ToolFailed, agent.ToolTimedOut}
	w.once(n, e.Key(), w.patience(), func() agent.Event {
		if w.calm {
			return agent.ToolDone{At: agent.At{At: w.now}, Call: e.Call, Result: agent.ToolOK}
		}
		return agent.ToolDone{
			At: agent.At{At: w.now}, Call: e.Call, Result: results[w.c.pick(85, 12, 3)], Tokens: int64(w.c.n(40)),
			Waited: int64(w.c.pick(9, 1) * 30), Taint: w.stranger(),
		}
	})
}

func (w *world) startChild(n *node, e agent.StartChild) error {
	brief, ok := w.enlisted[e.Task]
	if !ok {
		return fmt.Errorf("%s: child %s is started before it is recorded", n.task, e.Task)
	}
	at := agent.At{At: w.now}
	if w.node(e.Task) != nil {
		w.post(n, agent.ChildStarted{At: at, Task: e.Task}, 0)
		return nil
	}
	if !w.calm && w.c.odds(3) {
		w.once(n, e.Key(), 5, func() agent.Event {
			w.ended[e.Task]++
			return agent.ChildEnded{
				At: at, Task: e.Task, Outcome: agent.Outcome{Status: chat.StatusFailed, Kind: chat.KindSpawnFailed},
			}
		})
		return nil
	}
	if _, failed := w.executed[n.task+" "+e.Key()]; failed {
		w.once(n, e.Key(), 5, nil)
		return nil
	}
	w.stats.Children++
	if brief.Depth > 1 {
		w.stats.Grandchildren++
	}
	brief.Limits.Slots, brief.Limits.Time = e.Slots, e.Time
	child := w.addNode(e.Task, n)
	w.tellAgent(n, child, agent.Begun{At: at, Brief: brief, From: w.lastTurn(brief.Agent), Tokens: 10})
	w.post(n, agent.ChildStarted{At: at, Task: e.Task}, w.patience())
	return nil
}

// lastTurn is the turn from which a resumed agent continues.
func (w *world) lastTurn(id string) int {
	last := 0
	for _, n := range w.nodes {
		if n.state.Brief.Agent == id {
			last = max(last, n.state.Turn)
		}
	}
	return last
}

// kill ends a host and all below it, without another word.
func (w *world) kill(n *node) {
	if n == nil {
		return
	}
	for _, other := range w.nodes {
		for up := other; up != nil; up = up.parent {
			if up == n && !other.killed {
				other.killed = true
				other.outbox = nil
				w.stats.Killed++
				w.approvals = slices.DeleteFunc(w.approvals, func(a approval) bool { return a.node == other })
			}
		}
	}
}

// endTask notes that a parent closed a child's books itself.
func (w *world) endTask(n *node, task string) {
	key := n.task + " end " + task
	if _, done := w.executed[key]; !done {
		w.executed[key] = nil
		w.ended[task]++
	}
}

func (w *world) finish(n *node, e agent.Finish) {
	at := agent.At{At: w.now}
	for _, seq := range e.Unread {
		w.post(w.root, agent.Undelivered{At: at, Seq: seq}, 0)
	}
	if n.parent == nil {
		return
	}
	w.once(n.parent, "ended "+n.task, w.patience(), func() agent.Event {
		return agent.ChildEnded{At: at, Task: n.task, Outcome: e.Outcome, Tokens: int64(w.c.n(50))}
	})
}

func (w *world) openApproval(n *node, e agent.OpenApproval) {
	key := n.task + " " + e.Key()
	if _, done := w.executed[key]; !done {
		w.executed[key] = nil
		w.stats.Approvals++
		w.approvals = append(w.approvals, approval{node: n, call: e.Call, tool: e.Tool, hash: e.Hash})
	}
}

// sendOn brings words to an agent, or returns a person's words if the agent is gone.
func (w *world) sendOn(from *node, id string, e agent.Event, seq int64) {
	to := w.agentNode(id)
	if to != nil && !to.killed && to.state.Phase != agent.Done {
		w.tellAgent(from, to, e)
		return
	}
	if seq != 0 {
		w.post(w.root, agent.Undelivered{At: agent.At{At: w.now}, Seq: seq}, 0)
	}
}

// under reports whether a task is below an agent.
func under(task, ancestor string) bool { return strings.HasPrefix(task, ancestor+"/") }
