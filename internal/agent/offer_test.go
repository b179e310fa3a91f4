package agent_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
)

// TestOffer checks the tools that a model is shown against the rules, over depth, limits, role and
// kind of turn, and against what Step does with a call: a tool that is not offered is refused, an
// offered one is carried out.
//
// Covers: E-10 E-29 E-73 R-068 R-070 R-078 R-111 R-112 R-114 R-155 R-254 R-262.
func TestOffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := begunAgent(t)
		b := s.Brief
		sub := b.Depth > 0
		spawns := b.CanDelegate && b.Depth+1 <= b.Limits.Depth
		offers := map[agent.TurnKind]map[string]bool{
			agent.TurnCompact: {},
			agent.TurnGrace:   {agent.ToolSubmit: sub, agent.ToolSubmitError: sub},
			agent.TurnNormal: {
				agent.ToolSubmit: sub, agent.ToolSubmitError: sub, agent.ToolAsk: sub && b.CanAsk,
				agent.ToolSpawn: spawns, agent.ToolResume: spawns, agent.ToolTranscript: spawns,
				agent.ToolMerge: spawns && b.Authority.Write,
				agent.ToolReply: !sub && len(s.Questions) > 0,
			},
		}
		for _, tool := range b.Tools {
			offers[agent.TurnNormal][tool] = true
		}
		for kind, want := range offers {
			maps.DeleteFunc(want, func(_ string, offered bool) bool { return !offered })
			if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), agent.Offer(s, kind)); diff != "" {
				t.Fatalf("depth %d of %d, a %s turn is offered (-want +got):\n%s", b.Depth, b.Limits.Depth, kind, diff)
			}
		}
		if s.Model == nil {
			return
		}
		for tool, call := range map[string]agent.Call{
			agent.ToolSpawn: {
				Tool: agent.ToolSpawn, Kind: agent.CallSpawn, Items: []agent.Item{{Role: "reader", Hash: "t"}},
			},
			agent.ToolAsk:        {Tool: agent.ToolAsk, Kind: agent.CallAsk, Hash: "q"},
			agent.ToolSubmit:     {Tool: agent.ToolSubmit, Kind: agent.CallSubmit, Hash: "r"},
			agent.ToolTranscript: {Tool: agent.ToolTranscript, Known: true, Class: chat.ClassPure, Hash: "x"},
			"read_file":          {Tool: "read_file", Known: true, Class: chat.ClassPure, Hash: "f"},
			"grep":               {Tool: "grep", Known: true, Class: chat.ClassPure, Hash: "g"},
		} {
			offered := slices.ContainsFunc(agent.Offer(s, agent.TurnNormal), func(entry string) bool { return names(entry, tool) })
			if done := carriedOut(t, s, call); done != offered {
				t.Fatalf("%s at depth %d of %d: offered is %t, carried out is %t", tool, b.Depth, b.Limits.Depth, offered, done)
			}
		}
	})
}

// begunAgent draws a brief, and brings the agent to its first model call, or leaves an orchestrator
// idle.
func begunAgent(t *rapid.T) agent.State {
	depth := rapid.IntRange(0, 4).Draw(t, "depth")
	b := agent.Brief{
		Conversation: "c", Agent: "c", Task: "c", Depth: depth, Limits: agent.DefaultLimits(),
		CanDelegate: rapid.Bool().Draw(t, "can_delegate"), Delegates: []string{"reader"},
		CanAsk:    rapid.Bool().Draw(t, "can_ask"),
		Authority: agent.Authority{Tools: []string{"*"}},
		Tools:     rapid.SliceOfDistinct(rapid.SampledFrom(append(allTools, "g*", "read_f*")), rapid.ID).Draw(t, "tools"),
	}
	b.Limits.Depth = rapid.IntRange(1, 4).Draw(t, "max_depth")
	if depth > 0 {
		b.Agent, b.Task, b.Parent = "c/1.0.0", "c/1.0.0", "c"
	}
	events := []agent.Event{agent.Begun{At: agent.At{At: 1}, Brief: b}}
	if depth == 0 && rapid.Bool().Draw(t, "talks") {
		events = append(events, agent.Said{At: agent.At{At: 2}, Seq: 1})
		if b.CanDelegate && rapid.Bool().Draw(t, "asked") {
			events = append(events, replyWith(1, agent.Call{
				Tool: agent.ToolSpawn, Kind: agent.CallSpawn, Items: []agent.Item{{Role: "reader", Background: true}},
			}), agent.QuestionAsked{At: agent.At{At: 4}, Question: "c/1.0.0#1.0", Hash: "q"})
		}
	}
	var s agent.State
	for _, e := range events {
		next, _, err := agent.Step(s, e)
		if err != nil {
			t.Fatal(err)
		}
		s = next
	}
	return s
}

var readerRole = agent.RoleSpec{Name: "reader", Authority: agent.Authority{Tools: allTools}, Tools: allTools}

func replyWith(turn int, calls ...agent.Call) agent.Replied {
	return agent.Replied{
		At: agent.At{At: 3}, Turn: turn, Attempt: 1, Usage: used, Calls: calls, Roles: []agent.RoleSpec{readerRole},
	}
}

// carriedOut makes the call and reports whether it was not refused.
func carriedOut(t *rapid.T, s agent.State, call agent.Call) bool {
	_, effects, err := agent.Step(s, replyWith(s.Model.Turn, call))
	if err != nil {
		t.Fatal(err)
	}
	for _, effect := range effects {
		switch effect.(type) {
		case agent.Enlist, agent.Ask, agent.RunTool, agent.Finish:
			return true
		default:
		}
	}
	return false
}

// oracle is a set of permissions, kept the slow and obvious way: every tool there is, by its name.
type oracle map[string]bool

// universe is every tool, entries all names that a list of tools may have.
var (
	universe = append([]string{
		agent.ToolTranscript, "g*odd", "mcp__a__read", "mcp__a__write", "mcp__ab__read", "mcp__b__read", "reader",
	}, allTools...)
	entries = append([]string{"*", "g*", "mcp__*", "mcp__a*", "mcp__a__*", "mcp__b__*", "mcp__b__read*", "read*", "read_*", "g**"}, universe...)
)

// names reports whether an entry stands for a tool.
func names(entry, tool string) bool {
	stem, pattern := strings.CutSuffix(entry, "*")
	return tool == entry || pattern && strings.HasPrefix(tool, stem)
}

func oracleOf(a agent.Authority) oracle {
	o := oracle{}
	for _, entry := range a.Tools {
		for _, tool := range universe {
			if names(entry, tool) {
				o["tool "+tool] = true
			}
		}
	}
	if a.Write {
		o["write"] = true
	}
	if a.Network {
		o["network"] = true
	}
	return o
}

func (o oracle) both(p oracle) oracle {
	out := oracle{}
	for what := range o {
		if p[what] {
			out[what] = true
		}
	}
	return out
}

func (o oracle) within(p oracle) bool { return len(o.both(p)) == len(o) }

// TestAuthorityOnlyNarrows spawns through random graphs of roles and checks every child's brief
// against an oracle: child within grant within parent within the first. The grant is what parent
// and role both hold.
//
// Covers: P24 R-008 R-013 R-078 R-083 R-098 R-162 R-164 R-254.
func TestAuthorityOnlyNarrows(t *testing.T) {
	t.Parallel()
	const seed, graphs = 20251115, 20_000
	children, refused := 0, 0
	for n := range graphs {
		g := drawGraph(rand.New(rand.NewPCG(seed, uint64(n))))
		brief := g.root
		for brief.Depth <= 4 {
			spec := g.roles[g.rnd.IntN(len(g.roles))]
			child, why := g.spawn(t, brief, spec)
			if want := g.mayStart(brief, spec); want != (child != nil) {
				t.Fatalf("seed %d graph %d: started is %t, want %t: %s", seed, n, child != nil, want, why)
			}
			if child == nil {
				refused++
				break
			}
			children++
			g.hold(t, brief, spec, *child, fmt.Sprintf("seed %d graph %d", seed, n))
			brief = *child
		}
	}
	t.Logf("seed %d: %d graphs, %d children, %d spawns refused", seed, graphs, children, refused)
	if children < graphs || refused < graphs/2 {
		t.Error("the graphs are too plain to prove anything")
	}
}

// graph is a set of roles that may delegate to one another.
type graph struct {
	rnd   *rand.Rand
	root  agent.Brief
	roles []agent.RoleSpec
}

func drawGraph(rnd *rand.Rand) graph {
	g := graph{rnd: rnd}
	all := []string{"a", "b", "c", "d"}
	subset := func(of []string, keep float64) []string {
		var out []string
		for _, v := range of {
			if rnd.Float64() < keep {
				out = append(out, v)
			}
		}
		return out
	}
	authority := func() agent.Authority {
		tools := subset(entries, rnd.Float64())
		slices.Sort(tools)
		return agent.Authority{Tools: tools, Write: rnd.IntN(4) > 0, Network: rnd.IntN(4) > 0}
	}
	for _, name := range all {
		g.roles = append(g.roles, agent.RoleSpec{
			Name: name, CanDelegate: rnd.IntN(5) > 0, Delegates: subset(all, 0.8), Authority: authority(),
			Tools: subset(entries, rnd.Float64()), Model: agent.Model{Name: "model of " + name},
		})
	}
	g.root = agent.Brief{
		Conversation: "c", Agent: "c", Task: "c", Role: "main", CanDelegate: true, Delegates: all,
		Authority: authority(), Limits: agent.OrchestratorLimits(), Model: agent.Model{Name: "model of main"},
	}
	g.root.Limits.Depth = 1 + rnd.IntN(4)
	return g
}

// spawn begins an agent with the brief, lets it spawn the role, and returns the child's brief or
// the refusal.
func (g graph) spawn(t *testing.T, b agent.Brief, spec agent.RoleSpec) (*agent.Brief, string) {
	t.Helper()
	events := []agent.Event{agent.Begun{At: agent.At{At: 1}, Brief: b}}
	if b.Depth == 0 {
		events = append(events, agent.Said{At: agent.At{At: 2}, Seq: 1})
	}
	reply := replyWith(1, agent.Call{Tool: agent.ToolSpawn, Kind: agent.CallSpawn, Items: []agent.Item{{Role: spec.Name}}})
	reply.Roles = g.roles
	var s agent.State
	var child *agent.Brief
	why := ""
	for _, e := range append(events, reply) {
		next, effects, err := agent.Step(s, e)
		if err != nil {
			t.Fatal(err)
		}
		s = next
		for _, effect := range effects {
			if e, ok := effect.(agent.Enlist); ok {
				child = &e.Brief
			}
			if e, ok := effect.(agent.Settle); ok {
				why = e.Text
			}
			if e, ok := effect.(agent.StartChild); ok && (child == nil || e.Task != child.Task) {
				t.Fatalf("%s was started and not enlisted", e.Task)
			}
		}
	}
	return child, why
}

// mayStart says whether the spawn is allowed.
func (g graph) mayStart(parent agent.Brief, spec agent.RoleSpec) bool {
	held := oracleOf(agent.Authority{Tools: spec.Tools}).both(oracleOf(spec.Authority)).both(oracleOf(parent.Authority))
	return parent.CanDelegate && parent.Depth < parent.Limits.Depth && slices.Contains(parent.Delegates, spec.Name) &&
		parent.Limits.Agents > 0 && (len(spec.Tools) == 0 || len(held) > 0)
}

func (g graph) hold(t *testing.T, parent agent.Brief, spec agent.RoleSpec, child agent.Brief, where string) {
	t.Helper()
	first, above, role := oracleOf(g.root.Authority), oracleOf(parent.Authority), oracleOf(spec.Authority)
	got, tools := oracleOf(child.Authority), oracleOf(agent.Authority{Tools: child.Tools})
	grant := above.both(role)
	wantTools := oracleOf(agent.Authority{Tools: spec.Tools}).both(grant)
	switch {
	case !got.within(grant) || !grant.within(above) || !above.within(first):
		t.Fatalf("%s: child %v, grant %v, parent %v, first %v", where, got, grant, above, first)
	case !maps.Equal(got, grant) || !maps.Equal(tools, wantTools):
		t.Fatalf("%s: child holds %v and is offered %v, want %v and %v", where, got, tools, grant, wantTools)
	case !parent.Authority.Covers(child.Authority) || parent.Authority.Covers(spec.Authority) && !role.within(above):
		t.Fatalf("%s: Covers says otherwise for %v under %v", where, role, above)
	case !parent.Authority.Covers(spec.Authority) && role.within(above) && !patterns(spec.Authority.Tools):
		t.Fatalf("%s: Covers does not see %v in %v", where, role, above)
	case !slices.IsSorted(child.Authority.Tools) || !slices.IsSorted(child.Tools):
		t.Fatalf("%s: tools out of order: %v %v", where, child.Authority.Tools, child.Tools)
	case child.Depth != parent.Depth+1 || child.Parent != parent.Agent || child.Role != spec.Name || child.Model != spec.Model:
		t.Fatalf("%s: child is %+v", where, child)
	}
}

// patterns reports whether a list has an entry that means more than one name.
func patterns(list []string) bool {
	return slices.ContainsFunc(list, func(entry string) bool { return strings.HasSuffix(entry, "*") })
}

// TestNoChildThatCannotBegin shows that a child is enlisted only with a brief that it can begin
// with.
//
// Covers: E-03 R-173.
func TestNoChildThatCannotBegin(t *testing.T) {
	var tools []string
	for n := range 100 {
		tools = append(tools, fmt.Sprintf("mcp__%060d", n))
	}
	whole := agent.RoleSpec{Name: "a", Tools: []string{"mcp__*"}, Authority: agent.Authority{Tools: []string{"mcp__*"}}}
	long, hasty, few := whole, whole, whole
	long.Tools, long.Authority.Tools = tools, tools
	hasty.Limits.Time = -1
	few.Limits.Grace = -1
	for name, spec := range map[string]agent.RoleSpec{"whole": whole, "too long": long, "no time": hasty, "no grace": few} {
		g := graph{roles: []agent.RoleSpec{spec}, root: agent.Brief{
			Conversation: "c", Agent: "c", Task: "c", CanDelegate: true, Delegates: []string{"a"},
			Authority: agent.Authority{Tools: []string{"mcp__*"}}, Limits: agent.OrchestratorLimits(),
		}}
		child, why := g.spawn(t, g.root, spec)
		if child == nil {
			t.Logf("%s: %s", name, why)
			continue
		}
		if _, _, err := agent.Step(agent.State{}, agent.Begun{At: agent.At{At: 1}, Brief: *child}); err != nil {
			t.Errorf("%s: a child was enlisted and cannot begin: %v", name, err)
		}
	}
}
