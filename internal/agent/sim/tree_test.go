package sim

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
)

// tree is a conversation in which every agent reads a file, asks for so many children as its depth
// has, and ends. Nothing fails; only the order of arrival is random.
func tree(widths []int, legs int, seed uint64) *world {
	w := newWorld(newChance(seed))
	w.calm, w.legs = true, legs
	w.model = func(n *node, e agent.CallModel) agent.Replied {
		r := agent.Replied{At: agent.At{At: w.now}, Turn: e.Turn, Attempt: e.Attempt, Usage: chat.Usage{Input: 50, Output: 10}}
		depth := n.state.Brief.Depth
		switch {
		case e.Turn == 1:
			r.Calls = []agent.Call{{Tool: "read", Hash: "h", Known: true, Class: chat.ClassPure}}
		case e.Turn == 2 && depth < len(widths):
			c := agent.Call{Tool: agent.ToolSpawn, Kind: agent.CallSpawn, Hash: "spawn"}
			for i := range widths[depth] {
				c.Items = append(c.Items, agent.Item{Role: "coder", Hash: fmt.Sprint(i), Tokens: 10})
			}
			r.Calls, r.Roles = []agent.Call{c}, wideRoles()
		case depth > 0:
			r.Calls = []agent.Call{{Tool: agent.ToolSubmit, Kind: agent.CallSubmit}}
		default:
			r.Text = true
		}
		return r
	}
	return w
}

func wideRoles() []agent.RoleSpec {
	all := roles(false)
	all[0].Limits = agent.Limits{Depth: 3, Slots: 1000, Agents: 1000, PerCall: 100, Time: 3_600_000}
	all[0].Model = agent.Model{MaxOutput: 50}
	return all
}

func (w *world) converse() error {
	w.root = w.addNode("c", nil)
	brief := w.brief()
	brief.Limits = agent.OrchestratorLimits()
	brief.Limits.Depth, brief.Limits.Slots, brief.Limits.Agents, brief.Limits.PerCall = 3, 64, 4000, 100
	brief.Limits.Time = 3_600_000
	brief.Headless, brief.Authority.Write = false, true
	if _, err := w.step(w.root, agent.Begun{At: agent.At{At: w.now}, Brief: brief}); err != nil {
		return err
	}
	w.speak("")
	for range 200_000 {
		if len(w.mail) == 0 && w.anyBusy() == nil {
			return w.verdict()
		}
		if err := w.something(); err != nil {
			return err
		}
	}
	return fmt.Errorf("not at rest after 200,000 actions")
}

// TestAThousandSubAgents runs a tree of three levels to its end.
//
// Covers: P4, R-171.
func TestAThousandSubAgents(t *testing.T) {
	start := time.Now()
	w := tree([]int{10, 10, 9}, 1000, 1)
	if err := w.converse(); err != nil {
		t.Fatal(err)
	}
	if got := len(w.nodes); got != 1+10+100+900 {
		t.Errorf("%d agents", got)
	}
	for _, n := range w.nodes[1:] {
		if n.state.Outcome == nil || n.state.Outcome.Status != chat.StatusCompleted {
			t.Fatalf("%s did not complete", n.task)
		}
	}
	if used := w.root.state.Subtree; used.Input < 1000*50 {
		t.Errorf("the tree used %+v", used)
	}
	t.Logf("1,010 sub-agents on three levels, %d events in %v", w.stats.Events, time.Since(start).Round(time.Millisecond))
}

// TestLegsLeaveTheSameRecords plays one conversation with one effect at a time and with long legs:
// every agent ends with the same transcript, the same outcome and the same bill.
func TestLegsLeaveTheSameRecords(t *testing.T) {
	plain := tree([]int{3, 2, 2}, 0, 7)
	if err := plain.converse(); err != nil {
		t.Fatal(err)
	}
	for seed, legs := range []int{1, 2, 5, 1000} {
		w := tree([]int{3, 2, 2}, legs, uint64(seed))
		if err := w.converse(); err != nil {
			t.Fatal(err)
		}
		if len(w.nodes) != len(plain.nodes) {
			t.Fatalf("legs of %d: %d agents, plain %d", legs, len(w.nodes), len(plain.nodes))
		}
		for _, n := range plain.nodes {
			if diff := cmp.Diff(records(plain.node(n.task)), records(w.node(n.task))); diff != "" {
				t.Errorf("legs of %d: %s (-plain +legs):\n%s", legs, n.task, diff)
			}
		}
	}
}

// records is what a run leaves: its transcript, its effects by name, its outcome without times.
func records(n *node) string {
	var out strings.Builder
	for _, msg := range n.scribe.rows {
		data, err := json.Marshal(msg)
		if err != nil {
			panic(err)
		}
		out.Write(append(data, '\n'))
	}
	var s agent.State
	for _, e := range n.log {
		next, effects, err := agent.Step(s, e)
		if err != nil {
			panic(err)
		}
		s = next
		for _, effect := range effects {
			if effect.Record() {
				out.WriteString(effect.Key() + "\n")
			}
		}
	}
	fmt.Fprintln(&out, s.Own, s.Subtree, s.Spawned, s.Settled)
	if s.Outcome != nil {
		o := *s.Outcome
		o.Duration = 0
		fmt.Fprintf(&out, "%+v\n", o)
	}
	return out.String()
}
