package leg

import (
	"slices"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
)

// TestFamiliesOfAnySize has a lead delegate to two helpers, of which its leg carries both, one or
// none. The outcome is the same, and each task ends once.
func TestFamiliesOfAnySize(t *testing.T) {
	t.Parallel()
	for size, runs := range map[int]int{2: 0, 1: 1, -1: 2} {
		var seen visits
		s := newStage(t, fruit, func(p host.Point, _ journal.Ref, _ string) { seen.count(p) })
		s.carrier.Family = size
		s.play("compare", nil)
		s.says("Both were read.")
		var ended []string
		for _, f := range rowsOf[journal.TaskEnded](s) {
			ended = append(ended, f.Task+" "+string(f.Status))
		}
		slices.Sort(ended)
		if want := []string{"main completed", "main/1.0.0 completed", "main/1.0.1 completed"}; !slices.Equal(ended, want) {
			t.Errorf("a family of %d: %q ended, want %q", size, ended, want)
		}
		if n := seen.count(host.PointStartChild) - 1; n != runs {
			t.Errorf("a family of %d: %d helpers have runs of their own, want %d", size, n, runs)
		}
		if calls := len(rowsOf[journal.ModelCalled](s)); calls != 6 {
			t.Errorf("a family of %d: %d model calls, want 6", size, calls)
		}
	}
}

// TestAFamilyWaits has two helpers ask to write a file. While one has its answer and works, the
// other waits. When both wait, no leg runs.
func TestAFamilyWaits(t *testing.T) {
	t.Parallel()
	script := `
name: writers
rules:
  - {name: send, when: {tools: [spawn_agents], no_tools: [submit_result], turn: 0}, reply: {calls: [{tool: spawn_agents, args: {tasks: [{role: helper, task: a}, {role: helper, task: b}]}}]}}
  - {name: done, when: {tools: [spawn_agents], no_tools: [submit_result]}, reply: {text: 'Both tried.'}}
  - {name: write, when: {tools: [submit_result], turn: 0, text: '(?P<what>[ab])$'}, reply: {calls: [{tool: write_file, args: {path: '${what}.md', content: 'new'}}]}}
  - {name: written, when: {tools: [submit_result], turn: 1}, reply: {calls: [{tool: submit_result, args: {summary: 'tried'}}]}}
`
	var seen visits
	var s *stage
	decide := func(id string) {
		for _, w := range rowsOf[journal.ApprovalRequested](s) {
			if w.Agent == id {
				s.decide(w, true, "")
			}
		}
	}
	s = newStage(t, script, func(p host.Point, _ journal.Ref, _ string) { seen.count(p) })
	s.play("write", map[time.Duration]func(){
		time.Minute:     func() { decide("main/1.0.1") },
		2 * time.Minute: func() { decide("main/1.0.0") },
	})
	s.says("Both tried.")
	if begun, ended := seen.count(host.PointLegBegin)-1, seen.count(host.PointLegEnd)-1; begun != ended || begun < 3 {
		t.Errorf("%d legs began and %d ended, want at least three: one for the message and one for each decision", begun, ended)
	}
	if calls := len(rowsOf[journal.ModelCalled](s)); calls != 6 {
		t.Errorf("%d model calls, want 6: nobody begins again because another was answered", calls)
	}
}

// TestALateCompletionIsNotTaken has a leg give up a call, as one does whose worker is stopped. That
// it ends later changes nothing.
func TestALateCompletionIsNotTaken(t *testing.T) {
	t.Parallel()
	s := newStage(t, fruit, nil)
	l := s.carrier.newLeg(Input{})
	l.family = newFamily(s.now(), Watch{}, false)
	if err := l.complete(t.Context(), completion{key: "model/1.1", event: agent.ModelFailed{Turn: 1, Attempt: 1}}, nil); err != nil || l.position.N != 0 {
		t.Errorf("step %d was taken: %v", l.position.N, err)
	}
}

// TestFamilyCounts has children join and return in every order. The family leaves when no agent
// works, and not before.
func TestFamilyCounts(t *testing.T) {
	t.Parallel()
	still := func(f *family) bool {
		select {
		case <-f.quiet:
			return true
		default:
			return false
		}
	}
	for order := range 6 {
		f := newFamily(time.Now(), Watch{}, false)
		eldest, first, second := &leg{family: f}, &leg{family: f}, &leg{family: f}
		for i := range 3 {
			if f.join(2) != (i < 2) {
				t.Fatal("a family of two has room for two")
			}
		}
		steps := []func(){eldest.rest, first.rest, second.rest}
		for i := range 3 {
			if still(f) {
				t.Errorf("order %d: the family leaves while somebody works", order)
			}
			steps[(order+i*(1+order%2))%3]()
		}
		if !still(f) || !f.leaves() {
			t.Errorf("order %d: nobody works, and the family stays", order)
		}
	}
	f := newFamily(time.Now(), Watch{}, false)
	eldest, child := &leg{family: f}, &leg{family: f}
	f.join(1)
	eldest.rest()
	child.rouse()
	eldest.takeOver() // the child has come back
	if still(f) || f.size != 0 || f.working != 1 {
		t.Errorf("size %d, %d at work", f.size, f.working)
	}
	eldest.rest()
	if !still(f) {
		t.Error("nobody works, and the family stays")
	}
}
