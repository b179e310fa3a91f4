package agent_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/agent/sim"
	"github.com/retinue-dev/retinue/internal/chat"
)

const (
	// stateBytes is the largest size of a state while no child is open, and childBytes the largest
	// addition of each open child.
	stateBytes = 16 << 10
	childBytes = 320
	// longName is the most that a provider allows for the name of a tool.
	longName = 64
	// longID is what a conversation may be called.
	longID = "0192f3a4-5b6c-7d8e-9fa0-b1c2d3e4f5a6"
)

// heavy drives one agent towards a state that is as large as it can get.
type heavy struct {
	t     testing.TB
	tools int // how many there are
	name  int // how long their names are
	laws  bool
	state agent.State
	now   int64
	calls int
	said  int64
	fresh []string // children that were started and have not been dealt with
}

func (h *heavy) step(e agent.Event) {
	h.t.Helper()
	next, effects, err := agent.Step(h.state, e)
	if err == nil && h.laws {
		err = sim.Check(h.state, e, next, effects)
	}
	if err != nil {
		h.t.Fatalf("%s: %v", agent.EventName(e), err)
	}
	for _, effect := range effects {
		if start, ok := effect.(agent.StartChild); ok {
			h.fresh = append(h.fresh, start.Task)
		}
	}
	h.state = next
}

func (h *heavy) at() agent.At {
	h.now += 1000
	return agent.At{At: h.now}
}

// begin starts an orchestrator with a long id and as many of the tools, named one by one, as a
// brief may have.
func (h *heavy) begin(limits agent.Limits) {
	h.now = 1_763_000_000_000
	b := agent.Brief{
		Conversation: longID, Agent: longID, Task: longID, Role: "orchestrator", RoleHash: strings.Repeat("f", 64),
		CanDelegate: true, CanAsk: true, Limits: limits,
		Delegates: []string{"general", "researcher", "planner", "coder", "tester", "reviewer", "debugger"},
		Authority: agent.Authority{Write: true, Network: true},
		Model: agent.Model{
			Name: "claude-opus-4-5-20251101", Window: 100_000_000, MaxOutput: 64_000, InputPrice: 15_000_000, OutputPrice: 75_000_000,
		},
	}
	b.Limits.Tokens, b.Limits.Cost = 1_000_000_000_000, 1_000_000_000_000
	for n := range h.tools {
		b.Tools = append(b.Tools, h.tool(n))
	}
	for {
		b.Authority.Tools = b.Tools
		if _, _, err := agent.Step(h.state, agent.Begun{At: h.at(), Brief: b, From: 9000, Tokens: 1234}); err == nil || len(b.Tools) == 1 {
			break
		}
		b.Tools = b.Tools[:len(b.Tools)-1]
	}
	h.tools = len(b.Tools)
	h.step(agent.Begun{At: h.at(), Brief: b, From: 9000, Tokens: 1234})
	h.say("")
}

// tool is a plausible name of the greatest length, as a server of tools would give it.
func (h *heavy) tool(n int) string {
	name := fmt.Sprintf("mcp__%03d__", n)
	return name + strings.Repeat("x", h.name-len(name))
}

func (h *heavy) say(re string) {
	h.said++
	h.step(agent.Said{At: h.at(), Seq: h.said, InReplyTo: re, Tokens: 123_456})
}

// reply answers the model call in flight with these calls.
func (h *heavy) reply(calls ...agent.Call) {
	role := agent.RoleSpec{Name: "researcher", CanAsk: true, Model: agent.Model{MaxOutput: 4096}}
	h.step(agent.Replied{
		At: h.at(), Turn: h.state.Model.Turn, Attempt: h.state.Model.Attempt, Calls: calls, Roles: []agent.RoleSpec{role},
		Usage: chat.Usage{Input: 123_456, Output: 1234, CacheRead: 123_456, CacheWrite: 123_456, Reasoning: 1234, Cost: 123_456},
	})
}

// call is one of a writing tool that waits for a person, with a hash and a pattern of its own.
func (h *heavy) call(n int, policy agent.Policy) agent.Call {
	h.calls++
	return agent.Call{
		Tool: h.tool(n % h.tools), Hash: fmt.Sprintf("%016x", h.calls), Known: true, Class: chat.ClassReconcilable,
		Writes: true, Policy: policy, Pattern: fmt.Sprintf("%s(%03d)", strings.Repeat("p", 40), h.calls),
	}
}

func (h *heavy) many(n int, policy agent.Policy) []agent.Call {
	var out []agent.Call
	for i := range n {
		out = append(out, h.call(i, policy))
	}
	return out
}

// finish ends every call of the round, one after the other as they are started.
func (h *heavy) finish(result agent.ToolResult) {
	for h.state.Phase == agent.Working {
		e := agent.ToolDone{At: h.at(), Result: result, Tokens: 10}
		for _, c := range h.state.Round.Calls {
			if c.Status == agent.CallRunning {
				e.Call = c.ID
			}
		}
		h.step(e)
	}
}

// spawn asks for n tasks in calls of ten.
func (h *heavy) spawn(n int, background bool) []agent.Call {
	per := h.state.Brief.Limits.PerCall
	var calls []agent.Call
	for i := range n {
		if i%per == 0 {
			h.calls++
			calls = append(calls, agent.Call{Tool: agent.ToolSpawn, Kind: agent.CallSpawn, Hash: fmt.Sprintf("%016x", h.calls)})
		}
		h.calls++
		c := &calls[len(calls)-1]
		c.Items = append(c.Items, agent.Item{
			Role: "researcher", Hash: fmt.Sprintf("%016x", h.calls), Background: background, Tokens: 50,
		})
	}
	return calls
}

func (h *heavy) size() int { return len(mustJSON(h.t, h.state)) }

// TestStateStaysSmall drives an orchestrator to the largest state that it can have while no child
// is open: all lists full, a whole reply of calls waiting for approval, the inbox full, as many
// long names of tools as a brief takes.
func TestStateStaysSmall(t *testing.T) {
	plain := &heavy{t: t, tools: 20, name: 20, laws: true}
	plain.fillUp()
	logParts(t, plain.state)
	worst := &heavy{t: t, tools: 100, name: longName, laws: true}
	worst.fillUp()
	logParts(t, worst.state)
	t.Logf("a brief takes %d tools with names of %d bytes", worst.tools, longName)
	long := worst.state.Brief
	for n := range 100 {
		long.Tools = append(long.Tools, fmt.Sprintf("z%03d%s", n, strings.Repeat("x", longName-4)))
	}
	long.Authority.Tools = long.Tools
	_, _, err := agent.Step(agent.State{}, agent.Begun{At: worst.at(), Brief: long})
	if refusal, ok := errors.AsType[*agent.Refusal](err); !ok || refusal.Kind != agent.Invalid {
		t.Errorf("a brief with %d long names was answered with %v", len(long.Tools), err)
	}
	if got := worst.size(); got > stateBytes {
		t.Errorf("the state takes %d bytes with no child open, at most %d", got, stateBytes)
	}
}

// fillUp fills every list of a state: cancel requests, tasks, notices, side turns, answers, grants,
// counts of every kind, the calls of a round and the messages that wait for its end.
func (h *heavy) fillUp() {
	limits := agent.OrchestratorLimits()
	h.begin(limits)
	for n := range 16 {
		h.step(agent.CancelRequested{At: h.at(), ID: fmt.Sprintf("%s%02d", longID[2:], n), Reason: agent.CancelUser})
		h.step(agent.ModelFailed{At: h.at(), Turn: h.state.Turn, Attempt: 1, Kind: chat.KindCancelled})
		h.say("")
	}
	h.reply(h.spawn(int(limits.Agents), true)...)
	for n := 0; len(h.fresh) > 0; n++ {
		task := h.fresh[0]
		h.fresh = h.fresh[1:]
		h.step(agent.ChildStarted{At: h.at(), Task: task})
		h.step(agent.QuestionAsked{At: h.at(), Question: task + "#12.0", Hash: fmt.Sprintf("%016x", n)})
		if n > 20 {
			h.say(task + "#12.0")
		}
		h.step(agent.ChildEnded{At: h.at(), Task: task, Outcome: childOutcome, Tokens: 4000})
	}
	for range 2 {
		h.reply(h.many(limits.Calls, agent.PolicyAsk)...)
		for _, c := range h.state.Round.Calls {
			h.step(agent.Decided{At: h.at(), Call: c.ID, Hash: c.Hash, Allow: true, Scope: agent.ScopeTask, By: "ann"})
		}
		h.finish(agent.ToolOK)
	}
	h.reply(append(h.many(limits.Calls/2, agent.PolicyDeny), h.many(limits.Calls/2, agent.PolicyAllow)...)...)
	h.finish(agent.ToolFailed)
	same := h.many(limits.Calls/2, agent.PolicyAllow)
	for range 2 {
		h.reply(same...)
		h.finish(agent.ToolFailed)
	}
	for i := range same {
		same[i].Policy = agent.PolicyAsk
	}
	h.reply(append(same, same...)...)
	for full := false; !full; {
		e := agent.Said{At: h.at(), Seq: h.said + 1, Tokens: 123_456}
		_, _, err := agent.Step(h.state, e)
		if refusal, ok := errors.AsType[*agent.Refusal](err); ok && refusal.Kind == agent.Full {
			full = true
			continue
		}
		h.say("")
	}
	var read agent.Taint
	for n := range 20 {
		read = append(read, agent.Source{Kind: agent.SourceAgent, Name: fmt.Sprintf("%d%s", n, strings.Repeat("x", 200))})
	}
	h.state.Taint = h.state.Taint.With(read) // as it would be if one of those calls had been let through and read all that
}

// TestChildrenAddLittle measures the largest addition of each open child to a state: running,
// waiting and told to stop. It prints the addition of an open question, and the time of a step
// while 1,000 children are open.
//
// Covers: P10.
func TestChildrenAddLittle(t *testing.T) {
	t.Parallel()
	base, asking := crowded(t, 1, false), crowded(t, 1, true)
	for _, n := range []int{10, 100, 1000} {
		h, asks := crowded(t, n, false), crowded(t, n, true)
		each := float64(h.size()-base.size()) / float64(n-1)
		whole := float64(asks.size()-asking.size()) / float64(n-1)
		t.Logf("%d children: %.0f bytes for each, %.0f with an open question", n, each, whole)
		if each > childBytes {
			t.Errorf("with %d children each adds %.0f bytes, at most %d", n, each, childBytes)
			logParts(t, h.state)
		}
		if n == 1000 && !testing.Short() {
			logSpeed(t, asks)
		}
	}
}

// crowded has n children open in one round, each with an open question if they ask.
func crowded(t testing.TB, n int, ask bool) *heavy {
	t.Helper()
	h := &heavy{t: t, tools: 1, name: longName}
	limits := agent.OrchestratorLimits()
	limits.PerCall, limits.Agents, limits.Slots = n, int64(2*n+10), n
	h.begin(limits)
	h.reply(h.spawn(n, false)...)
	if len(h.state.Children) != n || len(h.fresh) != n {
		t.Fatalf("%d children, %d started, want %d", len(h.state.Children), len(h.fresh), n)
	}
	for i, task := range h.fresh {
		h.step(agent.ChildStarted{At: h.at(), Task: task})
		if ask {
			h.step(agent.QuestionAsked{At: h.at(), Question: task + "#12.0", Hash: fmt.Sprintf("%016x", i), Relay: true})
		}
		h.step(agent.ChildWaited{At: h.at(), Task: task, Reason: chat.WaitUserInput})
		h.step(agent.ChildCancelRequested{At: h.at(), Task: task, By: "ann"})
	}
	return h
}

func logSpeed(t *testing.T, h *heavy) {
	t.Helper()
	e := agent.ChildEnded{At: h.at(), Task: h.fresh[len(h.fresh)/2], Outcome: childOutcome}
	result := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			if _, _, err := agent.Step(h.state, e); err != nil {
				b.Fatal(err)
			}
		}
	})
	t.Logf("a step with %d children open: %s, %s", len(h.fresh), result, result.MemString())
}

// logParts prints the size of each part of a state.
func logParts(t testing.TB, s agent.State) {
	t.Helper()
	var parts map[string]json.RawMessage
	if err := json.Unmarshal([]byte(mustJSON(t, s)), &parts); err != nil {
		t.Fatal(err)
	}
	var out []string
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		name := strings.Split(v.Type().Field(i).Tag.Get("json"), ",")[0]
		if len(parts[name]) < 100 {
			continue
		}
		out = append(out, fmt.Sprintf("%s %d", name, len(parts[name])))
	}
	t.Logf("%d bytes, %d children: %s", len(mustJSON(t, s)), len(s.Children), strings.Join(out, ", "))
}
