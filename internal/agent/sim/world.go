package sim

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/retinue-dev/retinue/internal/agent"
)

// world is everything outside the core in one history: the hosts of all agents, the mail between
// them, the model, the tools, the journal and the people.
type world struct {
	c    *chance
	now  int64
	root *node
	// nodes are the agents' hosts in the order they were made.
	nodes []*node
	mail  []mail
	// channels numbers the pairs of agents whose mail keeps its order.
	channels map[[2]*node]int

	enlisted  map[string]agent.Brief
	ended     map[string]int
	executed  map[string]agent.Event
	ran       map[string]int
	approvals []approval
	relayed   []string
	// inherited is the taint that tasks begin with, and told that of the agent that answered a
	// question.
	inherited, told map[string]reading
	said            int64
	requests        int
	// calm means that faults and people have stopped: everything that is open must now end.
	calm bool
	// legs is how many effects a host carries out in one go, answers included, before it looks at
	// its mail again; zero is one effect at a time, with every answer by mail.
	legs int
	// model makes up the replies, if they are not to be drawn.
	model func(*node, agent.CallModel) agent.Replied
	// tell prints what happens, when somebody wants to know.
	tell func(format string, args ...any)

	stats Stats
}

// node is the host of one task: its state, and its rows as a journal would hold them.
type node struct {
	task   string
	parent *node
	state  agent.State
	log    []agent.Event
	outbox []agent.Effect
	acked  map[string]bool
	scribe *Scribe
	// shown are the calls that a person saw, and verdicts their decisions.
	shown    map[string]string
	verdicts map[string]agent.Decided
	// calls are those that the model made, and read are the strangers that the agent has read.
	calls map[string]agent.Call
	read  reading
	// killed hosts take nothing in and carry nothing out.
	killed bool
}

// mail is an event on its way to a host.
type mail struct {
	to    *node
	event agent.Event
	// channel is not zero for mail that keeps its order; serial tells the order.
	channel int
	// due is when the mail arrives at the earliest.
	due int64
}

type approval struct {
	node *node
	call string
	tool string
	hash string
}

func newWorld(c *chance) *world {
	return &world{
		c: c, now: 1000, channels: map[[2]*node]int{}, enlisted: map[string]agent.Brief{},
		ended: map[string]int{}, executed: map[string]agent.Event{}, ran: map[string]int{},
		inherited: map[string]reading{}, told: map[string]reading{},
	}
}

func (w *world) say(format string, args ...any) {
	if w.tell != nil {
		w.tell(format, args...)
	}
}

func (w *world) addNode(task string, parent *node) *node {
	n := &node{
		task: task, parent: parent, acked: map[string]bool{}, scribe: NewScribe(parent != nil),
		shown: map[string]string{}, verdicts: map[string]agent.Decided{}, calls: map[string]agent.Call{}, read: reading{},
	}
	w.nodes = append(w.nodes, n)
	return n
}

func (w *world) node(task string) *node {
	for _, n := range w.nodes {
		if n.task == task {
			return n
		}
	}
	return nil
}

// agentNode finds the host that now speaks for an agent: the last task it was given.
func (w *world) agentNode(id string) *node {
	for _, n := range slices.Backward(w.nodes) {
		if n.state.Brief.Agent == id {
			return n
		}
	}
	return nil
}

// post sends an event in no particular order.
func (w *world) post(to *node, e agent.Event, delay int64) {
	if to != nil {
		w.mail = append(w.mail, mail{to: to, event: e, due: w.now + delay})
	}
}

// tellAgent sends an event from one agent to another. Events of one sender arrive in order.
func (w *world) tellAgent(from, to *node, e agent.Event) {
	if to == nil {
		return
	}
	pair := [2]*node{from, to}
	if w.channels[pair] == 0 {
		w.channels[pair] = len(w.channels) + 1
	}
	w.mail = append(w.mail, mail{to: to, event: e, channel: w.channels[pair], due: w.now})
}

// arrived lists the mail that may be delivered now: due, and first of its channel.
func (w *world) arrived(buffer []int) []int {
	var blocked [64]bool
	for i := range w.mail {
		m := &w.mail[i]
		if m.channel != 0 && m.channel < len(blocked) {
			if blocked[m.channel] {
				continue
			}
			blocked[m.channel] = true
		}
		if m.due <= w.now {
			buffer = append(buffer, i)
		}
	}
	return buffer
}

// deliver hands one piece of mail to its host. Mail may be delivered twice, and mail that came too
// early is kept.
func (w *world) deliver(i int) error {
	m := w.mail[i]
	twice := !w.calm && w.c.odds(6)
	if !twice {
		w.mail = slices.Delete(w.mail, i, i+1)
	}
	refused, err := w.step(m.to, m.event)
	if err != nil {
		return err
	}
	if twice {
		w.stats.Duplicated++
	}
	if refused != nil && (refused.Kind == agent.Gap || refused.Kind == agent.Full) && !twice {
		m.due = w.now + 20
		w.mail = append(w.mail, m)
	}
	return nil
}

// step hands an event to a host and checks everything that must hold.
func (w *world) step(n *node, e agent.Event) (*agent.Refusal, error) {
	if n.killed {
		return nil, nil
	}
	next, effects, err := agent.Step(n.state, e)
	if err != nil {
		refused, ok := err.(*agent.Refusal) //nolint:errorlint // Step returns it bare, and this loop is hot
		if !ok {
			return nil, fmt.Errorf("%s: %s: %w", n.task, agent.EventName(e), err)
		}
		w.say("%6d  %-14s %T refused: %v", w.now, n.task, e, refused)
		w.stats.refused(refused)
		return refused, nil
	}
	w.stats.Events++
	w.say("%6d  %-14s %T -> %s %s", w.now, n.task, e, next.Phase, keys(effects))
	if err := Check(n.state, e, next, effects); err != nil {
		return nil, fmt.Errorf("%s: %w", n.task, err)
	}
	if err := n.scribe.Write(e, effects); err != nil {
		return nil, fmt.Errorf("%s: after %s: %w", n.task, agent.EventName(e), err)
	}
	if err := n.faithful(e, effects); err != nil {
		return nil, fmt.Errorf("%s: after %s: %w", n.task, agent.EventName(e), err)
	}
	if err := w.untainted(n, e, next, effects); err != nil {
		return nil, fmt.Errorf("%s: after %s: %w", n.task, agent.EventName(e), err)
	}
	if _, tick := e.(agent.Ticked); !tick && w.stats.Events%3 == 0 {
		if _, _, err := agent.Step(next, e); err == nil {
			return nil, fmt.Errorf("%s: a second %s was taken in", n.task, agent.EventName(e))
		}
	}
	n.state = next
	n.log = append(n.log, e)
	n.outbox = append(n.outbox, effects...)
	return nil, nil
}

func keys(effects []agent.Effect) string {
	var out []string
	for _, e := range effects {
		out = append(out, e.Key())
	}
	return strings.Join(out, " ")
}

// crash loses everything a host had in memory. Its records must give back the same state, now
// and then through JSON, and the same effects; those not known to be done are carried out again.
func (w *world) crash(n *node) error {
	w.stats.Crashes++
	w.say("%6d  %-14s crashes and replays %d events", w.now, n.task, len(n.log))
	var s agent.State
	var effects []agent.Effect
	for _, e := range n.log {
		next, more, err := agent.Step(s, e)
		if err != nil {
			return fmt.Errorf("%s: replay refused %s: %w", n.task, agent.EventName(e), err)
		}
		s = next
		effects = append(effects, more...)
	}
	if !reflect.DeepEqual(s, n.state) {
		return fmt.Errorf("%s: replay gave another state", n.task)
	}
	if w.stats.Crashes%3 == 1 { // JSON is most of the cost of a history
		back, err := throughJSON(s)
		if err != nil {
			return fmt.Errorf("%s: %w", n.task, err)
		}
		s = back
	}
	n.state = s
	var left []agent.Effect
	for _, e := range effects {
		if !n.acked[e.Key()] {
			left = append(left, e)
		}
	}
	if keys(left) != keys(n.outbox) {
		return fmt.Errorf("%s: replay left %s to do instead of %s", n.task, keys(left), keys(n.outbox))
	}
	n.outbox = left
	return nil
}
