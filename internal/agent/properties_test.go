package agent_test

import (
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
)

// TestProperties sends one agent events in random order: fitting ones, doubled ones, late ones, and
// such as never were. After each, every law must hold, the state must survive JSON, and in the end
// the recorded events must rebuild it.
//
// Covers: P4, P5, P7, P8, P10, P24, R-017, R-018, R-150, R-151, R-152, R-153, R-154, R-156, E-08,
// E-40.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &player{t: t, run: newRun()}
		p.begin()
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			p.send(p.event())
		}
		p.folds()
		p.comesToAnEnd()
	})
}

// player draws events for one agent.
type player struct {
	t    *rapid.T
	run  *run
	sent []agent.Event
	said int64
}

func (p *player) n(what string, k int) int { return rapid.IntRange(0, k-1).Draw(p.t, what) }

func (p *player) begin() {
	line := "begin orchestrator slots=2 iterations=6 per_call=4 window=20000"
	if p.n("kind", 2) == 1 {
		line = "begin coder iterations=4 slots=2 agents=4 window=20000"
		if p.n("evidence", 3) == 1 {
			line += " evidence"
		}
		if p.n("shaped", 4) == 1 {
			line += " shaped"
		}
	}
	if p.n("budget", 3) == 1 {
		line += " tokens=9000 cost=90000 in_price=3000000 out_price=5000000"
	}
	if p.n("headless", 8) == 1 {
		line += " headless"
	}
	p.line(line)
}

// line plays an event in the words of the scripts.
func (p *player) line(block ...string) {
	event, err := p.run.parse(fields(block[0]), block[1:])
	if err != nil {
		p.t.Fatal(err)
	}
	p.send(event)
}

func (p *player) send(e agent.Event) {
	p.sent = append(p.sent, e)
	before := p.run.state
	after, effects, refused := agent.Step(before, e)
	if err := p.run.record.check(before, e, after, effects, refused); err != nil {
		p.t.Fatalf("%v\nstate %s\nevent %T %+v", err, describe(before), e, e)
	}
	again, sameEffects, _ := agent.Step(before, e)
	if !reflect.DeepEqual(after, again) || !reflect.DeepEqual(effects, sameEffects) {
		p.t.Fatalf("Step is not a function: %T", e)
	}
	if _, tick := e.(agent.Ticked); refused == nil && !tick {
		twice, more, err := agent.Step(after, e)
		if err == nil || len(more) > 0 || !reflect.DeepEqual(twice, after) {
			p.t.Fatalf("a second %T was taken in", e)
		}
	}
	p.run.state = after
}

// event draws what happens next.
func (p *player) event() agent.Event {
	s := p.run.state
	p.run.now += int64(p.n("ms", 400))
	at := agent.At{At: p.run.now}
	switch p.n("event", 16) {
	case 0, 1, 2:
		return p.modelEvent(at)
	case 3, 4:
		done := agent.ToolDone{
			At: at, Call: p.call("tool"), Result: p.toolResult(), Tokens: int64(p.n("size", 50)), Facts: p.n("facts", 2),
		}
		if done.Result == agent.ToolDenied {
			done.Reason = [...]agent.DenialReason{agent.DeniedChanged, agent.DeniedByPolicy, agent.DeniedUnapproved, ""}[p.n("reason", 4)]
		}
		return done
	case 5, 6:
		return p.childEvent(at)
	case 7:
		p.said++
		return agent.Said{At: at, Seq: p.said - int64(p.n("again", 3)), InReplyTo: p.question(), Tokens: 10}
	case 8:
		return agent.Corrected{At: at, Seq: int64(p.n("seq", 9))}
	case 9:
		e := agent.Decided{
			At: at, Call: p.call("approval"), Hash: p.hash(), Allow: p.n("allow", 3) > 0,
			Scope: [...]agent.Scope{agent.ScopeOnce, agent.ScopeTask, agent.ScopeChat}[p.n("scope", 3)],
		}
		if p.n("edit", 3) == 0 {
			c := toolCall("write_file")
			c.Hash, c.Bound = "e"+p.hash(), "b"
			e.Edited = &c
		}
		return e
	case 10:
		return p.questionEvent(at)
	case 11:
		return agent.Answered{At: at, Question: s.Brief.Agent + "#" + p.call("answer"), By: [...]agent.AnswerBy{
			agent.ByUser, agent.ByOrchestrator, agent.ByEarlier, agent.ByNobody,
		}[p.n("by", 4)]}
	case 12:
		if p.n("cancel", 3) > 0 {
			return agent.Ticked{At: at}
		}
		reasons := [...]agent.CancelReason{agent.CancelUser, agent.CancelParent, agent.CancelTimeout, agent.CancelBudget}
		return agent.CancelRequested{At: at, ID: fmt.Sprint(p.n("request", 3)), Reason: reasons[p.n("reason", 4)]}
	case 13:
		if s.Wake != 0 {
			p.run.now = max(p.run.now, s.Wake)
		}
		return agent.Ticked{At: agent.At{At: p.run.now}}
	case 14:
		return p.sent[p.n("duplicate", len(p.sent))]
	default:
		return agent.Undelivered{At: at, Seq: int64(p.n("seq", 9))}
	}
}

func (p *player) modelEvent(at agent.At) agent.Event {
	s := p.run.state
	turn, attempt, kind, hold := s.Turn, 1, agent.TurnNormal, int64(0)
	if s.Model != nil {
		turn, attempt, kind, hold = s.Model.Turn, s.Model.Attempt, s.Model.Kind, s.Model.HoldTokens
	}
	used := chat.Usage{Input: hold / int64(2+p.n("used", 4))}
	switch {
	case p.n("fails", 6) == 1:
		kinds := [...]chat.ErrorKind{chat.KindNetwork, chat.KindAuth, chat.KindContextExhausted, chat.KindCancelled}
		return agent.ModelFailed{At: at, Turn: turn, Attempt: attempt, Kind: kinds[p.n("kind", 4)], Usage: used}
	case kind == agent.TurnCompact:
		return agent.Compacted{At: at, Turn: turn, Attempt: attempt, Context: int64(p.n("context", 18000)), Usage: used}
	}
	calls := [...]string{
		"read_file", "read_file hash=r", "write_file policy=allow", "write_file pattern=w hash=w", "shell policy=allow",
		"shell policy=deny", "grep problem=broken", "no_such_tool", "web_fetch", "spawn tester=a reader=b", "spawn tester",
		"spawn reader/bg", "spawn tester/blank reader", "delegate tester=a", "resume c/0.0.0 tester", "submit",
		"submit contradicted=1",
		"submit problem=empty", "submit_error", "ask q1", "ask q2", "reply none 90",
	}
	var more []string
	for range p.n("calls", 4) {
		more = append(more, calls[p.n("call", len(calls))])
	}
	line := fmt.Sprintf("replied %d at=%d attempt=%d in=%d", turn, at.At, attempt, used.Input)
	if p.n("text", 3) == 1 {
		line += " text"
	}
	if p.n("stop", 10) == 1 {
		line += " stop=" + [...]string{"max_tokens", "refusal"}[p.n("which", 2)]
	}
	e, err := p.run.parse(fields(line), more)
	if err != nil {
		p.t.Fatal(err)
	}
	return e
}

func (p *player) toolResult() agent.ToolResult {
	return [...]agent.ToolResult{
		agent.ToolOK, agent.ToolFailed, agent.ToolCancelled, agent.ToolTimedOut, agent.ToolIndeterminate,
		agent.ToolDenied,
	}[p.n("result", 6)]
}

// call names an open call, or a missing one.
func (p *player) call(what string) string {
	if r := p.run.state.Round; r != nil && len(r.Calls) > 0 {
		return r.Calls[p.n(what, len(r.Calls))].ID
	}
	return [...]string{"1.0", "99.0", "x"}[p.n(what, 3)]
}

func (p *player) hash() string {
	if r := p.run.state.Round; r != nil && len(r.Calls) > 0 {
		return r.Calls[p.n("hash", len(r.Calls))].Hash
	}
	return "h"
}

func (p *player) task() string {
	s := p.run.state
	if len(s.Children) > 0 && p.n("known", 5) > 0 {
		return s.Brief.Agent + "/" + s.Children[p.n("child", len(s.Children))].ID
	}
	return s.Brief.Agent + [...]string{"/1.0.0", "/77.0.0", "x/1.0.0"}[p.n("task", 3)]
}

func (p *player) childEvent(at agent.At) agent.Event {
	task := p.task()
	switch p.n("child event", 6) {
	case 0, 1:
		return agent.ChildStarted{At: at, Task: task}
	case 2:
		return agent.ChildWaited{
			At: at, Task: task, Reason: [...]chat.WaitReason{"", chat.WaitApproval, chat.WaitUserInput}[p.n("wait", 3)],
		}
	case 3:
		return agent.ChildCancelRequested{At: at, Task: task}
	default:
		ends := [...]string{"completed", "failed sub_agent_error", "cancelled", "timed_out"}
		return agent.ChildEnded{At: at, Task: task, Outcome: outcome(fields("ended x " + ends[p.n("end", 4)]))}
	}
}

func (p *player) question() string {
	s := p.run.state
	if len(s.Questions) > 0 && p.n("reply", 2) == 1 {
		return s.Questions[p.n("question", len(s.Questions))].ID
	}
	return ""
}

func (p *player) questionEvent(at agent.At) agent.Event {
	s := p.run.state
	if len(s.Sides) > 0 && p.n("side", 3) > 0 {
		d := s.Sides[p.n("which side", len(s.Sides))]
		if d.Kind == agent.SideResolve {
			return agent.Resolved{At: at, Side: d.ID, Answered: p.n("answered", 2) == 1, Confidence: p.n("confidence", 101)}
		}
		routes := [...]agent.Route{agent.RouteRequest, agent.RouteAnswer, agent.RouteStop, agent.RouteUnclear}
		return agent.Routed{At: at, Side: d.ID, Route: routes[p.n("route", 4)], Questions: []string{p.question()}}
	}
	task := p.task()
	id := fmt.Sprintf("%s#%d.0", task, p.n("asked", 4))
	if p.n("withdraw", 4) == 1 {
		return agent.QuestionWithdrawn{At: at, Question: id}
	}
	return agent.QuestionAsked{
		At: at, Question: id, Hash: fmt.Sprint("q", p.n("words", 3)), Relay: p.n("relay", 4) == 1,
	}
}

// folds: the records give back the state.
func (p *player) folds() {
	var s agent.State
	for _, data := range p.run.record.events {
		e, err := agent.UnmarshalEvent(data)
		if err != nil {
			p.t.Fatal(err)
		}
		if s, _, err = agent.Step(s, e); err != nil {
			p.t.Fatalf("the fold refused %T: %v", e, err)
		}
	}
	if !reflect.DeepEqual(s, p.run.state) {
		p.t.Fatalf("the fold gave another state")
	}
}

// comesToAnEnd: without any answers, ticks alone lead out of every state, except that an
// orchestrator rests when it is idle and a parent waits for children that have deadlines of their
// own.
func (p *player) comesToAnEnd() {
	for range 400 {
		s := p.run.state
		if s.Wake == 0 {
			break
		}
		p.send(agent.Ticked{At: agent.At{At: s.Wake}})
	}
	for len(p.run.state.Children) > 0 {
		s := p.run.state
		at := agent.At{At: s.Now + 1}
		for _, c := range s.Children {
			if c.State != agent.ChildQueued {
				p.send(agent.ChildEnded{At: at, Task: s.Brief.Agent + "/" + c.ID, Outcome: outcome(fields("ended x completed"))})
			}
		}
		if len(p.run.state.Children) == len(s.Children) {
			p.t.Fatalf("children are left that nothing starts: %s", describe(s))
		}
		for range 400 {
			if p.run.state.Wake == 0 {
				break
			}
			p.send(agent.Ticked{At: agent.At{At: p.run.state.Wake}})
		}
	}
	s := p.run.state
	if s.Phase != agent.Done && (s.Phase != agent.Idle || s.Brief.Depth > 0) {
		p.t.Fatalf("no way out of: %s", describe(s))
	}
}
