package agent

import (
	"slices"
	"strings"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Brief is given to an agent once and stays: its name and role, its tools and its limits. The
// parent's core computes it at spawn, the journal stores it, and nothing changes it afterwards.
type Brief struct {
	Conversation string `json:"conversation"`
	// Agent identifies the transcript; a sub-agent's id is its parent's id, a slash and the place
	// in the parent's transcript that spawned it, so that every ancestor can be read off it.
	Agent string `json:"agent"`
	// Task identifies this activation. It equals Agent the first time and differs when an agent is
	// resumed.
	Task   string `json:"task"`
	Parent string `json:"parent,omitempty"`
	Depth  int    `json:"depth,omitempty"`
	Role   string `json:"role"`
	// RoleHash names the snapshot of the role that this run uses, even after a change of the role's
	// file.
	RoleHash string `json:"role_hash,omitempty"`
	// Headless means that the run has no person: approvals are denied and questions declined at
	// once.
	Headless bool `json:"headless,omitempty"`
	// Tree names the tree of files that the agent works in, after the task that it was made for; empty
	// is the workspace itself. From is the tree that its own was copied from, if it has one.
	Tree string `json:"tree,omitempty"`
	From string `json:"from,omitempty"`
	// Resumed marks a new task on an agent that has finished an earlier one.
	Resumed bool `json:"resumed,omitempty"`

	CanDelegate bool     `json:"can_delegate,omitempty"`
	Delegates   []string `json:"delegates,omitempty"`
	CanAsk      bool     `json:"can_ask,omitempty"`
	// Immediate takes plain text as the result without a nudge to call submit_result first.
	Immediate bool `json:"immediate,omitempty"`
	// FailUnanswered ends the run when a question expires; otherwise the question is declined.
	FailUnanswered bool `json:"fail_unanswered,omitempty"`
	// Evidence means that a result counts only if the run did something that leaves a fact.
	Evidence bool `json:"evidence,omitempty"`
	// Shaped means that a result must fit a schema, which the host checks. So plain text is none.
	Shaped bool `json:"shaped,omitempty"`

	// Authority lists the tools that the agent holds and may pass on; Tools lists those that it is
	// offered itself.
	Authority Authority `json:"authority"`
	Tools     []string  `json:"tools,omitempty"`
	Limits    Limits    `json:"limits"`
	Model     Model     `json:"model"`
	// Taint is the agent's first taint: its parent's and, if it is resumed, its own.
	Taint Taint `json:"taint,omitempty"`
}

// Isolated reports whether the agent has a worktree of its own. Its changes come back as a patch.
func (b Brief) Isolated() bool { return b.Tree != "" && b.Tree == b.Task }

// Isolation is whether an agent works where its parent does or in a tree of its own.
type Isolation string

// The isolations. Empty means the role's, and in a role it means shared.
const (
	IsolationShared   Isolation = "shared"
	IsolationWorktree Isolation = "worktree"
)

// briefBytes is the most that a brief may take as JSON, apart from its taint: it is a part of every
// state.
const briefBytes = 3 << 10

// Authority is a set of permissions. It only ever narrows on the way down.
type Authority struct {
	// Tools is sorted. An entry that ends in * stands for every tool whose name begins with the
	// rest.
	Tools   []string `json:"tools,omitempty"`
	Write   bool     `json:"write,omitempty"`
	Network bool     `json:"network,omitempty"`
}

// Covers reports whether every permission of b is also in a.
func (a Authority) Covers(b Authority) bool {
	for _, t := range b.Tools {
		if !hasTool(a.Tools, t) {
			return false
		}
	}
	return (a.Write || !b.Write) && (a.Network || !b.Network)
}

// Meet is the authority that both hold.
func (a Authority) Meet(b Authority) Authority {
	return Authority{Tools: meet(a.Tools, b.Tools), Write: a.Write && b.Write, Network: a.Network && b.Network}
}

// hasTool reports whether a list has a tool, or everything that a pattern stands for.
func hasTool(tools []string, tool string) bool {
	name := strings.TrimSuffix(tool, "*")
	for _, t := range tools {
		stem, pattern := strings.CutSuffix(t, "*")
		if t == tool || (pattern && strings.HasPrefix(name, stem)) {
			return true
		}
	}
	return false
}

// meet keeps the names that are in both lists, sorted and once each.
func meet(a, b []string) []string {
	var out []string
	for _, t := range a {
		if hasTool(b, t) {
			out = append(out, t)
		}
	}
	for _, t := range b {
		if hasTool(a, t) {
			out = append(out, t)
		}
	}
	return sorted(out)
}

// Limits bound one agent. Times are in milliseconds. A zero in a role's limits means the default;
// zero Tokens or Cost means no limit; zero Agents means that the agent may have none below it.
type Limits struct {
	// Depth is the number of delegation levels below the orchestrator.
	Depth int `json:"depth,omitempty"`
	// Slots is how many agents below this one may be at work at the same time.
	Slots int `json:"slots,omitempty"`
	// Agents is how many agents may be started below this one, all levels counted: for the
	// orchestrator in one user turn, for a sub-agent in its run.
	Agents int64 `json:"agents,omitempty"`
	// PerCall is how many tasks one spawn call may carry; Calls how many calls one reply may carry.
	PerCall int `json:"per_call,omitempty"`
	Calls   int `json:"calls,omitempty"`
	// Parallel is how many reading calls of one round may run at once.
	Parallel int `json:"parallel,omitempty"`
	// Iterations is how many model replies a run, or an orchestrator's user turn, may take.
	Iterations int `json:"iterations,omitempty"`
	// Time is how long a run, or an orchestrator's turn, may be at work.
	Time   int64 `json:"time,omitempty"`
	Tokens int64 `json:"tokens,omitempty"`
	Cost   int64 `json:"cost,omitempty"`
	// Retries is the most attempts at one model request.
	Retries int `json:"retries,omitempty"`
	// Questions is how many questions one task may ask.
	Questions    int   `json:"questions,omitempty"`
	QuestionTime int64 `json:"question_time,omitempty"`
	ApprovalTime int64 `json:"approval_time,omitempty"`
	// Grace is how long a cancelled agent waits for its running work before it closes the books.
	Grace int64 `json:"grace,omitempty"`
}

// DefaultLimits are the limits of a sub-agent whose role says nothing.
func DefaultLimits() Limits {
	return Limits{
		Depth: 2, Slots: 4, Agents: 10, PerCall: 10, Calls: 20, Parallel: 8,
		Iterations: 20, Time: 300_000, Retries: 3, Questions: 5,
		QuestionTime: 24 * 3_600_000, ApprovalTime: 24 * 3_600_000, Grace: 10_000,
	}
}

// OrchestratorLimits are the limits of an orchestrator for which nothing else is configured.
func OrchestratorLimits() Limits {
	l := DefaultLimits()
	l.Agents, l.Iterations, l.Time = 50, 50, 600_000
	return l
}

// or fills what is zero from the defaults. Tokens and Cost stay: zero there means no limit.
func (l Limits) or(d Limits) Limits {
	return Limits{
		Depth: first(l.Depth, d.Depth), Slots: first(l.Slots, d.Slots), Agents: first(l.Agents, d.Agents),
		PerCall: first(l.PerCall, d.PerCall), Calls: first(l.Calls, d.Calls),
		Parallel: first(l.Parallel, d.Parallel), Iterations: first(l.Iterations, d.Iterations),
		Time: first(l.Time, d.Time), Tokens: l.Tokens, Cost: l.Cost, Retries: first(l.Retries, d.Retries),
		Questions: first(l.Questions, d.Questions), QuestionTime: first(l.QuestionTime, d.QuestionTime),
		ApprovalTime: first(l.ApprovalTime, d.ApprovalTime), Grace: first(l.Grace, d.Grace),
	}
}

func first[T int | int64](v, fallback T) T {
	if v != 0 {
		return v
	}
	return fallback
}

// Model holds the core's data of the model that an agent talks to.
type Model struct {
	Name string `json:"name,omitempty"`
	// Window is the context window in tokens; zero means unknown, and then nothing is compacted.
	Window    int64 `json:"window,omitempty"`
	MaxOutput int64 `json:"max_output,omitempty"`
	// InputPrice and OutputPrice are in millionths of a US dollar for a million tokens.
	InputPrice  int64 `json:"input_price,omitempty"`
	OutputPrice int64 `json:"output_price,omitempty"`
}

// price is the most that a call of this size can cost, rounded up.
func (m Model) price(input, output int64) int64 {
	return (input*m.InputPrice + output*m.OutputPrice + 999_999) / 1_000_000
}

// RoleSpec is a role as the registry resolved it when a spawn call arrived. It travels with the
// reply that asked for it, so that a later edit of the role's file changes nothing that has
// started.
type RoleSpec struct {
	Name           string    `json:"name"`
	Hash           string    `json:"hash,omitempty"`
	CanDelegate    bool      `json:"can_delegate,omitempty"`
	Delegates      []string  `json:"delegates,omitempty"`
	CanAsk         bool      `json:"can_ask,omitempty"`
	Immediate      bool      `json:"immediate,omitempty"`
	FailUnanswered bool      `json:"fail_unanswered,omitempty"`
	Evidence       bool      `json:"evidence,omitempty"`
	Shaped         bool      `json:"shaped,omitempty"`
	Isolation      Isolation `json:"isolation,omitempty"`
	Authority      Authority `json:"authority"`
	Tools          []string  `json:"tools,omitempty"`
	Limits         Limits    `json:"limits"`
	Model          Model     `json:"model"`
}

// check reports what makes a brief unusable.
func (b Brief) check() *chat.Error {
	problem := ""
	switch {
	case b.Conversation == "" || b.Agent == "" || b.Task == "":
		problem = "a brief needs a conversation, an agent and a task"
	case b.Depth > 0 && b.Parent == "":
		problem = "a sub-agent's brief needs a parent"
	case b.Limits.Time <= 0 || b.Limits.Iterations <= 0 || b.Limits.Grace <= 0 || b.Limits.Slots <= 0:
		problem = "a brief needs positive limits for time, iterations, grace and slots"
	case b.Limits.QuestionTime <= 0 || b.Limits.ApprovalTime <= 0 || b.Limits.Retries <= 0:
		problem = "a brief needs positive limits for questions, approvals and retries"
	case !slices.IsSorted(b.Authority.Tools):
		problem = "a brief's authority must list its tools in order"
	case !b.Authority.Covers(Authority{Tools: b.Tools}):
		problem = "a brief must not offer tools outside its authority"
	}
	if b.bytes() > briefBytes {
		problem = "a brief must fit into 3 KiB: name groups of tools by a common beginning and *"
	}
	if problem != "" {
		return &chat.Error{Code: chat.CodeInvalid, Message: problem}
	}
	return nil
}

// bytes is an upper estimate of a brief's size as JSON: its texts, and the names and numbers around
// them.
func (b Brief) bytes() int {
	n := 800
	for _, text := range []string{b.Conversation, b.Agent, b.Task, b.Parent, b.Role, b.RoleHash, b.Tree, b.From, b.Model.Name} {
		n += len(text)
	}
	for _, list := range [][]string{b.Delegates, b.Authority.Tools, b.Tools} {
		for _, text := range list {
			n += len(text) + len(`"",`)
		}
	}
	return n
}

// Orchestrator is the brief of an agent that a person talks to. Its ids are the host's to fill in.
func Orchestrator(spec RoleSpec) Brief {
	return Brief{
		Role: spec.Name, RoleHash: spec.Hash, CanDelegate: spec.CanDelegate, Delegates: spec.Delegates,
		Immediate: spec.Immediate, Authority: spec.Authority, Tools: meet(spec.Tools, spec.Authority.Tools),
		Limits: spec.Limits.or(OrchestratorLimits()), Model: spec.Model,
	}
}
