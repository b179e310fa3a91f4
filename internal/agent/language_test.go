package agent_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
)

// words is one line of a script: positional words, then name=value pairs and bare flags.
type words struct {
	pos   []string
	named map[string]string
}

// fields splits a line at spaces; double quotes keep spaces together.
func fields(line string) words {
	w := words{named: map[string]string{}}
	quoted := false
	for _, f := range strings.FieldsFunc(line, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return r == ' ' && !quoted
	}) {
		name, value, ok := strings.Cut(f, "=")
		if ok && !strings.Contains(name, "/") && !strings.Contains(name, ":") {
			w.named[name] = strings.Trim(value, `"`)
		}
		w.pos = append(w.pos, strings.Trim(f, `"`))
	}
	return w
}

func (w words) at(i int) string {
	if i < len(w.pos) {
		return w.pos[i]
	}
	return ""
}

func (w words) has(flag string) bool { return slices.Contains(w.pos, flag) }

func (w words) int(name string, fallback int64) int64 {
	if v, ok := w.named[name]; ok {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			panic(fmt.Sprintf("%s=%s is not a number", name, v))
		}
		return n
	}
	return fallback
}

func (w words) list(name string, fallback []string) []string {
	if v, ok := w.named[name]; ok {
		if v == "" {
			return nil
		}
		return strings.Split(v, ",")
	}
	return fallback
}

// taint reads KIND:NAME, several with commas between them.
func (w words) taint() agent.Taint {
	var out agent.Taint
	for _, source := range w.list("taint", nil) {
		kind, name, _ := strings.Cut(source, ":")
		out = append(out, agent.Source{Kind: agent.SourceKind(kind), Name: name})
	}
	return out
}

// allTools are the tools of the scripts, with what their metadata says.
var allTools = []string{"glob", "grep", "read_file", "shell", "web_fetch", "write_file"}

func toolCall(name string) agent.Call {
	c := agent.Call{Tool: name, Known: slices.Contains(allTools, name)}
	switch name {
	case "write_file":
		c.Class, c.Writes = chat.ClassIdempotent, true
	case "shell":
		c.Class, c.Writes = chat.ClassOnce, true
	case "web_fetch":
		c.Class, c.Network = chat.ClassPure, true
	case "glob", "grep", "read_file":
		c.Class = chat.ClassPure
	case agent.ToolTranscript:
		c.Known, c.Class = true, chat.ClassPure
	}
	return c
}

// scriptRoles are the roles that a script may delegate to; a line "role NAME …" changes one.
func scriptRoles() map[string]agent.RoleSpec {
	model := agent.Model{MaxOutput: 1000}
	read := agent.Authority{Tools: []string{"glob", "grep", "read_file"}}
	all := agent.Authority{Tools: allTools, Write: true, Network: true}
	return map[string]agent.RoleSpec{
		"coder": {
			Name: "coder", CanDelegate: true, Delegates: []string{"tester"}, CanAsk: true,
			Authority: all, Tools: []string{"read_file", "shell", "write_file"}, Model: model,
		},
		"tester": {Name: "tester", CanAsk: true, Authority: all, Tools: []string{"read_file", "shell"}, Model: model},
		"reader": {Name: "reader", CanAsk: true, Authority: read, Tools: read.Tools, Model: model},
	}
}

func (r *run) defineRole(w words) {
	spec, ok := r.roles[w.at(1)]
	if !ok {
		spec = agent.RoleSpec{Name: w.at(1), CanAsk: true, Model: agent.Model{MaxOutput: 1000}}
	}
	spec.Tools = w.list("tools", spec.Tools)
	spec.Authority.Tools = w.list("holds", union(spec.Authority.Tools, spec.Tools))
	spec.Authority.Write = (spec.Authority.Write || w.has("write")) && !w.has("readonly")
	spec.Authority.Network = spec.Authority.Network || w.has("network")
	spec.Delegates = w.list("delegates", spec.Delegates)
	spec.CanDelegate = len(spec.Delegates) > 0
	spec.CanAsk = !w.has("silent")
	spec.Immediate = w.has("immediate")
	spec.FailUnanswered = w.has("fail_unanswered")
	spec.Evidence = w.has("evidence")
	spec.Shaped = w.has("shaped")
	spec.Limits = limits(w, spec.Limits)
	spec.Model = model(w, spec.Model)
	r.roles[spec.Name] = spec
}

func union(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

func limits(w words, l agent.Limits) agent.Limits {
	l.Depth = int(w.int("max_depth", int64(l.Depth)))
	l.Slots = int(w.int("slots", int64(l.Slots)))
	l.Agents = w.int("agents", l.Agents)
	l.PerCall = int(w.int("per_call", int64(l.PerCall)))
	l.Calls = int(w.int("calls", int64(l.Calls)))
	l.Parallel = int(w.int("parallel", int64(l.Parallel)))
	l.Iterations = int(w.int("iterations", int64(l.Iterations)))
	l.Time = w.int("time", l.Time)
	l.Tokens = w.int("tokens", l.Tokens)
	l.Cost = w.int("cost", l.Cost)
	l.Retries = int(w.int("retries", int64(l.Retries)))
	l.Questions = int(w.int("questions", int64(l.Questions)))
	l.QuestionTime = w.int("question_time", l.QuestionTime)
	l.ApprovalTime = w.int("approval_time", l.ApprovalTime)
	l.Grace = w.int("grace", l.Grace)
	return l
}

func model(w words, m agent.Model) agent.Model {
	m.Window = w.int("window", m.Window)
	m.MaxOutput = w.int("output", m.MaxOutput)
	m.InputPrice = w.int("in_price", m.InputPrice)
	m.OutputPrice = w.int("out_price", m.OutputPrice)
	return m
}

// brief makes the brief of "begin orchestrator …" or "begin ROLE …".
func (r *run) brief(w words) agent.Brief {
	if w.at(1) == "orchestrator" {
		return agent.Brief{
			Conversation: "c", Agent: "c", Task: "c", Role: "main", Headless: w.has("headless"),
			CanDelegate: !w.has("alone"), Delegates: w.list("delegates", []string{"coder", "reader", "tester"}),
			Authority: agent.Authority{Tools: allTools, Write: !w.has("readonly"), Network: !w.has("offline")},
			Tools:     w.list("tools", allTools), Limits: limits(w, agent.OrchestratorLimits()),
			Model: model(w, agent.Model{MaxOutput: 1000}),
		}
	}
	spec := r.roles[w.at(1)]
	depth := int(w.int("depth", 1))
	parent := "c" + strings.Repeat("/1.0.0", depth-1)
	return agent.Brief{
		Taint:        w.taint(),
		Conversation: "c", Agent: parent + "/1.0.0", Task: parent + "/1.0.0", Parent: parent, Depth: depth,
		Role: spec.Name, Headless: w.has("headless"), CanDelegate: spec.CanDelegate, Delegates: spec.Delegates,
		CanAsk: spec.CanAsk, Immediate: spec.Immediate, FailUnanswered: spec.FailUnanswered,
		Evidence: spec.Evidence || w.has("evidence"), Shaped: spec.Shaped || w.has("shaped"),
		Authority: spec.Authority, Tools: spec.Tools, Limits: limits(w, fill(spec.Limits)), Model: model(w, spec.Model),
	}
}

// fill completes a role's limits the way a spawn would.
func fill(l agent.Limits) agent.Limits {
	d := agent.DefaultLimits()
	or := func(v, fallback int64) int64 {
		if v != 0 {
			return v
		}
		return fallback
	}
	d.Iterations = int(or(int64(l.Iterations), int64(d.Iterations)))
	d.Time = or(l.Time, d.Time)
	d.Tokens, d.Cost = l.Tokens, l.Cost
	d.Questions = int(or(int64(l.Questions), int64(d.Questions)))
	return d
}

// parse makes the event of a line. Time moves on by 10 ms with each event unless the line says at=.
func (r *run) parse(w words, more []string) (agent.Event, error) {
	r.now = w.int("at", r.now+10)
	at := agent.At{At: r.now}
	tokens := w.int("size", 0)
	switch w.at(0) {
	case "begin":
		return agent.Begun{At: at, Brief: r.brief(w), From: int(w.int("from", 0)), Tokens: tokens}, nil
	case "said":
		return agent.Said{At: at, Seq: number(w.at(1)), InReplyTo: w.named["re"], Decline: w.has("decline"), Tokens: tokens}, nil
	case "corrected":
		return agent.Corrected{At: at, Seq: number(w.at(1)), Tokens: tokens}, nil
	case "replied":
		return r.parseReply(at, w, more), nil
	case "failed":
		return agent.ModelFailed{
			At: at, Turn: int(number(w.at(1))), Attempt: r.attempt(w), Kind: chat.ErrorKind(w.at(2)),
			Waited: w.int("waited", 0), RetryAfter: w.int("after", 0), Usage: usage(w),
		}, nil
	case "compacted":
		return agent.Compacted{
			At: at, Turn: int(number(w.at(1))), Attempt: r.attempt(w), Waited: w.int("waited", 0), Usage: usage(w),
			Context: w.int("context", 100),
		}, nil
	case "done":
		return agent.ToolDone{
			At: at, Call: w.at(1), Result: agent.ToolResult(w.at(2)), Waited: w.int("waited", 0), Tokens: tokens,
			Facts:  int(w.int("facts", 0)),
			Reason: agent.DenialReason(w.named["reason"]), Taint: w.taint(),
		}, nil
	case "started":
		return agent.ChildStarted{At: at, Task: w.at(1)}, nil
	case "waited":
		reason := chat.WaitReason(w.at(2))
		if reason == "work" {
			reason = ""
		}
		return agent.ChildWaited{At: at, Task: w.at(1), Reason: reason}, nil
	case "ended":
		return agent.ChildEnded{At: at, Task: w.at(1), Outcome: outcome(w), Tokens: tokens}, nil
	case "decided":
		e := agent.Decided{
			At: at, Call: w.at(1), Allow: w.at(2) == "allow", Hash: w.named["hash"],
			Scope: agent.Scope(w.named["scope"]), By: w.named["by"],
		}
		if len(more) > 0 { // the call with other arguments, on a line of its own
			c := r.parseCall(fields(strings.TrimSpace(more[0])))
			e.Edited = &c
		}
		return e, nil
	case "asked":
		return agent.QuestionAsked{
			At: at, Question: w.at(1), Hash: w.at(2), Relay: w.has("relay"),
		}, nil
	case "withdrawn":
		return agent.QuestionWithdrawn{At: at, Question: w.at(1)}, nil
	case "resolved":
		return agent.Resolved{
			At: at, Side: int(number(w.at(1))), Answered: w.at(2) == "answered",
			Confidence: int(w.int("confidence", 0)), Usage: usage(w),
		}, nil
	case "routed":
		return agent.Routed{
			At: at, Side: int(number(w.at(1))), Route: agent.Route(w.at(2)), Questions: w.list("questions", nil),
			Usage: usage(w),
		}, nil
	case "answered":
		return agent.Answered{At: at, Question: w.at(1), By: agent.AnswerBy(w.at(2)), Tokens: tokens, Taint: w.taint()}, nil
	case "undelivered":
		return agent.Undelivered{At: at, Seq: number(w.at(1))}, nil
	case "cancel":
		return agent.CancelRequested{At: at, ID: w.at(1), Reason: agent.CancelReason(w.at(2)), By: w.named["by"]}, nil
	case "cancel-child":
		return agent.ChildCancelRequested{At: at, Task: w.at(1), By: w.named["by"]}, nil
	case "close":
		return agent.CloseRequested{At: at, By: w.named["by"]}, nil
	case "tick":
		if w.has("wake") {
			r.now = r.state.Wake
			at.At = r.now
		}
		return agent.Ticked{At: at}, nil
	}
	return nil, fmt.Errorf("unknown event %q", w.at(0))
}

func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("%q is not a number", s))
	}
	return n
}

// attempt is the one that the line names, or the one in flight.
func (r *run) attempt(w words) int {
	now := int64(1)
	if r.state.Model != nil {
		now = int64(r.state.Model.Attempt)
	}
	return int(w.int("attempt", now))
}

func usage(w words) chat.Usage {
	return chat.Usage{Input: w.int("in", 0), Output: w.int("out", 0), Cost: w.int("cost", 0)}
}

// outcome reads "completed", or "failed KIND", "cancelled" and "timed_out".
func outcome(w words) agent.Outcome {
	o := agent.Outcome{Status: chat.Status(w.at(2)), Agents: w.int("agents", 0), Evidence: int(w.int("facts", 0)), Own: usage(w), Subtree: usage(w)}
	switch o.Status {
	case chat.StatusFailed:
		o.Kind = chat.ErrorKind(w.at(3))
	case chat.StatusCancelled:
		o.Kind = chat.KindCancelled
	case chat.StatusTimedOut:
		o.Kind = chat.KindTimedOut
	case chat.StatusCompleted:
		o.Completion, o.Typed = agent.Submitted, w.has("typed")
	case chat.StatusQueued, chat.StatusPending, chat.StatusRunning, chat.StatusWaiting:
	}
	o.Tokens, o.Cost, o.Taint = w.int("charged", o.Subtree.Tokens()), o.Subtree.Cost, w.taint()
	return o
}

// parseReply reads "replied TURN [text] …" and its calls, one on each further line.
func (r *run) parseReply(at agent.At, w words, more []string) agent.Event {
	e := agent.Replied{
		At: at, Turn: int(number(w.at(1))), Attempt: r.attempt(w), Waited: w.int("waited", 0),
		Usage: chat.Usage{Input: w.int("in", 100), Output: w.int("out", 10), Cost: w.int("cost", 0)},
		Stop:  agent.StopReason(w.named["stop"]), Text: w.has("text"), Taint: w.taint(),
	}
	roles := map[string]bool{}
	for _, line := range more {
		c := r.parseCall(fields(strings.TrimSpace(line)))
		e.Calls = append(e.Calls, c)
		for _, it := range c.Items {
			if spec, ok := r.roles[it.Role]; ok && !roles[it.Role] {
				roles[it.Role] = true
				e.Roles = append(e.Roles, spec)
			}
		}
	}
	return e
}

func (r *run) parseCall(w words) agent.Call {
	r.calls++
	fresh := fmt.Sprintf("h%d", r.calls)
	c := agent.Call{Tool: w.at(0), Hash: fresh, Problem: w.named["problem"]}
	switch w.at(0) {
	case "spawn", "delegate", "task", "as":
		names := map[string]string{"spawn": agent.ToolSpawn, "delegate": "delegate_to_agent", "task": "task"}
		c.Kind, c.Tool = agent.CallSpawn, names[w.at(0)]
		if c.Tool == "" { // a role that is offered as a tool of its own name
			c.Tool, _, _ = strings.Cut(w.at(1), "=")
		}
		for i, word := range w.pos[1:] {
			if h, ok := strings.CutPrefix(word, "hash="); ok {
				c.Hash = h
			} else if !strings.HasPrefix(word, "problem") {
				c.Items = append(c.Items, parseItem(word, fmt.Sprintf("%s.%d", fresh, i)))
			}
		}
	case "resume":
		c.Kind, c.Tool = agent.CallResume, agent.ToolResume
		c.Items = []agent.Item{{Agent: w.at(1), Role: w.at(2), Hash: fresh, Problem: w.named["why"], Taint: w.taint()}}
	case "submit":
		c.Kind, c.Tool, c.Contradicted = agent.CallSubmit, agent.ToolSubmit, int(w.int("contradicted", 0))
		c.Typed = w.has("typed")
	case "submit_error":
		c.Kind, c.Tool = agent.CallSubmitError, agent.ToolSubmitError
	case "ask":
		c.Kind, c.Tool, c.Hash = agent.CallAsk, agent.ToolAsk, w.at(1)
	case "reply":
		c.Kind, c.Tool, c.Question, c.Confidence = agent.CallReply, agent.ToolReply, w.at(1), int(number(w.at(2)))
	default:
		problem := c.Problem
		c = toolCall(w.at(0))
		c.Problem, c.Hash = problem, fresh
		c.Policy, c.Pattern, c.Bound = agent.Policy(w.named["policy"]), w.named["pattern"], w.named["bound"]
		c.Sink = w.has("sink")
		if h, ok := w.named["hash"]; ok {
			c.Hash = h
		}
		if w.has("reads") { // the same tool in a sandbox that lets it change nothing
			c.Class, c.Writes = chat.ClassPure, false
		}
	}
	return c
}

// parseItem reads ROLE[=HASH] and any of /bg /blank /missing /outside /model /long /iterations:N.
func parseItem(word, fresh string) agent.Item {
	parts := strings.Split(word, "/")
	role, task, ok := strings.Cut(parts[0], "=")
	if !ok {
		task = fresh
	}
	it := agent.Item{Role: role, Hash: task, Tokens: 50}
	for _, p := range parts[1:] {
		name, value, _ := strings.Cut(p, ":")
		switch name {
		case "bg":
			it.Background = true
		case "blank":
			it.Blank = true
		case "missing":
			it.Problem = "context file a.go does not exist"
		case "outside":
			it.Problem = "directory /etc is outside the workspace"
		case "model":
			it.Problem = `there is no model "x"`
		case "long":
			it.Tokens = 1_000_000
		case "iterations":
			it.Iterations = int(number(value))
		default:
			panic("unknown item flag " + p)
		}
	}
	return it
}
