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

// TestACacheIsTakenUpOnlyWhereItWasLeft has legs leave their cache and others come to it.
func TestACacheIsTakenUpOnlyWhereItWasLeft(t *testing.T) {
	message := func(id string) chat.Message {
		return chat.Message{ID: id, Speaker: chat.User, Parts: []chat.Part{{Kind: chat.PartText, Text: "words of " + id}}}
	}
	run := host.RunRef{Ref: journal.Ref{Tenant: "t", Conversation: "c"}, Agent: "main", Task: "main"}
	other := run
	other.Task = "main/again"
	for name, c := range map[string]struct {
		next Input
		ends agent.Phase
		want []string
	}{
		"the next leg":               {next: Input{RunRef: run, N: 7}, want: []string{"a", "t1", "m1"}},
		"a new run":                  {next: Input{RunRef: run}},
		"somebody else has gone on":  {next: Input{RunRef: run, N: 9}},
		"another task":               {next: Input{RunRef: other, N: 7}},
		"the run has ended meantime": {next: Input{RunRef: run, N: 7}, ends: agent.Done},
	} {
		t.Run(name, func(t *testing.T) {
			h := New(Options{})
			left := h.newLeg(Input{RunRef: run})
			left.position = position{N: 7, State: agent.State{Phase: c.ends}}
			left.cache.messages, left.cache.read = []chat.Message{message("a"), message("t1")}, true
			left.cache.learn([]journal.Row{journal.MessageAdded{In: run.In(), Message: message("m1")}})
			left.cache.park()
			l := h.newLeg(c.next)
			l.cache.resume(c.next)
			var got []string
			for _, m := range l.cache.messages {
				got = append(got, m.ID)
			}
			wantN := 0
			if c.want != nil {
				wantN = 7
			}
			if l.position.N != wantN {
				t.Errorf("the leg begins at step %d, not %d", l.position.N, wantN)
			}
			if diff := cmp.Diff(c.want, got); diff != "" || l.cache.read != (c.want != nil) {
				t.Errorf("read %v, messages (-want +got):\n%s", l.cache.read, diff)
			}
			again := h.newLeg(c.next)
			if again.cache.resume(c.next); again.cache.read {
				t.Error("two legs have the same cache")
			}
		})
	}
}

// TestCachesAreForgotten leaves more caches than a host remembers.
func TestCachesAreForgotten(t *testing.T) {
	h := New(Options{})
	leave := func(agent string, bytes int) {
		l := h.newLeg(Input{RunRef: host.RunRef{Agent: agent, Task: agent}})
		l.cache.messages, l.cache.read = []chat.Message{{Parts: []chat.Part{{Text: strings.Repeat("x", bytes-100)}}}}, true
		l.cache.park()
	}
	for i := range rememberedCaches + 10 {
		leave(strconv.Itoa(i), 1000)
	}
	if n := len(h.parked); n != rememberedCaches {
		t.Errorf("%d caches are remembered, not %d", n, rememberedCaches)
	}
	for i := range allCachesBytes / cacheBytes * 2 {
		leave("large"+strconv.Itoa(i), cacheBytes)
	}
	sum := 0
	for _, d := range h.parked {
		sum += d.bytes
	}
	if sum != h.cacheBytes || sum > allCachesBytes || sum < allCachesBytes-2*cacheBytes {
		t.Errorf("%d bytes are remembered and %d counted; the limit is %d", sum, h.cacheBytes, allCachesBytes)
	}
	for key := range h.parked {
		h.forgetCache(key)
	}
	if h.cacheBytes != 0 {
		t.Errorf("%d bytes are left", h.cacheBytes)
	}
}

// two is an orchestrator who answers two messages.
const two = `
name: two
rules:
  - {name: second, when: {text: 'two'}, reply: {text: 'Second.'}}
  - {name: first, reply: {text: 'First.'}}
`

// TestACacheMayBeBehind has a leg that the engine has given up handle a message before it learns of
// that. The next leg uses the earlier cache, finds no mail, and still answers the message.
func TestACacheMayBeBehind(t *testing.T) {
	t.Parallel()
	s := newStage(t, two, nil)
	lost := New(s.carrier.Options)
	lost.Fault = func(p host.Point, _ journal.Ref, _ string) {
		if p == host.PointLegAppended {
			panic(errLost{})
		}
	}
	s.play("one", map[time.Duration]func(){time.Minute: func() {
		s.record(journal.MailPosted{ID: TopicMessage + ":m2", Topic: TopicMessage, To: host.Root},
			journal.MessageReceived{ID: "m2", By: "ann", Parts: []chat.Part{{Kind: chat.PartText, Text: "two"}}})
		func() {
			defer func() { _ = recover() }()
			_ = s.orchestrator(lost).carry(t.Context())
		}()
		s.must(s.Signal(t.Context(), s.ref, host.Root, SignalLook))
	}})
	s.says("First.", "Second.")
	if calls := s.model.Meter().Requests; calls != 2 {
		t.Errorf("%d model calls, want 2", calls)
	}
}

// TestADetourKnowsWhatNobodyBegan has two legs take a detour. The effects that the first one orders
// have surely not been begun; those left to do before the second may have been.
func TestADetourKnowsWhatNobodyBegan(t *testing.T) {
	t.Parallel()
	s := newStage(t, short, nil)
	s.opened("hello")
	for i, doubt := range []bool{false, true} {
		l := s.carrier.newLeg(Input{RunRef: host.RunRef{Ref: s.ref, Agent: host.Root, Task: host.Root}, Mode: ModeDetour})
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
