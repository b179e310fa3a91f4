package leg

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
)

// TestATaskIsFoldedFromItsLastSavedState has a lead take more steps than a leg folds, and folds
// them from the beginning and from the last saved state. Both lead to the same.
func TestATaskIsFoldedFromItsLastSavedState(t *testing.T) {
	t.Parallel()
	s := newStage(t, "name: plain\nrules:\n  - {name: yes, when: {}, reply: {text: 'Yes.'}}\n", nil)
	later := map[time.Duration]func(){}
	for i := range saveEvery {
		later[time.Duration(i+1)*time.Minute] = func() { s.say(fmt.Sprint("n", i), "more", "") }
	}
	s.play("begin", later)
	fold := func(base int, strip bool) *leg {
		h := New(Options{Host: host.Options{Log: s.log}})
		if strip {
			h.Log = stripped{s.log}
		}
		l := h.newLeg(Input{RunRef: host.RunRef{Ref: s.ref, Agent: host.Root, Task: host.Root}, Base: base})
		s.must(l.fold(t.Context()))
		return l
	}
	whole, short := fold(0, true), fold(0, false)
	if short.base < saveEvery || whole.base != 0 {
		t.Fatalf("the last saved state is at step %d of %d", short.base, short.position.N)
	}
	for name, l := range map[string]*leg{"from its last saved state": short, "from the last saved state that the workflow knows": fold(short.base, false)} {
		if l.position.N != whole.position.N || !reflect.DeepEqual(l.position.State, whole.position.State) || len(l.todo) != len(whole.todo) {
			t.Errorf("%s: step %d with %d to do, and from the beginning step %d with %d", name, l.position.N, len(l.todo), whole.position.N, len(whole.todo))
		}
	}
}

// stripped is a journal whose steps have no states.
type stripped struct{ journal.Log }

func (s stripped) Steps(ctx context.Context, ref journal.Ref, task string, after int) ([]journal.Stepped, error) {
	steps, err := s.Log.Steps(ctx, ref, task, after)
	for i := range steps {
		steps[i].State = nil
	}
	return steps, err
}

// TestMailOfANewerBuild has mail that this build cannot read: the leg fails, and what waits stays.
func TestMailOfANewerBuild(t *testing.T) {
	t.Parallel()
	s := newStage(t, fruit, nil)
	l := s.carrier.newLeg(Input{RunRef: host.RunRef{Ref: s.ref, Agent: host.Root, Task: host.Root}})
	for _, p := range []journal.MailPosted{
		{ID: "x", Topic: "sung", To: host.Root},
		{ID: "y", Topic: TopicAgent, To: host.Root, Event: json.RawMessage(`{"name":"Sung","event":{}}`)},
	} {
		if _, err := l.event(t.Context(), p); err == nil || host.Refused(err) || !strings.Contains(err.Error(), "newer build") {
			t.Errorf("%s: %v", p.Topic, err)
		}
	}
}

// strangeMail is a journal in which mail waits that this build cannot read.
type strangeMail struct {
	journal.Log
	read func()
}

func (m strangeMail) Mail(context.Context, journal.Ref, string) ([]journal.Entry, error) {
	m.read()
	return []journal.Entry{{Seq: 1, Row: journal.MailPosted{ID: "x", Topic: "sung", To: host.Root}}}, nil
}

// TestWhatIsUnderWayEndsBeforeANewerBuildTakesOver has a leg find mail that only a newer build can
// read while a call is under way. The call is not cut off: it ends, the leg begins nothing more,
// and then it fails so that the newer build continues.
func TestWhatIsUnderWayEndsBeforeANewerBuildTakesOver(t *testing.T) {
	t.Parallel()
	s := newStage(t, short, nil)
	l := s.orchestrator(New(s.carrier.Options))
	call, cancel := context.WithCancelCause(t.Context())
	l.running["call"] = &effectRun{cancel: cancel}
	bell := make(chan struct{}, 1)
	bell <- struct{}{}
	var looks atomic.Int64
	l.Log = strangeMail{Log: s.log, read: func() {
		if looks.Add(1) == 1 {
			time.AfterFunc(50*time.Millisecond, func() { l.landed <- completion{key: "call"} })
		}
	}}
	err := l.carryOn(t.Context(), bell)
	if why := l.family.leftTo(); err != nil || why == nil || !strings.Contains(why.Error(), "a newer build has to read it") {
		t.Errorf("the leg ends with %v, and leaves to a newer build %v", err, why)
	}
	if call.Err() != nil || len(l.running) > 0 || !l.yield || looks.Load() != 1 {
		t.Errorf("the call: %v; %d under way, begins nothing more: %t; %d looks", context.Cause(call), len(l.running), l.yield, looks.Load())
	}
}

// TestMailThatHasToWait has a person send more messages than an agent accepts while it waits for a
// helper. The others wait until it has read the first ones.
func TestMailThatHasToWait(t *testing.T) {
	t.Parallel()
	script := strings.ReplaceAll(one, "MORE", "") + `
  - {name: work, when: {tools: [submit_result]}, reply: {delay: 300ms, calls: [{tool: submit_result, args: {summary: 'a canary'}}]}}
`
	const more = 150
	var s *stage
	var seen visits
	s = newStage(t, script, func(p host.Point, _ journal.Ref, task string) {
		if p == host.PointModelCall && task != host.Root && seen.count(p) == 1 {
			for i := range more {
				s.say(fmt.Sprint("n", i), fmt.Sprintf("and %d.", i), "")
			}
		}
	})
	s.play("find a bird", nil)
	messages, err := s.log.Transcript(t.Context(), s.ref, host.Root, journal.Page{Limit: journal.PageMaxLimit})
	s.must(err)
	var read strings.Builder
	for _, m := range messages {
		if m.Speaker == chat.User {
			read.WriteString(journal.Words(m.Parts))
		}
	}
	for i := range more {
		if !strings.Contains(read.String(), fmt.Sprintf("and %d.", i)) {
			t.Fatalf("the agent has not read message %d of %d", i+1, more)
		}
	}
}
