package leg

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
)

// fruit has a lead who hands out two files to read, and answers with what comes back.
const fruit = `
name: fruit
rules:
  - name: hand out
    when: {tools: [spawn_agents], no_tools: [submit_result], results: false}
    reply:
      calls:
        - tool: spawn_agents
          args: {tasks: [{role: helper, task: 'Research plums'}, {role: helper, task: 'Research pears'}]}
  - name: answer
    when: {tools: [spawn_agents], no_tools: [submit_result], results: true, result: '(?s)plums\.md.*pears\.md'}
    reply: {text: 'Both were read.'}
  - name: read
    when: {tools: [submit_result], results: false, text: 'Research (?P<what>\w+)'}
    reply: {calls: [{tool: read_file, args: {path: '${what}.md'}}]}
  - name: hand in
    when: {tools: [submit_result], results: true, text: 'Research (?P<what>\w+)'}
    reply: {calls: [{tool: submit_result, args: {summary: 'I read ${what}.md'}}]}
`

// one is a lead who sends one helper, and reports its result. The rules of the helper are to be
// added.
const one = `
name: one
rules:
  - {name: send, when: {tools: [spawn_agents], no_tools: [submit_result], turn: 0}, reply: {calls: [{tool: spawn_agents, args: {tasks: [{role: helper, task: 'Go'MORE}]}}]}}
  - {name: done, when: {tools: [spawn_agents], no_tools: [submit_result], result: '"result":"(?P<what>[^"]+)"'}, reply: {text: 'It says: ${what}'}}
  - {name: failed, when: {tools: [spawn_agents], no_tools: [submit_result], result: '"status":"(?P<what>\w+)"'}, reply: {text: 'It is ${what}.'}}
`

// TestDelegationWithoutAnEngine has a lead delegate to two helpers. A leg is lost once, at each
// point that legs reach, each time they reach it. The outcome is the same, and each task ends once.
func TestDelegationWithoutAnEngine(t *testing.T) {
	t.Parallel()
	for _, point := range []host.Point{host.PointLegBegin, host.PointLegFolded, host.PointLegAppend, host.PointLegAppended, host.PointLegEnd} {
		for nth, lost := 1, true; lost; nth++ {
			lost = delegate(t, point, nth)
			if nth == 2 && !lost {
				t.Errorf("no leg was lost at %s for the second time", point)
			}
		}
	}
}

// delegate plays fruit, and loses a leg when one comes to a point for the nth time. It reports
// whether one did.
func delegate(t *testing.T, point host.Point, nth int) (lost bool) {
	t.Helper()
	var seen visits
	s := newStage(t, fruit, func(p host.Point, _ journal.Ref, _ string) {
		if p == point && seen.count(p) == nth {
			panic(errLost{})
		}
	})
	s.play("compare", nil)
	s.says("Both were read.")
	var ended []string
	for _, f := range rowsOf[journal.TaskEnded](s) {
		ended = append(ended, f.Task+" "+string(f.Status))
	}
	slices.Sort(ended)
	if want := []string{"main completed", "main/1.0.0 completed", "main/1.0.1 completed"}; !slices.Equal(ended, want) {
		t.Errorf("a leg was lost at %s, visit %d: %q ended, want %q", point, nth, ended, want)
	}
	// Each of six model calls is made once, and those of the two helpers that were under way in the
	// lost leg once more.
	if calls := len(rowsOf[journal.ModelCalled](s)); calls < 6 || calls > 8 {
		t.Errorf("a leg was lost at %s, visit %d: %d model calls, want 6 to 8", point, nth, calls)
	}
	return seen.count(point) > nth
}

// TestApprovalsWithoutAnEngine has a helper ask to write a file, and a person allow or deny it, or
// not answer.
func TestApprovalsWithoutAnEngine(t *testing.T) {
	t.Parallel()
	script := strings.ReplaceAll(one, "MORE", "") + `
  - {name: write, when: {tools: [submit_result], turn: 0}, reply: {calls: [{tool: write_file, args: {path: new.md, content: 'new'}}]}}
  - {name: written, when: {tools: [submit_result], turn: 1}, reply: {calls: [{tool: submit_result, args: {summary: 'tried'}}]}}
`
	for name, c := range map[string]struct {
		decide bool
		allow  bool
		want   journal.CallStatus
	}{
		"allowed":    {decide: true, allow: true, want: journal.CallCompleted},
		"denied":     {decide: true, want: journal.CallDenied},
		"unanswered": {want: journal.CallTimedOut},
	} {
		s := newStage(t, script, nil)
		s.play("write", map[time.Duration]func(){time.Minute: func() {
			for _, w := range rowsOf[journal.ApprovalRequested](s) {
				if c.decide {
					s.decide(w, c.allow, "")
				}
			}
		}})
		s.says("It says: tried")
		if got := s.ends("main/1.0.0", "1.0"); !slices.Equal(got, []journal.CallStatus{c.want}) {
			t.Errorf("%s: the call ended %q, want %q", name, got, c.want)
		}
	}
}

// TestAQuestionWithoutAnEngine has a helper ask, and a person answer.
func TestAQuestionWithoutAnEngine(t *testing.T) {
	t.Parallel()
	s := newStage(t, asking(`{name: not known, when: {text: 'Answer '}, reply: {calls: [{tool: relay_to_user, args: {message: 'Your taste.'}}]}}`), nil)
	s.play("paint", map[time.Duration]func(){time.Minute: func() { s.say("m2", "yellow", "main/1.0.0#1.0") }})
	s.says("It says: yellow")
}

// TestABackgroundTaskWithoutAnEngine has a helper report after the turn that sent it.
func TestABackgroundTaskWithoutAnEngine(t *testing.T) {
	t.Parallel()
	s := newStage(t, `
name: background
rules:
  - {name: back, when: {tools: [spawn_agents], no_tools: [submit_result], text: 'the mine sings'}, reply: {text: 'It has come back.'}}
  - {name: on its way, when: {tools: [spawn_agents], no_tools: [submit_result], turn: 1}, reply: {text: 'It is on its way.'}}
`+strings.TrimPrefix(strings.ReplaceAll(one, "MORE", ", background: true"), "\nname: one\nrules:\n")+`
  - {name: work, when: {tools: [submit_result]}, reply: {delay: 300ms, calls: [{tool: submit_result, args: {summary: 'The canary in the mine sings.'}}]}}
`, nil)
	s.play("send", nil)
	s.says("It is on its way.", "It has come back.")
}

// TestACancelWithoutAnEngine has a person stop everything while a helper waits for a decision, and
// stop that task alone.
func TestACancelWithoutAnEngine(t *testing.T) {
	t.Parallel()
	script := strings.ReplaceAll(one, "MORE", "") + `
  - {name: write, when: {tools: [submit_result]}, reply: {calls: [{tool: write_file, args: {path: new.md, content: 'new'}}]}}
`
	for task, says := range map[string][]string{"": nil, "main/1.0.0": {"It is cancelled."}} {
		s := newStage(t, script, nil)
		s.play("write", map[time.Duration]func(){time.Minute: func() { s.cancel(task) }})
		s.says(says...)
		ended := rowsOf[journal.TaskEnded](s)
		i := slices.IndexFunc(ended, func(f journal.TaskEnded) bool { return f.Task == "main/1.0.0" })
		if i < 0 || ended[i].Status != chat.StatusCancelled {
			t.Errorf("cancel of %q: the helper ended %+v", task, ended)
		}
		for _, r := range rowsOf[journal.ToolStarted](s) {
			t.Errorf("cancel of %q: call %s began", task, r.Call)
		}
	}
}

// TestAMessageMeetsALegWithoutAnEngine has a person say more while a helper works: the lead reads
// it with the report.
func TestAMessageMeetsALegWithoutAnEngine(t *testing.T) {
	t.Parallel()
	script := strings.ReplaceAll(one, "MORE", "") + `
  - {name: work, when: {tools: [submit_result]}, reply: {delay: 500ms, calls: [{tool: submit_result, args: {summary: 'a canary'}}]}}
`
	var s *stage
	var seen visits
	s = newStage(t, script, func(p host.Point, _ journal.Ref, task string) {
		if p == host.PointModelCall && task != host.Root && seen.count(p) == 1 {
			s.say("m2", "a yellow one", "")
		}
	})
	s.play("find a bird", nil)
	s.says("It says: a canary")
	messages, err := s.log.Transcript(t.Context(), s.ref, host.Root, journal.Page{})
	s.must(err)
	var with bool
	for _, m := range messages {
		words := journal.Words(m.Parts)
		with = with || strings.Contains(words, "a yellow one") && m.Speaker == chat.User && len(m.Parts) > 1
	}
	if !with {
		t.Error("the second message was not read with the report")
	}
}

// TestALostLegAndAnApproval loses a leg each time that a step is recorded, while a helper asks for
// a write that a person allows a minute later. By then no agent has anything under way.
func TestALostLegAndAnApproval(t *testing.T) {
	t.Parallel()
	script := strings.ReplaceAll(one, "MORE", "") + `
  - {name: write, when: {tools: [submit_result], turn: 0}, reply: {calls: [{tool: write_file, args: {path: new.md, content: 'new'}}]}}
  - {name: written, when: {tools: [submit_result], turn: 1}, reply: {calls: [{tool: submit_result, args: {summary: 'tried'}}]}}
`
	for nth, lost := 1, true; lost; nth++ {
		var seen visits
		s := newStage(t, script, func(p host.Point, _ journal.Ref, _ string) {
			if p == host.PointLegAppended && seen.count(p) == nth {
				panic(errLost{})
			}
		})
		s.play("write", map[time.Duration]func(){time.Minute: func() {
			for _, w := range rowsOf[journal.ApprovalRequested](s) {
				s.decide(w, true, "")
			}
		}})
		s.says("It says: tried")
		if got := s.ends("main/1.0.0", "1.0"); !slices.Equal(got, []journal.CallStatus{journal.CallCompleted}) {
			t.Errorf("lost at step %d: the call ended %q", nth, got)
		}
		lost = seen.count(host.PointLegAppended) > nth
	}
}
