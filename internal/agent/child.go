package agent

import (
	"slices"
	"strings"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Child is an open child: enlisted, and its outcome not yet in.
type Child struct {
	// ID is the child's task without the parent's part: turn, call and item.
	ID string `json:"id"`
	// Agent is set when the child is a resumed agent, whose id is older than its task.
	Agent string     `json:"a,omitempty"`
	Role  string     `json:"r"`
	State ChildState `json:"s"`
	// Waiting says that only people are awaited in the child's subtree, and for what.
	Waiting    chat.WaitReason `json:"w,omitempty"`
	Background bool            `json:"b,omitempty"`
	// Apart means that the child has a run of its own. One in the background has one too.
	Apart bool `json:"ap,omitempty"`
	// Waiters counts how often calls of the open round wait for the child.
	Waiters int `json:"n,omitempty"`
	// Delegates says that the child may have children of its own and can use more than one slot.
	Delegates bool  `json:"d,omitempty"`
	Slots     int   `json:"sl,omitempty"`
	Time      int64 `json:"t,omitempty"`
	// Agents, Tokens and Cost are held for the child until it ends.
	Agents int64 `json:"ag,omitempty"`
	Tokens int64 `json:"tk,omitempty"`
	Cost   int64 `json:"co,omitempty"`
	// Stop is set once the child has been told to stop, or will be as soon as it runs.
	Stop  CancelReason `json:"st,omitempty"`
	By    string       `json:"by,omitempty"`
	Until int64        `json:"u,omitempty"`
}

// ChildState is how far a child has come.
type ChildState string

// The states of an open child.
const (
	// ChildQueued waits for its call to be reached and for a slot.
	ChildQueued ChildState = "queued"
	// ChildStarting has been handed to the engine.
	ChildStarting ChildState = "starting"
	// ChildRunning is known to run.
	ChildRunning ChildState = "running"
)

func (c *Child) started() bool { return c.State != ChildQueued }

// Runs reports whether a task is that of a child which is known to run.
func (s *State) Runs(task string) bool {
	short, ok := chat.AgentPath(task).Below(chat.AgentPath(s.Brief.Agent))
	c := s.child(short)
	return ok && c != nil && c.State == ChildRunning
}

// Running is the tasks of the children that are known to run.
func (s *State) Running() map[string]bool {
	out := map[string]bool{}
	for i := range s.Children {
		if c := s.Children[i]; c.State == ChildRunning {
			out[s.taskID(c.ID)] = true
		}
	}
	return out
}

// Open is the tasks of children that have been started and have not ended, with the agents that do
// them.
func (s *State) Open() map[string]string {
	out := map[string]string{}
	for i := range s.Children {
		if c := s.Children[i]; c.started() {
			out[s.taskID(c.ID)] = s.childAgent(c)
		}
	}
	return out
}

// child finds an open child by its short id. It is not to be changed.
func (s *State) child(short string) *Child {
	if i := s.childIndex(short); i >= 0 {
		return s.Children[i]
	}
	return nil
}

// childIndex is where an open child stands in the list, less than zero if it is none.
func (s *State) childIndex(short string) int {
	return slices.IndexFunc(s.Children, func(c *Child) bool { return c.ID == short })
}

// edit replaces a child by a copy, which the step may change.
func (m *machine) edit(i int) *Child {
	c := *m.s.Children[i]
	m.s.Children[i] = &c
	return &c
}

func (s *State) childAgent(c *Child) string {
	if c.Agent != "" {
		return c.Agent
	}
	return s.taskID(c.ID)
}

// awaited finds the open child that an event is about, for the step to change.
func (m *machine) awaited(task string) (*Child, error) {
	short, ok := chat.AgentPath(task).Below(chat.AgentPath(m.s.Brief.Agent))
	if !ok {
		return nil, m.refuse(Unknown, "task %s is not of this agent", task)
	}
	i := m.s.childIndex(short)
	if i < 0 {
		return nil, m.notAwaited(short)
	}
	return m.edit(i), nil
}

// launch hands queued children to the engine, oldest first, while there are free slots. Children
// whose call has not been reached are passed over, and nothing is launched once the agent is
// stopping.
func (m *machine) launch() {
	s := m.s
	if s.Phase == Stopping || s.Phase == Done || s.Closing {
		return
	}
	waiting := 0
	for i := range s.Children {
		if m.launchable(s.Children[i]) {
			waiting++
		}
	}
	if waiting == 0 {
		return
	}
	free := s.freeSlots()
	for i := range s.Children {
		if free <= 0 || !m.launchable(s.Children[i]) {
			continue
		}
		c := m.edit(i)
		c.Slots = 1
		if c.Delegates {
			c.Slots = max(1, free/waiting)
		}
		free -= c.Slots
		waiting--
		c.State = ChildStarting
		time := c.Time
		if !c.Background {
			time = max(1, min(time, s.Brief.Limits.Time-m.elapsed()))
		}
		m.order(StartChild{
			Task: s.taskID(c.ID), Agent: s.childAgent(c), Slots: c.Slots, Time: time, Background: c.Background,
		})
	}
}

func (m *machine) launchable(c *Child) bool {
	if c.State != ChildQueued {
		return false
	}
	open := m.s.Round.find(callOf(c.ID))
	return open == nil || open.Status != CallQueued
}

// callOf is the call that spawned a task.
func callOf(short string) string { return string(chat.CallOf(short)) }

// freeSlots is how many more agents may be put to work below this one. An agent lends its own slot
// to its children while it only waits for them; the orchestrator has none to lend.
func (s *State) freeSlots() int {
	free := s.Brief.Limits.Slots
	for i := range s.Children {
		if c := s.Children[i]; c.started() && c.Waiting == "" {
			free -= c.Slots
		}
	}
	if !s.orchestrator() && s.Phase == Working && s.toolRunning() {
		free--
	}
	return free
}

func (m *machine) childStarted(e ChildStarted) error {
	c, err := m.awaited(e.Task)
	if err != nil {
		return err
	}
	switch c.State {
	case ChildQueued:
		return m.refuse(Unknown, "task %s has not been started", e.Task)
	case ChildRunning:
		return m.refuse(Duplicate, "task %s runs", e.Task)
	case ChildStarting:
	}
	c.State, c.Apart = ChildRunning, e.Apart
	if c.Stop != "" {
		m.order(StopChild{Task: e.Task, Reason: c.Stop, By: c.By})
	}
	return nil
}

func (m *machine) childWaited(e ChildWaited) error {
	c, err := m.awaited(e.Task)
	if err != nil {
		return err
	}
	switch e.Reason {
	case "", chat.WaitApproval, chat.WaitUserInput:
	default:
		return m.refuse(Invalid, "unknown reason to wait %q", e.Reason)
	}
	if !c.started() || c.Waiting == e.Reason {
		return m.refuse(Duplicate, "nothing has changed for task %s", e.Task)
	}
	c.Waiting = e.Reason
	return nil
}

// childEnded handles a child's one outcome. It counts the same while the agent is stopping.
func (m *machine) childEnded(e ChildEnded) error {
	c, err := m.awaited(e.Task)
	if err != nil {
		return err
	}
	if !c.started() {
		return m.refuse(Unknown, "task %s has not been started", e.Task)
	}
	m.s.Subtree = m.s.Subtree.Plus(e.Outcome.Subtree)
	m.s.Progress.Evidence += e.Outcome.Evidence
	m.taint(e.Outcome.Reported())
	m.remember(c.ID, e.Outcome.Failed(), e.Tokens)
	// The child may have changed what the agent looked at before; asking for children again is
	// still a loop.
	m.s.Repeats = emptyToNil(slices.DeleteFunc(m.s.Repeats, func(t Tally) bool {
		return !strings.HasPrefix(t.Key, spawnMark)
	}))
	m.settleChild(*c, settlement{
		agents: 1 + e.Outcome.Agents, tokens: e.Outcome.Tokens, cost: e.Outcome.Cost, report: e.Tokens,
	})
	return nil
}

// settlement is the charge for a child when it ends: agents, tokens and cost; and the size of its
// report.
type settlement struct {
	agents, tokens, cost, report int64
}

// settleChild closes a child's books. It takes the child off the open ones, returns what the child
// did not use, and wakes the calls that waited for it.
func (m *machine) settleChild(c Child, end settlement) {
	s := m.s
	s.Children = emptyToNil(slices.DeleteFunc(s.Children, func(o *Child) bool { return o.ID == c.ID }))
	s.Settled++
	s.Agents.settle(1+c.Agents, end.agents)
	s.Tokens.settle(c.Tokens, end.tokens)
	s.Cost.settle(c.Cost, end.cost)
	if s.Round != nil && c.Waiters > 0 {
		for i := range s.Round.Calls {
			call := &s.Round.Calls[i]
			call.Wait = emptyToNil(without(call.Wait, c.ID))
			m.gather(call)
		}
	}
	if c.Background && c.Waiters == 0 {
		s.Notices = append(s.Notices, Notice{Task: c.ID, Tokens: end.report})
	}
	agent := s.childAgent(&c)
	s.Askers = emptyToNil(slices.DeleteFunc(s.Askers, func(a Asker) bool { return below(a.Agent, agent) }))
	m.dropQuestions(func(q Question) bool { return below(asker(q.ID), agent) })
}

// remember keeps the size of a child's report. A task that failed may be asked for again in the
// same words.
func (m *machine) remember(short string, failed bool, tokens int64) {
	s := m.s
	i := slices.IndexFunc(s.Recent, func(r Recent) bool { return r.Task == short })
	switch {
	case i < 0:
	case failed:
		s.Recent[i].Hash, s.Recent[i].Tokens = "", tokens
	default:
		s.Recent[i].Tokens = tokens
	}
}

// without copies a list and leaves one entry out: calls share nothing with the state before the
// step.
func without(list []string, gone string) []string {
	var out []string
	for _, v := range list {
		if v != gone {
			out = append(out, v)
		}
	}
	return out
}

// stopChild tells a started child, which the step may change, to stop as soon as it runs.
func (m *machine) stopChild(c *Child, reason CancelReason, by string) {
	if c.Stop != "" {
		return
	}
	c.Stop, c.By = reason, by
	c.Until = m.now + m.s.Brief.Limits.Grace
	if c.State == ChildRunning {
		m.order(StopChild{Task: m.s.taskID(c.ID), Reason: reason, By: by})
	}
}

// dropChild ends a queued child that will never run. It has cost nothing.
func (m *machine) dropChild(c Child, reason CancelReason, by string) {
	kind := chat.KindCancelled
	m.record(EndTask{
		Task:    m.s.taskID(c.ID),
		Outcome: Outcome{Status: kind.Status(), Kind: kind, Reason: string(reason), By: by},
	})
	m.remember(c.ID, true, 0)
	m.settleChild(c, settlement{})
}

// loseChild closes the books on a child that did not stop in time. Its use is unknown, so
// everything reserved for it counts as spent.
func (m *machine) loseChild(short string) {
	s := m.s
	c := *s.child(short)
	task := s.taskID(short)
	kind := c.Stop.kind()
	m.record(EndTask{
		Task: task,
		Outcome: Outcome{
			Status: kind.Status(), Kind: kind, Reason: "terminated", By: c.By, Agents: c.Agents, Tokens: c.Tokens, Cost: c.Cost,
		},
	})
	m.order(KillChild{Task: task})
	m.remember(c.ID, true, 0)
	m.settleChild(c, settlement{agents: 1 + c.Agents, tokens: c.Tokens, cost: c.Cost})
}

// childCancelRequested stops one child and the agents below it. The agent itself continues.
func (m *machine) childCancelRequested(e ChildCancelRequested) error {
	c, err := m.awaited(e.Task)
	switch {
	case err != nil:
		return m.refuse(Conflict, "task %s is not open", e.Task)
	case c.Stop != "":
		return m.refuse(Duplicate, "task %s is stopping", e.Task)
	case c.started():
		m.stopChild(c, CancelUser, e.By)
	default:
		m.dropChild(*c, CancelUser, e.By)
	}
	return nil
}
