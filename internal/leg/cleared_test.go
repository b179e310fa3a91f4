package leg

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
)

// TestADeskIsTakenUpOnlyWhereItWasLeft has legs leave their desk and others come to it.
func TestADeskIsTakenUpOnlyWhereItWasLeft(t *testing.T) {
	message := func(id string) chat.Message {
		return chat.Message{ID: id, Speaker: chat.User, Parts: []chat.Part{{Kind: chat.PartText, Text: "words of " + id}}}
	}
	whose := host.Whose{Place: journal.Place{Tenant: "t", Conversation: "c"}, Agent: "main", Task: "main"}
	other := whose
	other.Task = "main/again"
	for name, c := range map[string]struct {
		next Input
		ends agent.Phase
		want []string
	}{
		"the next leg":               {next: Input{Whose: whose, N: 7}, want: []string{"a", "t1", "m1"}},
		"a new run":                  {next: Input{Whose: whose}},
		"somebody else has gone on":  {next: Input{Whose: whose, N: 9}},
		"another task":               {next: Input{Whose: other, N: 7}},
		"the run has ended meantime": {next: Input{Whose: whose, N: 7}, ends: agent.Done},
	} {
		t.Run(name, func(t *testing.T) {
			h := New(Options{})
			left := h.newLeg(Input{Whose: whose})
			left.course = course{N: 7, State: agent.State{Phase: c.ends}}
			left.desk.messages, left.desk.read = []chat.Message{message("a"), message("t1")}, true
			left.desk.learn([]journal.Row{journal.Spoke{In: whose.In(), Message: message("m1")}})
			left.desk.clear()
			l := h.newLeg(c.next)
			l.desk.resume(c.next)
			var got []string
			for _, m := range l.desk.messages {
				got = append(got, m.ID)
			}
			wantN := 0
			if c.want != nil {
				wantN = 7
			}
			if l.course.N != wantN {
				t.Errorf("the leg begins at step %d, not %d", l.course.N, wantN)
			}
			if diff := cmp.Diff(c.want, got); diff != "" || l.desk.read != (c.want != nil) {
				t.Errorf("read %v, messages (-want +got):\n%s", l.desk.read, diff)
			}
			again := h.newLeg(c.next)
			if again.desk.resume(c.next); again.desk.read {
				t.Error("two legs have the same desk")
			}
		})
	}
}

// TestDesksAreForgotten leaves more desks than a host remembers.
func TestDesksAreForgotten(t *testing.T) {
	h := New(Options{})
	leave := func(agent string, bytes int) {
		l := h.newLeg(Input{Whose: host.Whose{Agent: agent, Task: agent}})
		l.desk.messages, l.desk.read = []chat.Message{{Parts: []chat.Part{{Text: strings.Repeat("x", bytes-100)}}}}, true
		l.desk.clear()
	}
	for i := range rememberedDesks + 10 {
		leave(strconv.Itoa(i), 1000)
	}
	if n := len(h.desks); n != rememberedDesks {
		t.Errorf("%d desks are remembered, not %d", n, rememberedDesks)
	}
	for i := range allDesksBytes / deskBytes * 2 {
		leave("large"+strconv.Itoa(i), deskBytes)
	}
	sum := 0
	for _, d := range h.desks {
		sum += d.bytes
	}
	if sum != h.deskBytes || sum > allDesksBytes || sum < allDesksBytes-2*deskBytes {
		t.Errorf("%d bytes are remembered and %d counted; the limit is %d", sum, h.deskBytes, allDesksBytes)
	}
	for key := range h.desks {
		h.forgetDesk(key)
	}
	if h.deskBytes != 0 {
		t.Errorf("%d bytes are left", h.deskBytes)
	}
}

// two is an orchestrator who answers two messages.
const two = `
name: two
rules:
  - {name: second, when: {text: 'two'}, reply: {text: 'Second.'}}
  - {name: first, reply: {text: 'First.'}}
`

// TestADeskMayBeBehind has a leg that the engine has given up take a message in before it learns of that. The next leg takes up the
// desk of the one before, finds no mail, and answers the message all the same.
func TestADeskMayBeBehind(t *testing.T) {
	t.Parallel()
	s := newStage(t, two, nil)
	lost := New(s.carrier.Options)
	lost.Fault = func(p host.Point, _ journal.Place, _ string) {
		if p == host.PointLegAppended {
			panic(errLost{})
		}
	}
	s.play("one", map[time.Duration]func(){time.Minute: func() {
		s.record(journal.Posted{ID: TopicSaid + ":m2", Topic: TopicSaid, To: host.Root},
			journal.Said{ID: "m2", By: "ann", Parts: []chat.Part{{Kind: chat.PartText, Text: "two"}}})
		func() {
			defer func() { _ = recover() }()
			_ = s.orchestrator(lost).carry(t.Context())
		}()
		s.must(s.Signal(t.Context(), s.place, host.Root, SignalLook))
	}})
	s.says("First.", "Second.")
	if calls := s.model.Meter().Requests; calls != 2 {
		t.Errorf("%d model calls, want 2", calls)
	}
}

// TestADetourKnowsWhatNobodyBegan has two legs take a detour. What the first one orders has surely not been begun; what was left to do
// before the second may have been.
func TestADetourKnowsWhatNobodyBegan(t *testing.T) {
	t.Parallel()
	s := newStage(t, short, nil)
	s.opened("hello")
	for i, doubt := range []bool{false, true} {
		l := s.carrier.newLeg(Input{Whose: host.Whose{Place: s.place, Agent: host.Root, Task: host.Root}, Mode: ModeDetour})
		l.family = newFamily(s.now(), Watch{Called: t.Context(), Gone: t.Context()}, true)
		s.must(l.carry(t.Context()))
		if out := l.result(); out.Next != NextLeg || out.Dropped != doubt {
			t.Errorf("detour %d ended with %+v, want a next leg, and doubt: %v", i+1, out, doubt)
		}
	}
	if n := s.model.Meter().Requests; n != 0 {
		t.Errorf("%d model calls, want none", n)
	}
}
