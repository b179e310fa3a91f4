package sim

import (
	"fmt"

	"github.com/retinue-dev/retinue/internal/agent"
)

const (
	// drainSteps bounds how long a history may take to end once faults have stopped.
	drainSteps = 3000
	day        = 24 * 3_600_000
)

// schedule is one history: where its setting comes from, and the choices of each of its actions in
// turn. An action can be left out without changing the choices of the others.
type schedule struct {
	setting uint64
	actions []uint64
}

// draw makes the schedule of a seed.
func draw(seed uint64, buffer []uint64) schedule {
	c := newChance(seed)
	s := schedule{setting: c.next(), actions: buffer[:0]}
	for range 50 + c.n(100) {
		s.actions = append(s.actions, c.next())
	}
	return s
}

// play runs one history: a time of trouble, then a calm in which everything must end.
func play(s schedule, tell func(string, ...any)) (stats Stats, err error) {
	w := newWorld(newChance(s.setting))
	w.tell = tell
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	err = w.run(s.actions)
	w.stats.Histories = 1
	return w.stats, err
}

func (w *world) run(actions []uint64) error {
	w.legs = w.c.n(2) * (1 + w.c.n(12))
	w.root = w.addNode("c", nil)
	if _, err := w.step(w.root, agent.Begun{At: agent.At{At: w.now}, Brief: w.brief()}); err != nil {
		return err
	}
	w.speak("")
	for _, choices := range actions {
		w.c.state = choices
		w.now += int64(w.c.n(12))
		if err := w.act(); err != nil {
			return err
		}
	}
	w.calm = true
	if err := w.drain(); err != nil {
		return err
	}
	return w.verdict()
}

// brief is an orchestrator with small limits, so that they are reached.
func (w *world) brief() agent.Brief {
	l := agent.OrchestratorLimits()
	l.Slots = 1 + w.c.n(4)
	l.Agents = int64(2 + w.c.n(20))
	l.Iterations = 3 + w.c.n(6)
	l.Time = int64(5_000 + w.c.n(90_000))
	l.QuestionTime, l.ApprovalTime = 60_000, 60_000
	if w.c.odds(30) {
		l.Tokens = int64(500 + w.c.n(4000))
	}
	if w.c.odds(20) {
		l.Cost = int64(1000 + w.c.n(20_000))
	}
	tools := []string{"fetch", "read", "run", "write"}
	return agent.Brief{
		Conversation: "c", Agent: "c", Task: "c", Role: "main", Headless: w.c.odds(8), CanDelegate: true,
		Delegates: []string{"coder", "reader"},
		Authority: agent.Authority{Tools: tools, Write: !w.c.odds(5), Network: w.c.odds(50)}, Tools: tools, Limits: l,
		Model: agent.Model{MaxOutput: 60, Window: 1500, InputPrice: 3_000_000, OutputPrice: 15_000_000},
	}
}

// act lets one thing happen somewhere.
func (w *world) act() error {
	switch w.c.pick(50, 40, 5, 2, 3) {
	case 1:
		if n := w.anyBusy(); n != nil {
			return w.leg(n)
		}
	case 2:
		w.person()
		return nil
	case 3:
		return w.tick()
	case 4:
		if n := w.nodes[w.c.n(len(w.nodes))]; !n.killed {
			return w.crash(n)
		}
	default:
	}
	return w.something()
}

// something delivers mail, or else carries out an effect, or else lets time pass.
func (w *world) something() error {
	var buffer [64]int
	if ready := w.arrived(buffer[:0]); len(ready) > 0 {
		return w.deliver(ready[w.c.n(len(ready))])
	}
	if n := w.anyBusy(); n != nil {
		return w.leg(n)
	}
	return w.tick()
}

// anyBusy picks a host that has effects to carry out.
func (w *world) anyBusy() *node {
	var busy [32]*node
	count := 0
	for _, n := range w.nodes {
		if len(n.outbox) > 0 && !n.killed && count < len(busy) {
			busy[count] = n
			count++
		}
	}
	if count == 0 {
		return nil
	}
	return busy[w.c.n(count)]
}

// tick lets time pass to the next thing that is due, a wake-up or a piece of mail.
func (w *world) tick() error {
	next, who := int64(0), (*node)(nil)
	for _, n := range w.nodes {
		if at := n.state.Wake; at != 0 && !n.killed && (next == 0 || at < next) {
			next, who = at, n
		}
	}
	for i := range w.mail {
		if at := w.mail[i].due; at > w.now && (next == 0 || at < next) {
			next, who = at, nil
		}
	}
	if next == 0 {
		return nil
	}
	w.now = max(w.now, next)
	if who == nil {
		return nil
	}
	_, err := w.step(who, agent.Ticked{At: agent.At{At: w.now}})
	return err
}

// drain lets everything end, with nobody left to help.
func (w *world) drain() error {
	for range drainSteps {
		if len(w.mail) == 0 && w.anyBusy() == nil && w.asleep() {
			return nil
		}
		if err := w.something(); err != nil {
			return err
		}
	}
	return fmt.Errorf("liveness: still not at rest %d steps after the last fault", drainSteps)
}

func (w *world) asleep() bool {
	for _, n := range w.nodes {
		if n.state.Wake != 0 && !n.killed {
			return false
		}
	}
	return true
}

// verdict checks that the end of a history keeps all promises.
func (w *world) verdict() error {
	for _, n := range w.nodes {
		s := &n.state
		switch {
		case n.killed:
		case n.parent == nil && s.Phase != agent.Idle && s.Phase != agent.Done:
			return fmt.Errorf("liveness: the orchestrator ended %s", s.Phase)
		case n.parent != nil && s.Phase != agent.Done:
			return fmt.Errorf("liveness: %s never finished, it is %s", n.task, s.Phase)
		}
		if !n.killed && (len(s.Children) > 0 || len(s.Questions) > 0 || len(s.Sides) > 0 && s.Phase != agent.Done) {
			return fmt.Errorf("books: %s has %d children, %d questions and %d side turns open at the end",
				n.task, len(s.Children), len(s.Questions), len(s.Sides))
		}
		w.stats.ended(n)
	}
	if len(w.approvals) > 0 {
		return fmt.Errorf("books: the approval of call %s of %s stays open", w.approvals[0].call, w.approvals[0].node.task)
	}
	for key, times := range w.ran {
		if times > 1 {
			return fmt.Errorf("effects: %s ran %d times", key, times)
		}
	}
	return w.everyTaskEndedOnce()
}

// everyTaskEndedOnce: each enlisted task has one outcome that its parent took in.
func (w *world) everyTaskEndedOnce() error {
	for task := range w.enlisted {
		n := w.node(task)
		if n != nil && n.state.Phase == agent.Done && !n.killed {
			continue
		}
		if w.ended[task] == 0 && !w.orphaned(task) {
			return fmt.Errorf("outcomes: task %s has none", task)
		}
	}
	return nil
}

// orphaned reports whether a task went down with an ancestor that was terminated.
func (w *world) orphaned(task string) bool {
	for _, n := range w.nodes {
		if n.killed && under(task, n.state.Brief.Agent) {
			return true
		}
	}
	n := w.node(task)
	return n != nil && n.killed
}
