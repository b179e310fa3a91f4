package leg

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
)

// ringing has a helper ring the bell once.
var ringing = strings.ReplaceAll(one, "MORE", "") + `
  - {name: ring, when: {tools: [submit_result], turn: 0}, reply: {calls: [{tool: ring, args: {tone: low}}]}}
  - {name: rung, when: {tools: [submit_result], turn: 1}, reply: {calls: [{tool: submit_result, args: {summary: 'tried'}}]}}
`

// TestACallThatMustNotRunTwiceWithoutAnEngine has a person allow a call, as it is or with other
// arguments. The worker is lost at each point of the call. It runs once at most, and the text for
// the model says whether it ran.
func TestACallThatMustNotRunTwiceWithoutAnEngine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lost host.Point
		args string
		want journal.CallStatus
		rung []string
	}{
		{want: journal.CallCompleted, rung: []string{`{"tone":"low"}`}},
		{args: `{"tone":"high"}`, want: journal.CallCompleted, rung: []string{`{"tone":"high"}`}},
		{lost: host.PointOnceStarted, want: journal.CallIndeterminate},
		{lost: host.PointOnceRan, want: journal.CallIndeterminate, rung: []string{`{"tone":"low"}`}},
	} {
		var seen visits
		s := newStage(t, ringing, func(p host.Point, _ journal.Ref, _ string) {
			if c.lost != "" && p == c.lost && seen.count(p) == 1 {
				panic(errLost{})
			}
		})
		s.play("ring", map[time.Duration]func(){time.Minute: func() { s.allow(c.args) }})
		s.says("It says: tried")
		if got := s.ends("main/1.0.0", "1.0"); !slices.Equal(got, []journal.CallStatus{c.want}) {
			t.Errorf("lost at %q: the call ended %q, want %q", c.lost, got, c.want)
		}
		if !slices.Equal(s.rung, c.rung) {
			t.Errorf("lost at %q: it ran as %q, want %q", c.lost, s.rung, c.rung)
		}
	}
}

// TestOtherArgumentsWithoutAnEngine has a person give a call arguments that will not do, and then
// some that will.
func TestOtherArgumentsWithoutAnEngine(t *testing.T) {
	t.Parallel()
	s := newStage(t, ringing, nil)
	s.play("ring", map[time.Duration]func(){time.Minute: func() {
		w := rowsOf[journal.ApprovalRequested](s)[0]
		for args, problem := range map[string]string{
			`{"tune":1}`:     "tone",
			`{"tone":"low"}`: "these are the agent's own arguments",
		} {
			if got := s.review(w, args); got.Code != chat.CodeInvalid || !strings.Contains(got.Problem, problem) {
				t.Errorf("%s: %s %q, want %q", args, got.Code, got.Problem, problem)
			}
		}
		s.decide(w, true, `{"tone":"high"}`)
	}})
	s.says("It says: tried")
	if !slices.Equal(s.rung, []string{`{"tone":"high"}`}) {
		t.Errorf("the bell was rung as %q", s.rung)
	}
}

// TestTheLeadAnswersWithoutAnEngine has the lead answer a helper's question itself.
func TestTheLeadAnswersWithoutAnEngine(t *testing.T) {
	t.Parallel()
	s := newStage(t, asking(`{name: known, when: {text: 'Answer (?P<q>\S+)'}, reply: {calls: [{tool: reply_to_agent, args: {question_id: '${q}', answer: 'green', confidence: 0.9}}]}}`), nil)
	s.play("paint", nil)
	s.says("It says: green")
}

// TestAPlainMessageAnswersWithoutAnEngine has a person answer a question without saying that it is
// an answer: the lead finds out.
func TestAPlainMessageAnswersWithoutAnEngine(t *testing.T) {
	t.Parallel()
	s := newStage(t, asking(`{name: route, when: {text: 'Whose is it'}, reply: {text: '{"route": "answer"}'}}
  - {name: not known, when: {text: 'Answer '}, reply: {calls: [{tool: relay_to_user, args: {message: 'Your taste.'}}]}}`), nil)
	s.play("paint", map[time.Duration]func(){time.Minute: func() { s.say("m2", "yellow", "") }})
	s.says("It says: yellow")
}

// asking has a helper ask for a colour. The lead's rules come first.
func asking(lead string) string {
	return "name: asking\nrules:\n  - " + lead + strings.TrimPrefix(strings.ReplaceAll(one, "MORE", ""), "\nname: one\nrules:") + `
  - {name: ask, when: {tools: [submit_result], turn: 0}, reply: {calls: [{tool: ask_user, args: {question: 'Which colour?'}}]}}
  - {name: report, when: {tools: [submit_result], turn: 1, result: '(?P<what>\w+)'}, reply: {calls: [{tool: submit_result, args: {summary: '${what}'}}]}}
`
}

// refusing is a journal that refuses to give the steps of one task, the first time.
type refusing struct {
	journal.Log
	task  string
	asked atomic.Int64
}

func (r *refusing) Steps(ctx context.Context, ref journal.Ref, task string, after int) ([]journal.Stepped, error) {
	if task == r.task && r.asked.Add(1) == 1 {
		return nil, &chat.Error{Code: chat.CodeInvalid, Message: "broken"}
	}
	return r.Log.Steps(ctx, ref, task, after)
}

// TestABrokenRunWithoutAnEngine has a helper's run break, and the lead's own. The books of the
// helper are closed, and the lead is told; that the lead's turn has failed is on record.
func TestABrokenRunWithoutAnEngine(t *testing.T) {
	t.Parallel()
	s := newStage(t, ringing, nil)
	s.carrier.Log = &refusing{Log: s.log, task: "main/1.0.0"}
	s.play("ring", nil)
	s.says("It is failed.")

	s = newStage(t, ringing, nil)
	s.carrier.Log = &refusing{Log: s.log, task: host.Root}
	if err := s.run("ring", nil); err == nil {
		t.Error("a lead without steps goes on")
	}
	ends := rowsOf[journal.TurnEnded](s)
	if len(ends) != 1 || ends[0].Reason != "broken" {
		t.Errorf("the turn ended with %+v", ends)
	}
}

// TestCompactionWithoutAnEngine has a helper read more than its model takes.
func TestCompactionWithoutAnEngine(t *testing.T) {
	t.Parallel()
	s := newStage(t, `
name: long
rules:
  - {name: notes, when: {text: 'Sum it up'}, reply: {text: 'Plums were read.'}}
  - {name: done, when: {text: 'Plums were read'}, reply: {text: 'Enough.'}}
  - {name: read, when: {tools: [read_file]}, reply: {calls: [{tool: read_file, args: {path: long.md}}]}}
`, nil)
	s.window = 4000
	s.play("read", nil)
	s.says("Enough.")
}
