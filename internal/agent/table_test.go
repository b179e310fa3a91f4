package agent_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
)

// TestPhaseByEvent decides about every kind of event in every phase, for an orchestrator and for a
// sub-agent: the event that fits the phase best, and others that do not. The table is
// testdata/phases.table. Each event that was handled is delivered a second time and must then be
// refused.
//
// Covers: E-40 E-60 R-125 R-141 R-152 R-153 R-154.
func TestPhaseByEvent(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	out.WriteString(tableHead)
	for _, who := range []string{"orchestrator", "sub-agent"} {
		w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
		fmt.Fprintf(w, "\n%s\t", who)
		for _, c := range stages[who] {
			fmt.Fprintf(w, "%s\t", c.name)
		}
		fmt.Fprint(w, "\nphase\t")
		for _, c := range stages[who] {
			fmt.Fprintf(w, "%s\t", phaseName(c.play(t).state.Phase))
		}
		for _, r := range tableRows {
			fmt.Fprintf(w, "\n%s, %s\t", agent.EventName(r.make(spot{})), r.which)
			for _, c := range stages[who] {
				fmt.Fprintf(w, "%s\t", decideCell(t, c, r))
			}
		}
		fmt.Fprintln(w)
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	var got strings.Builder
	for line := range strings.Lines(out.String()) {
		got.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	golden(t, "testdata/phases.table", got.String())
}

func phaseName(p agent.Phase) string {
	if p == agent.Unborn {
		return "unborn"
	}
	return string(p)
}

const tableHead = `# What each event means in each phase. The event names what its row says, or, where a stage has nothing of that
# kind, something that is not there any more.
# handled; refused, and the sender is told: conflict gap full invalid; refused and only counted: (duplicate)
# (unknown) (late) (early).
`

// golden compares a text with a file, or writes the file with -update.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// decideCell plays the stage, delivers the event, and again if it was handled. Two columns are the
// same for all events: before the beginning only Begun is taken, and after the end nothing is.
func decideCell(t *testing.T, c stage, r tableRow) string {
	t.Helper()
	run := c.play(t)
	phase := run.state.Phase
	e := r.make(spot{State: run.state, brief: c.brief()})
	answer := deliver(t, run, e, c.name)
	if answer == "handled" {
		if again := deliver(t, run, e, c.name+", again"); again == "handled" {
			t.Errorf("%s: %s, %s was handled twice", c.name, agent.EventName(e), r.which)
		}
	}
	if phase == agent.Done && answer == "handled" {
		t.Errorf("%s: %s, %s was handled", c.name, agent.EventName(e), r.which)
	}
	if _, begun := e.(agent.Begun); phase == agent.Unborn && !begun && answer != "conflict" {
		t.Errorf("%s: %s, %s was answered with %s", c.name, agent.EventName(e), r.which, answer)
	}
	return answer
}

// deliver steps, checks the step against the laws, and says how the event was taken.
func deliver(t *testing.T, run *run, e agent.Event, where string) string {
	t.Helper()
	next, effects, err := agent.Step(run.state, e)
	if err := run.record.check(run.state, e, next, effects, err); err != nil {
		t.Errorf("%s: %s: %v", where, agent.EventName(e), err)
	}
	run.state = next
	refusal, ok := errors.AsType[*agent.Refusal](err)
	switch {
	case !ok:
		return "handled"
	case refusal.Counted():
		return "(" + string(refusal.Kind) + ")"
	}
	return string(refusal.Kind)
}

// TestTableIsComplete shows that no event type and no phase is missing from the table.
func TestTableIsComplete(t *testing.T) {
	var rows []string
	for _, r := range tableRows {
		rows = append(rows, agent.EventName(r.make(spot{})))
	}
	slices.Sort(rows)
	if diff := cmp.Diff(eventTypes(t), slices.Compact(rows)); diff != "" {
		t.Errorf("events of the table (-declared +tabled):\n%s", diff)
	}
	want := map[string][]agent.Phase{
		"orchestrator": {agent.Unborn, agent.Done, agent.Idle, agent.Stopping, agent.Thinking, agent.Working},
		"sub-agent":    {agent.Unborn, agent.Done, agent.Stopping, agent.Thinking, agent.Working},
	}
	for who, columns := range stages {
		var phases []agent.Phase
		for _, c := range columns {
			phases = append(phases, c.play(t).state.Phase)
		}
		slices.Sort(phases)
		if diff := cmp.Diff(want[who], slices.Compact(phases)); diff != "" {
			t.Errorf("phases of the %s (-want +got):\n%s", who, diff)
		}
	}
}

// stage is a column: real events, in the words of the scripts, that lead to a state.
type stage struct {
	name  string
	kind  string // for an agent that has not begun
	steps []string
	crowd string // repeated with the next number until it is refused
}

// play leads a fresh agent onto the stage.
func (c stage) play(t *testing.T) *run {
	t.Helper()
	r := newRun()
	for _, step := range c.steps {
		answer, err := r.step(strings.Split(step, "\n"))
		if err != nil || strings.HasPrefix(answer, "refused") {
			t.Fatalf("%s: %s: %s %v", c.name, step, answer, err)
		}
	}
	for full := c.crowd == ""; !full; {
		answer, err := r.step([]string{fmt.Sprintf("%s %d", c.crowd, r.state.Inbox.Heard+1)})
		if full = strings.HasPrefix(answer, "refused: full"); err != nil || strings.HasPrefix(answer, "refused") != full {
			t.Fatalf("%s: %s %v", c.name, answer, err)
		}
	}
	return r
}

// brief is the one that the column's agent began with, or would begin with.
func (c stage) brief() agent.Brief {
	begin := "begin " + c.kind
	if len(c.steps) > 0 {
		begin = c.steps[0]
	}
	return newRun().brief(fields(begin))
}

func then(before []string, more ...string) []string { return slices.Concat(before, more) }

// The orchestrator has background children (one runs, one starts, one queues), a question that is
// being resolved, one that the person has been asked, one that they have answered, and a message
// being routed.
var (
	orchestratorSpawns  = []string{"said 1", "replied 1 in=9000\n  spawn coder/bg reader/bg tester/bg"}
	orchestratorPending = []string{
		"started c/1.0.0", "asked c/1.0.0#1.0 q1", "asked c/1.0.0#2.0 q2 relay", "asked c/1.0.0#3.0 q3 relay",
		"said 2 re=c/1.0.0#3.0", "said 3",
	}
	orchestratorThinks = then(append([]string{"begin orchestrator slots=2"}, orchestratorSpawns...), orchestratorPending...)
	orchestratorPacks  = then(append([]string{"begin orchestrator slots=2 window=10000"}, orchestratorSpawns...), orchestratorPending...)
	orchestratorWorks  = then(orchestratorThinks, "replied 2\n  grep\n  spawn coder reader\n  shell")
	orchestratorCloses = then(orchestratorWorks, "close")

	subAgentThinks = []string{"begin coder slots=3", "corrected 1"}
	subAgentWorks  = then(subAgentThinks, "replied 1\n  read_file\n  spawn tester tester tester\n  shell", "started c/1.0.0/1.1.0")
)

var stages = map[string][]stage{
	"orchestrator": {
		{name: "unborn", kind: "orchestrator"},
		{name: "idle", steps: []string{"begin orchestrator", "said 1", "replied 1 text"}},
		{name: "idle, background", steps: then(orchestratorThinks, "replied 2 text")},
		{name: "thinking", steps: orchestratorThinks},
		{name: "retrying", steps: then(orchestratorThinks, "failed 2 server_error")},
		{name: "compacting", steps: orchestratorPacks},
		{name: "inbox full", steps: orchestratorThinks, crowd: "said"},
		{name: "working", steps: orchestratorWorks},
		{name: "stopping, model", steps: then(orchestratorThinks, "cancel k1 user")},
		{name: "stopping, round", steps: then(orchestratorWorks, "cancel k1 user")},
		{name: "out of time", steps: then(orchestratorWorks, "tick wake")},
		{name: "closing", steps: orchestratorCloses},
		{name: "done", steps: then(orchestratorCloses, "cancel k2 user")},
	},
	"sub-agent": {
		{name: "unborn", kind: "coder"},
		{name: "thinking", steps: subAgentThinks},
		{name: "retrying", steps: then(subAgentThinks, "failed 1 server_error")},
		{name: "compacting", steps: []string{"begin coder window=1000 size=900", "corrected 1"}},
		{name: "inbox full", steps: subAgentThinks, crowd: "corrected"},
		{name: "working", steps: subAgentWorks},
		{name: "asking", steps: then(subAgentThinks, "replied 1\n  ask q1")},
		{name: "stopping, model", steps: then(subAgentThinks, "cancel k1 user")},
		{name: "stopping, round", steps: then(subAgentWorks, "cancel k1 user")},
		{name: "out of time", steps: then(subAgentWorks, "tick wake")},
		{name: "done", steps: then(subAgentThinks, "replied 1\n  submit")},
	},
}

// spot is where an event is delivered: a state, and the brief of its agent also before it has
// begun.
type spot struct {
	agent.State

	brief agent.Brief
}

func (p spot) now() agent.At { return agent.At{At: p.Now + 10} }

// model is the call in flight, or the last one.
func (p spot) model() (turn, attempt int) {
	if p.Model != nil {
		return p.Model.Turn, p.Model.Attempt
	}
	return p.Turn, 1
}

// call is the one with this status, or a missing one of the last turn.
func (p spot) call(status agent.CallStatus) agent.OpenCall {
	if p.Round != nil {
		for _, c := range p.Round.Calls {
			if c.Status == status {
				return c
			}
		}
	}
	return agent.OpenCall{ID: fmt.Sprintf("%d.9", p.Turn), Hash: "none"}
}

// childIn is the task of a child in this state, or of a missing one.
func (p spot) childIn(state agent.ChildState) string {
	for _, c := range p.Children {
		if c.State == state {
			return p.brief.Agent + "/" + c.ID
		}
	}
	return p.brief.Agent + "/1.0.9"
}

// question is an open one, or one of a child that nobody has heard of.
func (p spot) question() string {
	if len(p.Questions) > 0 {
		return p.Questions[0].ID
	}
	return p.childIn(agent.ChildRunning) + "#1.0"
}

func (p spot) side(kind agent.SideKind) int {
	for _, d := range p.Sides {
		if d.Kind == kind {
			return d.ID
		}
	}
	return p.Serial
}

// cancelled is the last cancel request, or a first one.
func (p spot) cancelled() string {
	if n := len(p.Cancelled); n > 0 {
		return p.Cancelled[n-1]
	}
	return "k1"
}

// sentOn is a person's message that went to an agent, or the last one heard.
func (p spot) sentOn() int64 {
	for _, a := range p.Answers {
		if a.Seq != 0 && !a.Lost {
			return a.Seq
		}
	}
	return p.Inbox.Heard
}

var used = chat.Usage{Input: 10, Output: 1}

// tableRow makes an event for the place where it is delivered.
type tableRow struct {
	which string
	make  func(p spot) agent.Event
}

// tableRows are the events of the table, and the steps of the random walks.
var tableRows = []tableRow{
	{"a whole brief", func(p spot) agent.Event { return agent.Begun{At: p.now(), Brief: p.brief} }},
	{"no brief", func(p spot) agent.Event { return agent.Begun{At: p.now()} }},

	{"the next", func(p spot) agent.Event { return agent.Said{At: p.now(), Seq: p.Inbox.Heard + 1} }},
	{"the last again", func(p spot) agent.Event { return agent.Said{At: p.now(), Seq: p.Inbox.Heard} }},
	{"the next but one", func(p spot) agent.Event { return agent.Said{At: p.now(), Seq: p.Inbox.Heard + 2} }},
	{"a new one", func(p spot) agent.Event { return agent.Corrected{At: p.now(), Seq: p.Inbox.Heard + 2} }},
	{"the last again", func(p spot) agent.Event { return agent.Corrected{At: p.now(), Seq: p.Inbox.Heard} }},

	{"in flight", func(p spot) agent.Event {
		turn, attempt := p.model()
		return agent.Replied{At: p.now(), Turn: turn, Attempt: attempt, Text: true, Usage: used}
	}},
	{"a turn to come", func(p spot) agent.Event { return agent.Replied{At: p.now(), Turn: p.Turn + 1, Attempt: 1} }},
	{"in flight", func(p spot) agent.Event {
		turn, attempt := p.model()
		return agent.ModelFailed{At: p.now(), Turn: turn, Attempt: attempt, Kind: chat.KindNetwork}
	}},
	{"an attempt to come", func(p spot) agent.Event {
		turn, attempt := p.model()
		return agent.ModelFailed{At: p.now(), Turn: turn, Attempt: attempt + 1, Kind: chat.KindNetwork}
	}},
	{"in flight", func(p spot) agent.Event {
		turn, attempt := p.model()
		return agent.Compacted{At: p.now(), Turn: turn, Attempt: attempt, Usage: used, Context: 100}
	}},
	{"a turn to come", func(p spot) agent.Event { return agent.Compacted{At: p.now(), Turn: p.Turn + 1, Attempt: 1} }},

	{"a running call", func(p spot) agent.Event {
		return agent.ToolDone{At: p.now(), Call: p.call(agent.CallRunning).ID, Result: agent.ToolOK}
	}},
	{"a call that waits", func(p spot) agent.Event {
		return agent.ToolDone{At: p.now(), Call: p.call(agent.CallWants).ID, Result: agent.ToolOK}
	}},
	{"no such call", func(p spot) agent.Event {
		return agent.ToolDone{At: p.now(), Call: "99.0", Result: agent.ToolOK}
	}},

	{"a starting child", func(p spot) agent.Event {
		return agent.ChildStarted{At: p.now(), Task: p.childIn(agent.ChildStarting)}
	}},
	{"a running child", func(p spot) agent.Event {
		return agent.ChildStarted{At: p.now(), Task: p.childIn(agent.ChildRunning)}
	}},
	{"a queued child", func(p spot) agent.Event {
		return agent.ChildStarted{At: p.now(), Task: p.childIn(agent.ChildQueued)}
	}},
	{"no child of ours", func(p spot) agent.Event { return agent.ChildStarted{At: p.now(), Task: "d/1.0.0"} }},
	{"a running child", func(p spot) agent.Event {
		return agent.ChildWaited{At: p.now(), Task: p.childIn(agent.ChildRunning), Reason: chat.WaitUserInput}
	}},
	{"no child of ours", func(p spot) agent.Event {
		return agent.ChildWaited{At: p.now(), Task: "d/1.0.0", Reason: chat.WaitUserInput}
	}},
	{"a running child", func(p spot) agent.Event {
		return agent.ChildEnded{At: p.now(), Task: p.childIn(agent.ChildRunning), Outcome: childOutcome}
	}},
	{"a queued child", func(p spot) agent.Event {
		return agent.ChildEnded{At: p.now(), Task: p.childIn(agent.ChildQueued), Outcome: childOutcome}
	}},
	{"no child of ours", func(p spot) agent.Event {
		return agent.ChildEnded{At: p.now(), Task: "d/1.0.0", Outcome: childOutcome}
	}},

	{"as shown", func(p spot) agent.Event {
		c := p.call(agent.CallWants)
		return agent.Decided{At: p.now(), Call: c.ID, Hash: c.Hash, Allow: true, Scope: agent.ScopeOnce}
	}},
	{"another version", func(p spot) agent.Event {
		return agent.Decided{At: p.now(), Call: p.call(agent.CallWants).ID, Hash: "other", Allow: true}
	}},
	{"with other arguments", func(p spot) agent.Event {
		c := p.call(agent.CallWants)
		return agent.Decided{At: p.now(), Call: c.ID, Hash: c.Hash, Allow: true, Edited: &agent.Call{
			Tool: c.Tool, Hash: "edited", Bound: "b", Known: true, Class: c.Class, Writes: true,
		}}
	}},
	{"with denied arguments", func(p spot) agent.Event {
		c := p.call(agent.CallWants)
		return agent.Decided{At: p.now(), Call: c.ID, Hash: c.Hash, Allow: true, Edited: &agent.Call{
			Tool: c.Tool, Hash: "edited", Bound: "b", Known: true, Class: c.Class, Writes: true, Policy: agent.PolicyDeny,
		}}
	}},
	{"no such call", func(p spot) agent.Event { return agent.Decided{At: p.now(), Call: "99.0", Allow: true} }},

	{"of a child", func(p spot) agent.Event {
		child := p.childIn(agent.ChildRunning)
		return agent.QuestionAsked{At: p.now(), Question: child + "#9.0", Hash: "q9"}
	}},
	{"an open one", func(p spot) agent.Event {
		return agent.QuestionAsked{At: p.now(), Question: p.question(), Hash: "q1"}
	}},
	{"no child of ours", func(p spot) agent.Event {
		return agent.QuestionAsked{At: p.now(), Question: "d/1.0.0#1.0", Hash: "q1"}
	}},
	{"an open one", func(p spot) agent.Event { return agent.QuestionWithdrawn{At: p.now(), Question: p.question()} }},
	{"no such question", func(p spot) agent.Event { return agent.QuestionWithdrawn{At: p.now(), Question: "d#1.0"} }},
	{"in flight", func(p spot) agent.Event {
		return agent.Resolved{At: p.now(), Side: p.side(agent.SideResolve), Answered: true, Confidence: 90, Usage: used}
	}},
	{"no such side turn", func(p spot) agent.Event { return agent.Resolved{At: p.now(), Side: p.Serial + 1} }},
	{"in flight", func(p spot) agent.Event {
		return agent.Routed{At: p.now(), Side: p.side(agent.SideRoute), Route: agent.RouteRequest, Usage: used}
	}},
	{"no such side turn", func(p spot) agent.Event {
		return agent.Routed{At: p.now(), Side: p.Serial + 1, Route: agent.RouteRequest}
	}},
	{"the asking call", func(p spot) agent.Event {
		question := p.brief.Agent + "#" + p.call(agent.CallAsking).ID
		return agent.Answered{At: p.now(), Question: question, By: agent.ByUser}
	}},
	{"no such question", func(p spot) agent.Event {
		return agent.Answered{At: p.now(), Question: "d#1.0", By: agent.ByUser}
	}},
	{"a message sent on", func(p spot) agent.Event { return agent.Undelivered{At: p.now(), Seq: p.sentOn()} }},
	{"another message", func(p spot) agent.Event { return agent.Undelivered{At: p.now(), Seq: 99} }},

	{"a new request", func(p spot) agent.Event {
		return agent.CancelRequested{At: p.now(), ID: "k9", Reason: agent.CancelUser}
	}},
	{"the same request", func(p spot) agent.Event {
		return agent.CancelRequested{At: p.now(), ID: p.cancelled(), Reason: agent.CancelUser}
	}},
	{"without an id", func(p spot) agent.Event {
		return agent.CancelRequested{At: p.now(), Reason: agent.CancelUser}
	}},
	{"a running child", func(p spot) agent.Event {
		return agent.ChildCancelRequested{At: p.now(), Task: p.childIn(agent.ChildRunning)}
	}},
	{"a queued child", func(p spot) agent.Event {
		return agent.ChildCancelRequested{At: p.now(), Task: p.childIn(agent.ChildQueued)}
	}},
	{"no child of ours", func(p spot) agent.Event { return agent.ChildCancelRequested{At: p.now(), Task: "d/1.0.0"} }},
	{"by a person", func(p spot) agent.Event { return agent.CloseRequested{At: p.now()} }},
	{"what is due", func(p spot) agent.Event { return agent.Ticked{At: agent.At{At: max(p.Wake, p.Now)}} }},
	{"too early", func(p spot) agent.Event { return agent.Ticked{At: agent.At{At: p.Now}} }},
}

var childOutcome = agent.Outcome{
	Status: chat.StatusCompleted, Completion: agent.Submitted, Call: "3.0", Own: used, Subtree: used,
}
