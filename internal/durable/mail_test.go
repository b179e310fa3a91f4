package durable

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// TestMailForNobody has a person's correction reach a helper that has finished. It goes back to the lead, who reads it. A decision for
// a helper that has finished is refused.
func TestMailForNobody(t *testing.T) {
	t.Parallel()
	s := newStage(t, `
name: nobody
rules:
  - {name: corrected, when: {tools: [spawn_agents], no_tools: [submit_result], text: 'red after all'}, reply: {text: 'Red it is.'}}
`+strings.TrimPrefix(strings.ReplaceAll(one, "MORE", ""), "\nname: one\nrules:\n")+`
  - {name: work, when: {tools: [submit_result]}, reply: {calls: [{tool: submit_result, args: {summary: 'done'}}]}}
`, nil)
	s.play("paint", map[time.Duration]func(){time.Hour: func() {
		body, err := agent.MarshalEvent(agent.Corrected{Seq: 2})
		s.must(err)
		_, err = s.log.Append(t.Context(), s.place, s.env.Now(), journal.Said{ID: "m2", By: "ann", Parts: []chat.Part{{Kind: chat.PartText, Text: "red after all"}}},
			journal.Posted{ID: "late", Topic: topicTold, To: "main/1.0.0", Event: body, Number: 2})
		s.must(err)
		if n, err := (&Sweeper{Client: s.client, Age: -time.Second}).Pass(t.Context()); n != 1 || err != nil {
			t.Errorf("%d were swept: %v", n, err)
		}
		err = s.client.Decide(t.Context(), s.place, journal.Decided{In: journal.In{Agent: "main/1.0.0", Task: "main/1.0.0"}, Call: "9.9", By: "ann"})
		if chat.CodeOf(err) != chat.CodeConflict {
			t.Errorf("a decision for nobody: %v, want a conflict", err)
		}
	}})
	var back []string
	for _, p := range rowsOf[journal.Posted](s) {
		if p.To == Root && p.Topic == topicTold && strings.Contains(string(p.Event), "Undelivered") {
			back = append(back, p.ID)
		}
	}
	if want := []string{"main/1.0.0#undelivered/2"}; !slices.Equal(back, want) {
		t.Errorf("%q came back, want %q", back, want)
	}
	if left, err := s.log.Pending(t.Context(), s.env.Now().Add(time.Hour), 10); len(left) > 0 || err != nil {
		t.Errorf("%+v waits: %v", left, err)
	}
}

// TestATaskIsFoldedFromItsLastCourse has a lead take more steps than a leg folds, and folds them from the beginning and from the
// last course. Both lead to the same.
func TestATaskIsFoldedFromItsLastCourse(t *testing.T) {
	t.Parallel()
	s := newStage(t, "name: plain\nrules:\n  - {name: yes, when: {}, reply: {text: 'Yes.'}}\n", nil)
	later := map[time.Duration]func(){}
	for i := range courseEvery {
		later[time.Duration(i+1)*time.Minute] = func() { s.say(fmt.Sprint("n", i), "more", "") }
	}
	s.play("begin", later)
	fold := func(base int, strip bool) *leg {
		h := NewHost(Options{Log: s.log})
		if strip {
			h.Log = stripped{s.log}
		}
		l := h.newLeg(LegInput{Whose: Whose{Place: s.place, Agent: Root, Task: Root}, Base: base})
		s.must(l.fold(t.Context()))
		return l
	}
	whole, short := fold(0, true), fold(0, false)
	if short.base < courseEvery || whole.base != 0 {
		t.Fatalf("the last course is at step %d of %d", short.base, short.course.N)
	}
	for name, l := range map[string]*leg{"from its last course": short, "from the last course that the workflow knows": fold(short.base, false)} {
		if l.course.N != whole.course.N || !reflect.DeepEqual(l.course.State, whole.course.State) || len(l.todo) != len(whole.todo) {
			t.Errorf("%s: step %d with %d to do, and from the beginning step %d with %d", name, l.course.N, len(l.todo), whole.course.N, len(whole.todo))
		}
	}
}

// stripped is a journal whose steps have no courses.
type stripped struct{ journal.Log }

func (s stripped) Steps(ctx context.Context, place journal.Place, task string, after int) ([]journal.Stepped, error) {
	steps, err := s.Log.Steps(ctx, place, task, after)
	for i := range steps {
		steps[i].Course = nil
	}
	return steps, err
}

// TestMailOfANewerBuild has mail that this build cannot read: the leg fails, and what waits stays.
func TestMailOfANewerBuild(t *testing.T) {
	t.Parallel()
	s := newStage(t, fruit, nil)
	l := s.host.newLeg(LegInput{Whose: Whose{Place: s.place, Agent: Root, Task: Root}})
	for _, p := range []journal.Posted{
		{ID: "x", Topic: "sung", To: Root},
		{ID: "y", Topic: topicTold, To: Root, Event: json.RawMessage(`{"name":"Sung","event":{}}`)},
	} {
		if _, err := l.event(t.Context(), p); err == nil || refused(err) || !strings.Contains(err.Error(), "newer build") {
			t.Errorf("%s: %v", p.Topic, err)
		}
	}
}
