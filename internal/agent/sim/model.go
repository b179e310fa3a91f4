package sim

import (
	"strconv"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
)

// callModel answers a model call. A reply is recorded under its turn: a later attempt gets the
// recorded one.
func (w *world) callModel(n *node, e agent.CallModel) {
	w.once(n, e.Key(), w.patience(), func() agent.Event {
		at := agent.At{At: w.now}
		recorded := n.task + " reply " + strconv.Itoa(e.Turn)
		if r, ok := w.executed[recorded].(agent.Replied); ok {
			r.At, r.Attempt, r.Usage = at, e.Attempt, chat.Usage{Input: 1}
			return r
		}
		if !w.calm && w.c.odds(8) {
			return w.modelFails(n, e, recorded)
		}
		if e.Kind == agent.TurnCompact {
			return agent.Compacted{
				At: at, Turn: e.Turn, Attempt: e.Attempt, Usage: w.use(e.HoldTokens, e.MaxOutput, e.HoldCost),
				Context: int64(w.c.n(120)),
			}
		}
		r := w.reply(n, e)
		w.executed[recorded] = r
		return r
	})
}

// modelFails makes an attempt fail, sometimes after the reply was in fact recorded.
func (w *world) modelFails(n *node, e agent.CallModel, recorded string) agent.Event {
	kinds := []chat.ErrorKind{
		chat.KindNetwork, chat.KindRateLimit, chat.KindServerError, chat.KindAuth, chat.KindContextExhausted,
	}
	if e.Kind != agent.TurnCompact && w.c.odds(20) {
		w.executed[recorded] = w.reply(n, e)
		w.stats.SeenAsError++
		return agent.ModelFailed{At: agent.At{At: w.now}, Turn: e.Turn, Attempt: e.Attempt, Kind: chat.KindNetwork}
	}
	return agent.ModelFailed{
		At: agent.At{At: w.now}, Turn: e.Turn, Attempt: e.Attempt, Kind: kinds[w.c.pick(40, 25, 20, 5, 10)],
		RetryAfter: int64(w.c.n(3) * 500), Usage: chat.Usage{Input: int64(w.c.n(int(min(e.HoldTokens, 5)) + 1))},
	}
}

// use is a usage within the hold.
func (w *world) use(hold, output, cost int64) chat.Usage {
	out := min(output, hold)
	in := hold - out
	return chat.Usage{
		Input: in * int64(w.c.n(101)) / 100, Output: out * int64(1+w.c.n(60)) / 100, Cost: cost * int64(w.c.n(101)) / 100,
	}
}

// reply invents a reply of the model. It tends to finish.
func (w *world) reply(n *node, e agent.CallModel) agent.Replied {
	if w.model != nil {
		return w.model(n, e)
	}
	s := &n.state
	r := agent.Replied{
		At: agent.At{At: w.now}, Turn: e.Turn, Attempt: e.Attempt, Usage: w.use(e.HoldTokens, e.MaxOutput, e.HoldCost),
		Waited: int64(w.c.pick(9, 1) * 25),
	}
	sub := s.Brief.Depth > 0
	switch {
	case w.calm && sub:
		r.Calls = []agent.Call{{Tool: agent.ToolSubmit, Kind: agent.CallSubmit, Hash: "s"}}
		return r
	case w.calm:
		r.Text = true
		return r
	}
	if s.Spawned == 0 && !sub && r.Turn == 1 {
		r.Calls = append(r.Calls, w.call(n)) // a first turn without a call makes a dull history
		r.Roles = roles(s.Brief.Limits.Tokens > 0)
		return r
	}
	switch w.c.pick(8, 80, 6, 2, 2, 2) {
	case 0:
		r.Text = true
	case 1:
		r.Text = w.c.odds(30)
		for range 1 + w.c.n(3) {
			r.Calls = append(r.Calls, w.call(n))
		}
	case 2:
		if sub {
			r.Calls = append(r.Calls, w.submit())
		} else {
			r.Text = true
		}
	case 3: // an empty reply
	case 4:
		r.Text, r.Stop = true, agent.StopMaxTokens
	case 5:
		r.Stop = agent.StopRefusal
	}
	for _, c := range r.Calls {
		if len(c.Items) > 0 {
			r.Roles = roles(s.Brief.Limits.Tokens > 0)
			break
		}
	}
	return r
}

func (w *world) submit() agent.Call {
	c := agent.Call{Tool: agent.ToolSubmit, Kind: agent.CallSubmit, Hash: "s", Typed: w.c.odds(30)}
	if w.c.odds(15) {
		c = agent.Call{Tool: agent.ToolSubmitError, Kind: agent.CallSubmitError, Hash: "e"}
	}
	if w.c.odds(15) {
		c.Problem = "no summary"
	}
	return c
}

var hashes = [...]string{"h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7"}

// call makes up one call, mostly a sensible one.
func (w *world) call(n *node) agent.Call {
	s := &n.state
	sub := s.Brief.Depth > 0
	hash := hashes[w.c.n(len(hashes))]
	kind := w.c.pick(18, 13, 8, 30, 10, 13, 3, 2, 3)
	if s.Spawned == 0 && s.Brief.CanDelegate && w.c.odds(90) {
		kind = 3 // sooner or later somebody delegates, or the history is dull
	}
	switch kind {
	case 0:
		return agent.Call{Tool: "read", Hash: hash, Known: true, Class: chat.ClassPure}
	case 1:
		c := agent.Call{Tool: "write", Hash: hash, Known: true, Class: chat.ClassIdempotent, Writes: true, Pattern: "write *"}
		c.Policy = [...]agent.Policy{agent.PolicyUnset, agent.PolicyAllow, agent.PolicyDeny}[w.c.pick(50, 45, 5)]
		c.Sink = w.c.odds(10)
		return c
	case 2:
		return agent.Call{
			Tool: "run", Hash: hash, Known: true, Class: chat.ClassOnce, Writes: true, Policy: agent.PolicyAllow, Sink: w.c.odds(10),
		}
	case 3:
		return w.spawnCall(n, hash)
	case 4:
		if sub {
			return w.submit()
		}
		return w.replyCall(s)
	case 5:
		return agent.Call{Tool: agent.ToolAsk, Kind: agent.CallAsk, Hash: "q" + hash[1:2]}
	case 6:
		return agent.Call{Tool: "no_such_tool", Hash: hash}
	case 7:
		return agent.Call{Tool: "read", Hash: hash, Known: true, Class: chat.ClassPure, Problem: "not JSON"}
	default:
		return agent.Call{
			Tool: "fetch", Hash: hash, Known: true, Class: chat.ClassPure, Network: true,
			Policy: [...]agent.Policy{agent.PolicyUnset, agent.PolicyAllow}[w.c.n(2)],
		}
	}
}

func (w *world) replyCall(s *agent.State) agent.Call {
	c := agent.Call{Tool: agent.ToolReply, Kind: agent.CallReply, Question: "none", Confidence: w.c.n(101)}
	if len(s.Questions) > 0 {
		c.Question = s.Questions[w.c.n(len(s.Questions))].ID
	}
	return c
}

// spawnCall asks for one to three children, or for a finished one again.
func (w *world) spawnCall(n *node, hash string) agent.Call {
	c := agent.Call{Tool: agent.ToolSpawn, Kind: agent.CallSpawn, Hash: "spawn" + hash}
	if w.c.odds(10) {
		if done := w.finishedChild(n); done != nil {
			c.Tool, c.Kind = agent.ToolResume, agent.CallResume
			c.Items = []agent.Item{{
				Role: "coder", Hash: "again" + hash, Agent: done.state.Brief.Agent, Tokens: 10, Taint: done.state.Taint,
			}}
			return c
		}
	}
	for range 1 + w.c.n(3) {
		it := agent.Item{
			Role: [...]string{"coder", "reader", "nobody"}[w.c.pick(75, 23, 2)], Hash: "t" + hashes[w.c.n(len(hashes))],
			Tokens: 10,
		}
		it.Blank = w.c.odds(2)
		it.Background = w.c.odds(25)
		c.Items = append(c.Items, it)
	}
	return c
}

func (w *world) finishedChild(n *node) *node {
	for _, other := range w.nodes {
		if other.parent == n && !other.killed && other.state.Phase == agent.Done {
			return w.agentNode(other.state.Brief.Agent)
		}
	}
	return nil
}

// roles are what the registry offers.
func roles(bounded bool) []agent.RoleSpec {
	limits := agent.Limits{Iterations: 5, Time: 20_000, Agents: 3, Questions: 3, QuestionTime: 60_000, ApprovalTime: 60_000}
	if bounded {
		limits.Tokens = 2000
	}
	m := agent.Model{MaxOutput: 50, Window: 2000, InputPrice: 3_000_000, OutputPrice: 15_000_000}
	return []agent.RoleSpec{
		{
			Name: "coder", CanDelegate: true, Delegates: []string{"coder", "reader"}, CanAsk: true,
			Authority: agent.Authority{Tools: []string{"fetch", "read", "run", "write"}, Write: true, Network: true},
			Tools:     []string{"read", "run", "write"}, Limits: limits, Model: m,
		},
		{
			Name: "reader", CanAsk: true, Immediate: true, Shaped: bounded, Authority: agent.Authority{Tools: []string{"read"}},
			Tools: []string{"read"}, Limits: limits, Model: m,
		},
	}
}

// callSide answers a side turn.
func (w *world) callSide(n *node, e agent.CallSide) {
	w.once(n, e.Key(), w.patience(), func() agent.Event {
		at := agent.At{At: w.now}
		used := chat.Usage{Input: int64(w.c.n(int(min(e.HoldTokens, 20)) + 1))}
		if e.Kind == agent.SideResolve {
			return agent.Resolved{At: at, Side: e.Side, Answered: w.c.odds(70), Confidence: w.c.n(101), Usage: used}
		}
		route := [...]agent.Route{agent.RouteRequest, agent.RouteAnswer, agent.RouteStop, agent.RouteUnclear}[w.c.pick(40, 45, 5, 10)]
		return agent.Routed{At: at, Side: e.Side, Route: route, Questions: e.Questions, Usage: used}
	})
}
