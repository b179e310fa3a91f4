package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/retinue-dev/retinue/internal/chat"
)

const (
	// recentKept is how many tasks of the turn an agent remembers, to notice one that it asks for
	// again.
	recentKept = 64
	// noticesKept bounds the background tasks that are open or not yet told to the model.
	noticesKept = 128
	// resultCap is the most, in bytes, that one child's report takes in its parent's transcript.
	resultCap = 16 << 10
	// resultFloor is the least that a report is cut to.
	resultFloor = 1 << 10
	// tokenBytes is how many bytes a token stands for in estimates.
	tokenBytes = 4
)

// Recent is a task that was spawned in this turn. Tokens is the size of its report, once it has
// ended.
type Recent struct {
	Hash   string `json:"h"`
	Task   string `json:"t"`
	Tokens int64  `json:"n,omitempty"`
}

// Notice is a background task that has ended, and the size of its report.
type Notice struct {
	Task   string `json:"t"`
	Tokens int64  `json:"n,omitempty"`
}

// spawn checks a whole call before anything of it starts, then enlists its children. They start
// when the call is reached and a place is free.
func (m *machine) spawn(open *OpenCall, c Call, roles []RoleSpec) {
	specs, problems := m.vet(c.Items, roles)
	if len(problems) > 0 {
		m.settleFailed(open, "Nothing was started. "+strings.Join(problems, " "))
		return
	}
	var items []Item
	var fresh []*RoleSpec
	prior := make([]string, len(c.Items))
	for i, it := range c.Items {
		if prior[i] = m.earlierTask(it.Hash, open.ID); prior[i] == "" {
			items = append(items, it)
			fresh = append(fresh, specs[i])
		}
	}
	share, why := m.share(items, fresh)
	if why != "" {
		m.settleFailed(open, "Nothing was started: "+why+".")
		return
	}
	next := 0
	for i, it := range c.Items {
		task := prior[i]
		if task == "" {
			task = m.enlist(open, i, it, fresh[next], share, next)
			next++
		}
		open.Tasks = append(open.Tasks, task)
		if i := m.s.childIndex(task); i >= 0 && !it.Background {
			m.edit(i).Waiters++
			open.Wait = append(open.Wait, task)
		}
	}
}

// vet finds the roles of all items and the fault of each.
func (m *machine) vet(items []Item, roles []RoleSpec) ([]*RoleSpec, []string) {
	b := &m.s.Brief
	if len(items) == 0 {
		return nil, []string{"The call names no task."}
	}
	if len(items) > b.Limits.PerCall {
		return nil, []string{fmt.Sprintf("%d tasks are more than the %d that one call may have.", len(items), b.Limits.PerCall)}
	}
	specs := make([]*RoleSpec, len(items))
	var problems []string
	background := m.backgroundLoad()
	for i, it := range items {
		spec := findRole(roles, it.Role)
		why := m.itemProblem(it, spec)
		if it.Background {
			if background++; why == "" && background > noticesKept {
				why = fmt.Sprintf("%d background tasks are open or unread; wait for some", noticesKept)
			}
		}
		if why != "" {
			problems = append(problems, fmt.Sprintf("Task %d: %s.", i+1, why))
		}
		specs[i] = spec
	}
	return specs, problems
}

func findRole(roles []RoleSpec, name string) *RoleSpec {
	for i := range roles {
		if roles[i].Name == name {
			return &roles[i]
		}
	}
	return nil
}

// itemProblem is why one task cannot be started, or nothing.
func (m *machine) itemProblem(it Item, spec *RoleSpec) string {
	b := &m.s.Brief
	switch {
	case spec == nil:
		return fmt.Sprintf("there is no role %q; you may delegate to %s", it.Role, strings.Join(b.Delegates, ", "))
	case !slices.Contains(b.Delegates, it.Role):
		return fmt.Sprintf("you may not delegate to %q, only to %s", it.Role, strings.Join(b.Delegates, ", "))
	case it.Blank:
		return "the task is empty"
	case it.Problem != "":
		return it.Problem
	case it.Background && !m.s.orchestrator():
		return "only the orchestrator may start background tasks; leave background out to wait for the result"
	case spec.Model.Window > 0 && it.Tokens+spec.Model.MaxOutput > spec.Model.Window:
		return fmt.Sprintf("the task takes about %d tokens, too long for the %s's model", it.Tokens, it.Role)
	case len(spec.Tools) > 0 && len(meet(spec.Tools, b.Authority.Meet(spec.Authority).Tools)) == 0:
		return fmt.Sprintf("none of the %s's tools may be passed on", it.Role)
	case it.Isolation != "" && it.Isolation != IsolationShared && it.Isolation != IsolationWorktree:
		return fmt.Sprintf("isolation must be %s or %s", IsolationWorktree, IsolationShared)
	case it.Isolation == IsolationShared && spec.Isolation == IsolationWorktree:
		return fmt.Sprintf("the %s works in a tree of its own; leave isolation out", it.Role)
	case it.Agent != "" && m.busyAgent(it.Agent):
		return fmt.Sprintf("agent %s is still at work", it.Agent)
	}
	if err := b.delegate(m.s.taskID("0.0.0"), it, spec).check(); err != nil {
		return fmt.Sprintf("the role %s cannot be used: %s", it.Role, err.Message)
	}
	return ""
}

func (m *machine) busyAgent(agent string) bool {
	for i := range m.s.Children {
		if m.s.childAgent(m.s.Children[i]) == agent {
			return true
		}
	}
	return false
}

func (m *machine) backgroundLoad() int {
	n := len(m.s.Notices)
	for i := range m.s.Children {
		if m.s.Children[i].Background {
			n++
		}
	}
	return n
}

// earlierTask finds a task of this turn that another call has asked for in the same words.
func (m *machine) earlierTask(hash, call string) string {
	for _, r := range m.s.Recent {
		if hash != "" && r.Hash == hash && chat.CallOf(r.Task) != chat.CallID(call) {
			return r.Task
		}
	}
	return ""
}

// enlist records a child, reserves its grant, and puts it in line.
func (m *machine) enlist(open *OpenCall, item int, it Item, spec *RoleSpec, share shares, n int) string {
	s := m.s
	short := chat.CallID(open.ID).Child(item)
	brief := s.Brief.delegate(s.taskID(short), it, spec)
	brief.Limits.Agents = share.agents[n]
	brief.Limits.Tokens = share.tokens[n]
	brief.Limits.Cost = share.cost[n]
	brief.Taint = s.Taint.With(it.Taint)
	child := Child{
		ID: short, Role: spec.Name, State: ChildQueued, Background: it.Background, Time: brief.Limits.Time,
		Agents: share.agents[n], Tokens: share.tokens[n], Cost: share.cost[n],
		Delegates: brief.Limits.Agents > 0,
	}
	if it.Agent != "" {
		child.Agent = it.Agent
	}
	s.Agents.hold(1 + child.Agents)
	s.Tokens.hold(child.Tokens)
	s.Cost.hold(child.Cost)
	s.Children = append(s.Children, &child)
	s.Spawned++
	if len(s.Recent) >= recentKept {
		s.Recent = slices.Delete(s.Recent, 0, 1)
	}
	s.Recent = append(s.Recent, Recent{Hash: it.Hash, Task: short})
	m.record(Enlist{Call: open.ID, Item: item, Brief: brief})
	return short
}

// delegate is the brief of a child: its role's, narrowed to the parent's authority and remaining
// lease.
func (b Brief) delegate(task string, it Item, spec *RoleSpec) Brief {
	limits := spec.Limits.or(DefaultLimits())
	limits.Depth = min(b.Limits.Depth, limits.Depth)
	limits.Iterations = min(limits.Iterations, b.Limits.Iterations)
	if it.Iterations > 0 {
		limits.Iterations = min(limits.Iterations, it.Iterations)
	}
	// A child lets go before its parent's patience ends.
	limits.Grace = max(1, min(limits.Grace, b.Limits.Grace*4/5))
	child := Brief{
		Conversation: b.Conversation, Agent: task, Task: task, Parent: b.Agent, Depth: b.Depth + 1,
		Role: spec.Name, RoleHash: spec.Hash, Headless: b.Headless,
		CanDelegate: spec.CanDelegate, Delegates: spec.Delegates, CanAsk: spec.CanAsk,
		Immediate: spec.Immediate, FailUnanswered: spec.FailUnanswered, Evidence: spec.Evidence, Shaped: spec.Shaped,
		Authority: b.Authority.Meet(spec.Authority), Limits: limits, Model: spec.Model,
	}
	child.Tools = meet(spec.Tools, child.Authority.Tools)
	child.Tree = b.Tree
	if it.Isolation == IsolationWorktree || spec.Isolation == IsolationWorktree {
		child.Tree, child.From = task, b.Tree
	}
	if it.Agent != "" {
		child.Agent, child.Resumed = it.Agent, true
	}
	return child
}

// gather settles a spawn call once it waits for no child. Its result is their reports in spawn
// order.
func (m *machine) gather(c *OpenCall) {
	if c.Status != CallSpawned || len(c.Wait) > 0 {
		return
	}
	s := m.s
	c.Status = CallCompleted
	forget(&s.Failures, c.Tool)
	settle := Settle{Call: c.ID, Status: CallCompleted, Cap: m.reportCap(len(c.Tasks))}
	for _, task := range c.Tasks {
		settle.Tasks = append(settle.Tasks, s.taskID(task))
		s.Context += noteTokens
		if s.child(task) == nil {
			s.Context += min(m.reportTokens(task), settle.Cap/tokenBytes)
			s.Notices = emptyToNil(slices.DeleteFunc(s.Notices, func(n Notice) bool { return n.Task == task }))
		}
	}
	m.record(settle)
}

// reportTokens is the size of the report of a task that has ended, as far as it is remembered.
func (m *machine) reportTokens(task string) int64 {
	for _, r := range m.s.Recent {
		if r.Task == task {
			return r.Tokens
		}
	}
	return resultCap / tokenBytes
}

// reportCap is how many bytes each of n reports may take: at most resultCap, and together at most
// half of the rest of the context window.
func (m *machine) reportCap(n int) int64 {
	window := m.s.Brief.Model.Window
	if window == 0 {
		return resultCap
	}
	free := max(0, window-m.s.Context) * tokenBytes / 2
	return max(resultFloor, min(resultCap, free/int64(n)))
}
