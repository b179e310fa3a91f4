package agent_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/agent"
)

const minute = 60_000

// delegation is a spawn of one child with the required outcome.
type delegation struct {
	parent agent.Brief
	role   agent.RoleSpec
	item   agent.Item
	brief  agent.Brief
	child  agent.Child
}

// plainDelegation has a role that sets every field, each different from its parent's.
func plainDelegation() delegation {
	d := delegation{item: agent.Item{Role: "coder", Hash: "h", Tokens: 50}}
	d.role = agent.RoleSpec{
		Name: "coder", Hash: "f00d", CanDelegate: true, Delegates: []string{"tester"}, CanAsk: true,
		Immediate: true, FailUnanswered: true, Evidence: true, Tools: []string{"read"},
		Authority: agent.Authority{Tools: []string{"read", "shell", "write"}, Write: true, Network: true},
		Limits: agent.Limits{
			Depth: 3, Slots: 6, Agents: 7, PerCall: 8, Calls: 9, Parallel: 5, Iterations: 11, Time: 12_000,
			Tokens: 13_000, Cost: 14_000, Retries: 2, Questions: 15, QuestionTime: 16_000, ApprovalTime: 17_000, Grace: 900,
		},
		Model: agent.Model{Name: "strong", Window: 100_000, MaxOutput: 100, InputPrice: 1, OutputPrice: 2},
	}
	d.parent = agent.Brief{
		Conversation: "c", Agent: "c", Task: "c", Role: "main", RoleHash: "beef", Headless: true, CanDelegate: true,
		Delegates: []string{"coder", "plain"}, Authority: agent.Authority{Tools: []string{"read", "shell"}, Write: true},
		Limits: agent.OrchestratorLimits(), Model: agent.Model{Name: "fast", MaxOutput: 10},
	}
	d.parent.Limits.Depth, d.parent.Limits.Grace = 3, 1000
	d.brief = agent.Brief{
		Conversation: "c", Agent: "c/1.0.0", Task: "c/1.0.0", Parent: "c", Depth: 1, Role: "coder", RoleHash: "f00d",
		Headless: true, CanDelegate: true, Delegates: []string{"tester"}, CanAsk: true, Immediate: true, FailUnanswered: true,
		Evidence:  true,
		Authority: agent.Authority{Tools: []string{"read", "shell"}, Write: true}, Tools: []string{"read"},
		Limits: d.role.Limits, Model: d.role.Model,
	}
	d.brief.Limits.Grace = 800
	d.child = agent.Child{
		ID: "1.0.0", Role: "coder", State: agent.ChildStarting, Waiters: 1, Delegates: true, Slots: 4, Time: 12_000,
		Agents: 7, Tokens: 13_000, Cost: 14_000,
	}
	return d
}

// TestChildTakesAfterItsRole compares the whole brief of a child: it has the fields of its role,
// those that its parent hands down, and nothing else of the parent's.
//
// Covers, E-71.
func TestChildTakesAfterItsRole(t *testing.T) {
	tests := map[string]func(*delegation){
		"everything that the role says": func(*delegation) {},
		"nobody is away":                func(d *delegation) { d.parent.Headless, d.brief.Headless = false, false },
		"the role says nothing": func(d *delegation) {
			d.role, d.item.Role = agent.RoleSpec{Name: "plain"}, "plain"
			d.brief = agent.Brief{
				Conversation: "c", Agent: "c/1.0.0", Task: "c/1.0.0", Parent: "c", Depth: 1, Role: "plain",
				Headless: true, Limits: agent.Limits{
					Depth: 2, Slots: 4, PerCall: 10, Calls: 20, Parallel: 8, Iterations: 20, Time: 5 * minute, Retries: 3,
					Questions: 5, QuestionTime: 1440 * minute, ApprovalTime: 1440 * minute, Grace: 800,
				},
			}
			d.child = agent.Child{
				ID: "1.0.0", Role: "plain", State: agent.ChildStarting, Waiters: 1, Slots: 1, Time: d.brief.Limits.Time,
			}
		},
		"one iteration is asked for":        func(d *delegation) { d.item.Iterations, d.brief.Limits.Iterations = 1, 1 },
		"more iterations than the role has": func(d *delegation) { d.item.Iterations = 12 },
		"the parent has no patience":        func(d *delegation) { d.parent.Limits.Grace, d.brief.Limits.Grace = 1, 1 },
		"an agent is resumed": func(d *delegation) {
			d.item.Agent, d.child.Agent = "c/0.0.0", "c/0.0.0"
			d.brief.Agent, d.brief.Resumed = "c/0.0.0", true
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			d := plainDelegation()
			change(&d)
			enlisted, children := d.play(t)
			if diff := cmp.Diff([]agent.Brief{d.brief}, enlisted); diff != "" {
				t.Errorf("enlisted (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]*agent.Child{&d.child}, children); diff != "" {
				t.Errorf("open children (-want +got):\n%s", diff)
			}
		})
	}
}

// play lets the parent spawn the child.
func (d delegation) play(t *testing.T) (enlisted []agent.Brief, children []*agent.Child) {
	t.Helper()
	reply := replyWith(1, agent.Call{Tool: agent.ToolSpawn, Kind: agent.CallSpawn, Items: []agent.Item{d.item}})
	reply.Roles = []agent.RoleSpec{d.role}
	var s agent.State
	for _, e := range []agent.Event{agent.Begun{Brief: d.parent}, agent.Said{Seq: 1}, reply} {
		next, effects, err := agent.Step(s, e)
		if err != nil {
			t.Fatal(err)
		}
		s = next
		for _, effect := range effects {
			if e, ok := effect.(agent.Enlist); ok {
				enlisted = append(enlisted, e.Brief)
			}
		}
	}
	return enlisted, s.Children
}

// TestAgentBeginsWithItsBrief compares the whole state of an orchestrator and of a sub-agent that
// have just begun.
//
//
func TestAgentBeginsWithItsBrief(t *testing.T) {
	above, below := plainDelegation().parent, plainDelegation().brief
	want := map[string]agent.State{
		"orchestrator": {
			Rules: agent.Rules, Now: 5, Phase: agent.Idle, Brief: above, Turn: 3, Context: 40, Agents: agent.Lease{Grant: 50},
		},
		"sub-agent": {
			Rules: agent.Rules, Now: 5, Phase: agent.Thinking, Brief: below, Turn: 4, Context: 40, Wake: 12_005,
			Model:  &agent.ModelCall{Turn: 4, Attempt: 1, Kind: agent.TurnNormal, HoldTokens: 140, HoldCost: 1},
			Tokens: agent.Lease{Grant: 13_000, Held: 140}, Cost: agent.Lease{Grant: 14_000, Held: 1},
			Agents: agent.Lease{Grant: 7}, Clock: agent.Clock{Since: 5},
		},
	}
	for name, state := range want {
		got, _, err := agent.Step(agent.State{}, agent.Begun{At: agent.At{At: 5}, Brief: state.Brief, From: 3, Tokens: 40})
		if diff := cmp.Diff(state, got); diff != "" || err != nil {
			t.Errorf("%s (-want +got): %v\n%s", name, err, diff)
		}
	}
}

// TestLimitsOfAnOrchestrator compares the limits that hold where nothing is configured.
//
//
func TestLimitsOfAnOrchestrator(t *testing.T) {
	want := agent.Limits{
		Depth: 2, Slots: 4, Agents: 50, PerCall: 10, Calls: 20, Parallel: 8, Iterations: 50, Time: 10 * minute, Retries: 3,
		Questions: 5, QuestionTime: 1440 * minute, ApprovalTime: 1440 * minute, Grace: 10_000,
	}
	if diff := cmp.Diff(want, agent.OrchestratorLimits()); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
}

// TestToolsAreNamedWhole shows that a name means only itself, and names that begin with it only if
// it ends in a star.
//
// Covers: P24.
func TestToolsAreNamedWhole(t *testing.T) {
	for _, test := range []struct {
		holds, asks string
		covers      bool
	}{
		{"read", "read", true},
		{"read", "read_file", false},
		{"read_file", "read", false},
		{"read", "read*", false},
		{"read*", "read", true},
		{"read*", "read_file", true},
		{"read*", "read_*", true},
		{"read_*", "read*", false},
		{"*", "read*", true},
	} {
		holds, asks := agent.Authority{Tools: []string{test.holds}}, agent.Authority{Tools: []string{test.asks}}
		if got := holds.Covers(asks); got != test.covers {
			t.Errorf("%s covers %s: %t", test.holds, test.asks, got)
		}
		if both := holds.Meet(asks); !holds.Covers(both) || !asks.Covers(both) {
			t.Errorf("%s and %s meet in %v", test.holds, test.asks, both.Tools)
		}
	}
}

// TestBriefsThatCannotBegin spoils a brief in one way at a time. A limit of one is enough, of
// nothing or less is not.
func TestBriefsThatCannotBegin(t *testing.T) {
	limits := map[string]func(*agent.Brief, int){
		"time":          func(b *agent.Brief, n int) { b.Limits.Time = int64(n) },
		"iterations":    func(b *agent.Brief, n int) { b.Limits.Iterations = n },
		"grace":         func(b *agent.Brief, n int) { b.Limits.Grace = int64(n) },
		"slots":         func(b *agent.Brief, n int) { b.Limits.Slots = n },
		"question time": func(b *agent.Brief, n int) { b.Limits.QuestionTime = int64(n) },
		"approval time": func(b *agent.Brief, n int) { b.Limits.ApprovalTime = int64(n) },
		"retries":       func(b *agent.Brief, n int) { b.Limits.Retries = n },
	}
	for name, set := range limits {
		for n, want := range map[int]bool{1: true, 0: false, -1: false} {
			b := plainDelegation().brief
			set(&b, n)
			if begins(t, b) != want {
				t.Errorf("with %s %d it begins: %t", name, n, !want)
			}
		}
	}
	for name, spoil := range map[string]func(*agent.Brief){
		"no conversation":         func(b *agent.Brief) { b.Conversation = "" },
		"no agent":                func(b *agent.Brief) { b.Agent = "" },
		"no task":                 func(b *agent.Brief) { b.Task = "" },
		"no parent":               func(b *agent.Brief) { b.Parent = "" },
		"tools out of order":      func(b *agent.Brief) { b.Authority.Tools = []string{"shell", "read"} },
		"no end of names":         func(b *agent.Brief) { b.RoleHash = strings.Repeat("f", 3<<10) },
		"tools without authority": func(b *agent.Brief) { b.Tools = []string{"write"} },
	} {
		b := plainDelegation().brief
		spoil(&b)
		if begins(t, b) {
			t.Errorf("%s: it begins", name)
		}
	}
	if b := plainDelegation().parent; !begins(t, b) {
		t.Error("an orchestrator needs no parent")
	}
}

func begins(t *testing.T, b agent.Brief) bool {
	t.Helper()
	_, _, err := agent.Step(agent.State{}, agent.Begun{At: agent.At{At: 5}, Brief: b})
	if refusal, ok := errors.AsType[*agent.Refusal](err); err != nil && (!ok || refusal.Kind != agent.Invalid) {
		t.Errorf("refused with %v", err)
	}
	return err == nil
}

// TestPriceIsRoundedUp compares the reservation for a first call. Prices are for a million tokens.
//
// Covers: P10.
func TestPriceIsRoundedUp(t *testing.T) {
	for _, test := range []struct{ input, output, inPrice, outPrice, want int64 }{
		{0, 0, 5, 5, 0},
		{1, 0, 1, 0, 1},
		{0, 1, 0, 1, 1},
		{1_000_000, 0, 1, 0, 1},
		{1_000_001, 0, 1, 0, 2},
		{2_000_000, 3_000_000, 3_000_000, 15_000_000, 51_000_000},
	} {
		b := plainDelegation().brief
		b.Limits.Tokens, b.Limits.Cost = 0, 0
		b.Model = agent.Model{MaxOutput: test.output, InputPrice: test.inPrice, OutputPrice: test.outPrice}
		s, _, err := agent.Step(agent.State{}, agent.Begun{At: agent.At{At: 5}, Brief: b, Tokens: test.input})
		if err != nil || s.Cost.Held != test.want {
			t.Errorf("%+v: held %d, %v", test, s.Cost.Held, err)
		}
	}
}
