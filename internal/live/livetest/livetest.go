// Package livetest is the suite that every live.Bus must pass. It is test support and imports live
// and chat.
package livetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/live"
)

// Open makes a bus as a publisher and as a reader see it, each with this buffer. In one process
// they may be the same. The suite closes them.
type Open func(tb testing.TB, buffer int) (publisher, reader live.Bus)

// patience is how long a notice that must come may take. Nothing here waits for one that must not.
const patience = time.Minute

// Run runs the suite.
func Run(t *testing.T, open Open) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, Open)
	}{
		{"whole notices arrive", testWhole},
		{"each publisher's order is kept", testOrder},
		{"hostile ids reach only their own readers", testIsolation},
		{"a reader of a tenant gets its pokes and nothing else", testTenant},
		{"ids without a place are refused", testRefusedIDs},
		{"what is too large or not text is refused", testRefusedDeltas},
		{"a slow reader is cut off, others are not", testSlow},
		{"a publisher without readers is not held up", testNobody},
		{"a reader joins without the past", testJoin},
		{"closing is not slowness", testClose},
		{"readers come and go while others publish", testChurn},
		{"a feed and a draft survive splits and restarts", testFeed},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open) })
	}
}

func buses(tb testing.TB, open Open, buffer int) (publisher, reader live.Bus) {
	tb.Helper()
	publisher, reader = open(tb, buffer)
	tb.Cleanup(publisher.Close)
	tb.Cleanup(reader.Close)
	return publisher, reader
}

func subscribe(tb testing.TB, bus live.Bus, topic live.Topic) *live.Reader {
	tb.Helper()
	r, err := bus.Subscribe(tb.Context(), topic)
	if err != nil {
		tb.Fatalf("subscribe to %q: %v", topic, err)
	}
	return r
}

// next waits for a notice.
func next(tb testing.TB, r *live.Reader) live.Notice {
	tb.Helper()
	select {
	case n, ok := <-r.Notices():
		if !ok {
			tb.Fatalf("the reader has ended: %v", r.Err())
		}
		return n
	case <-time.After(patience):
		tb.Fatal("no notice came")
	}
	return nil
}

// end reads the rest of a reader that must have ended.
func end(tb testing.TB, r *live.Reader) (left []live.Notice) {
	tb.Helper()
	for late := time.After(patience); ; {
		select {
		case n, ok := <-r.Notices():
			if !ok {
				return left
			}
			left = append(left, n)
		case <-late:
			tb.Fatal("the reader does not end")
		}
	}
}

var topic = live.Topic{Tenant: "t1", Conversation: "c1"}

func delta(topic live.Topic, n int) live.Delta {
	return live.Delta{
		Topic: topic, Agent: "c1/a", Message: "m7", Began: 5, Part: 1, Kind: chat.PartText,
		Offset: int64(n), Text: "x",
	}
}

func testWhole(t *testing.T, open Open) {
	publisher, reader := buses(t, open, 8)
	r := subscribe(t, reader, topic)
	want := []live.Notice{
		live.Delta{
			Topic: topic, Agent: "c1/a.2", Message: "m7", Began: 1 << 60, Part: 3,
			Kind: chat.PartToolUse, Tool: "read_file", Offset: 1 << 40, Text: "{\"p\": \"<é\u2028\x00\">",
		},
		live.Appended{Topic: topic, Seq: 1 << 50},
		delta(topic, 0),
	}
	for _, n := range want {
		switch n := n.(type) {
		case live.Delta:
			publisher.Publish(n)
		case live.Appended:
			publisher.Announce(n)
		case live.Resync:
		}
	}
	for _, w := range want {
		if got := next(t, r); got != w {
			t.Errorf("got %#v, want %#v", got, w)
		}
	}
}

func testOrder(t *testing.T, open Open) {
	const publishers, each = 4, 500
	publisher, reader := buses(t, open, publishers*each)
	r := subscribe(t, reader, topic)
	var all sync.WaitGroup
	for p := range publishers {
		all.Go(func() {
			for i := range each {
				d := delta(topic, i)
				d.Part = p
				publisher.Publish(d)
			}
		})
	}
	all.Wait()
	var seen [publishers]int64
	for range publishers * each {
		d, ok := next(t, r).(live.Delta)
		if !ok || d.Offset != seen[d.Part] {
			t.Fatalf("publisher %d: got number %d, want %d", d.Part, d.Offset, seen[d.Part])
		}
		seen[d.Part]++
	}
}

// testIsolation gives every pair of ids one reader and one delta. Each reader then gets an
// announcement, and any delta of another pair would have come before that.
func testIsolation(t *testing.T, open Open) {
	publisher, reader := buses(t, open, 1024)
	ids := []string{
		"*", ">", "a.b", "a", "b", "A", "a.*", "a.>", ".", "..", " ", "\t\r\n", "é", "日本語", "\x00",
		"$SYS", "_INBOX.>", "-", "/", "a/b", "'; --", strings.Repeat("*", live.MaxID),
	}
	readers := map[live.Topic]*live.Reader{}
	for _, tenant := range ids {
		for _, conversation := range ids {
			topic := live.Topic{Tenant: tenant, Conversation: conversation}
			readers[topic] = subscribe(t, reader, topic)
		}
	}
	for topic := range readers {
		publisher.Publish(delta(topic, 0))
	}
	for topic := range readers {
		publisher.Announce(live.Appended{Topic: topic, Seq: 1})
	}
	for topic, r := range readers {
		if got := next(t, r); got != delta(topic, 0) {
			t.Errorf("%q: got %#v", topic, got)
		}
		if got := next(t, r); got != (live.Appended{Topic: topic, Seq: 1}) {
			t.Errorf("%q: got %#v, want only its own delta and its poke", topic, got)
		}
	}
}

// testTenant reads whole tenants with ids that would name others if they were not encoded. Each
// gets the pokes of its own conversations in order; an event of another tenant would have come
// before.
func testTenant(t *testing.T, open Open) {
	publisher, reader := buses(t, open, 1024)
	tenants := []string{"*", ">", "a.b", "a", "a.*", " ", "é", strings.Repeat("*", live.MaxID)}
	conversations := []string{"*", ">", "b", "b.p", "日本語", "-"}
	readers := map[string]*live.Reader{}
	for _, tenant := range tenants {
		readers[tenant] = subscribe(t, reader, live.Topic{Tenant: tenant})
	}
	for i, conversation := range conversations {
		for _, tenant := range tenants {
			topic := live.Topic{Tenant: tenant, Conversation: conversation}
			publisher.Publish(delta(topic, 0))
			publisher.Announce(live.Appended{Topic: topic, Seq: int64(i)})
		}
	}
	for tenant, r := range readers {
		for i, conversation := range conversations {
			want := live.Appended{Topic: live.Topic{Tenant: tenant, Conversation: conversation}, Seq: int64(i)}
			if got := next(t, r); got != want {
				t.Errorf("%q: got %#v, want %#v", tenant, got, want)
			}
		}
	}
}

func testRefusedIDs(t *testing.T, open Open) {
	publisher, reader := buses(t, open, 8)
	long := strings.Repeat("x", live.MaxID+1)
	bad := []live.Topic{
		{},
		{Tenant: "t"},
		{Conversation: "c"},
		{Tenant: long, Conversation: "c"},
		{Tenant: "t", Conversation: long},
	}
	for _, topic := range bad {
		if _, err := reader.Subscribe(t.Context(), topic); chat.CodeOf(err) != chat.CodeInvalid && topic != topic.Whole() {
			t.Errorf("subscribe to %q: %v, want a refusal", topic, err)
		}
		publisher.Publish(delta(topic, 0))
		publisher.Announce(live.Appended{Topic: topic, Seq: 1})
	}
	want := live.Counts{Refused: int64(2 * len(bad))}
	if got := publisher.Counts(); got != want {
		t.Errorf("counts are %+v, want %+v", got, want)
	}
}

func testRefusedDeltas(t *testing.T, open Open) {
	publisher, reader := buses(t, open, 8)
	r := subscribe(t, reader, topic)
	for _, text := range []string{strings.Repeat("x", live.MaxText+1), "a\xffb", "\xe6\x97"} {
		d := delta(topic, 0)
		d.Text = text
		publisher.Publish(d)
	}
	largest := delta(topic, 0)
	largest.Text = strings.Repeat("x", live.MaxText)
	publisher.Publish(largest)
	if got := next(t, r); got != largest {
		t.Errorf("got %.80v, want the largest allowed", got)
	}
	if got := publisher.Counts().Refused; got != 3 {
		t.Errorf("%d refused, want 3", got)
	}
}

func testSlow(t *testing.T, open Open) {
	const buffer = 16
	publisher, reader := buses(t, open, buffer)
	slow, quick := subscribe(t, reader, topic), subscribe(t, reader, topic)
	for i := range 3 * buffer {
		publisher.Publish(delta(topic, i))
		if got := next(t, quick); got != delta(topic, i) {
			t.Fatalf("the quick reader got %#v, want number %d", got, i)
		}
	}
	got := end(t, slow)
	if !errors.Is(slow.Err(), live.ErrSlow) {
		t.Errorf("the slow reader ended with %v, want ErrSlow", slow.Err())
	}
	if len(got) != buffer || got[0] != delta(topic, 0) || got[buffer-1] != delta(topic, buffer-1) {
		t.Errorf("the slow reader got %d notices, want the first %d in order", len(got), buffer)
	}
	if err := quick.Err(); err != nil {
		t.Errorf("the quick reader ended with %v", err)
	}
	if got := reader.Counts().Cut; got != 1 {
		t.Errorf("%d readers cut off, want 1", got)
	}
	slow.Close()
	if !errors.Is(slow.Err(), live.ErrSlow) {
		t.Errorf("closing changed why the reader ended to %v", slow.Err())
	}
}

func testNobody(t *testing.T, open Open) {
	const many = 20000
	publisher, _ := buses(t, open, 1)
	free := make(chan struct{})
	go func() {
		defer close(free)
		for i := range many {
			publisher.Publish(delta(topic, i))
		}
	}()
	select {
	case <-free:
	case <-time.After(patience):
		t.Fatal("the publisher is held up")
	}
	publisher.Close()
	if c := publisher.Counts(); c.Sent+c.Lost != many || c.Refused != 0 {
		t.Errorf("counts are %+v, want %d sent or lost", c, many)
	}
}

func testJoin(t *testing.T, open Open) {
	publisher, reader := buses(t, open, 8)
	early := subscribe(t, reader, topic)
	publisher.Publish(delta(topic, 0))
	next(t, early)
	late := subscribe(t, reader, topic)
	publisher.Publish(delta(topic, 1))
	if got := next(t, late); got != delta(topic, 1) {
		t.Errorf("the late reader got %#v, want number 1", got)
	}
	early.Close()
	late.Close()
	again := subscribe(t, reader, topic)
	publisher.Publish(delta(topic, 2))
	if got := next(t, again); got != delta(topic, 2) {
		t.Errorf("a reader after the last one left got %#v, want number 2", got)
	}
}

func testClose(t *testing.T, open Open) {
	publisher, reader := buses(t, open, 8)
	gone, stays := subscribe(t, reader, topic), subscribe(t, reader, topic)
	gone.Close()
	gone.Close()
	publisher.Publish(delta(topic, 0))
	if got := next(t, stays); got != delta(topic, 0) {
		t.Errorf("got %#v", got)
	}
	if left := end(t, gone); len(left) > 0 || !errors.Is(gone.Err(), live.ErrClosed) {
		t.Errorf("the closed reader got %v and ended with %v", left, gone.Err())
	}
	reader.Close()
	reader.Close()
	if end(t, stays); !errors.Is(stays.Err(), live.ErrClosed) {
		t.Errorf("the reader of a closed bus ended with %v", stays.Err())
	}
	if _, err := reader.Subscribe(t.Context(), topic); !errors.Is(err, live.ErrClosed) {
		t.Errorf("subscribe to a closed bus: %v", err)
	}
	publisher.Close()
	publisher.Publish(delta(topic, 1))
	publisher.Announce(live.Appended{Topic: topic, Seq: 1})
}

// testChurn has everything happen at once, closing included. A reader that stays sees every poke
// between its first and its last; those that leave are gone for good.
func testChurn(t *testing.T, open Open) {
	const notices, visitors, visits = 300, 4, 25
	publisher, reader := buses(t, open, 2*notices)
	stays := subscribe(t, reader, topic)
	var all sync.WaitGroup
	for range visitors {
		all.Go(func() {
			for range visits {
				r, err := reader.Subscribe(t.Context(), topic)
				if errors.Is(err, live.ErrClosed) {
					return
				}
				if err != nil {
					t.Errorf("subscribe: %v", err)
					return
				}
				r.Close()
			}
		})
	}
	all.Go(func() {
		for i := range notices {
			publisher.Announce(live.Appended{Topic: topic, Seq: int64(i)})
		}
	})
	for i := range notices {
		if got := next(t, stays); got != (live.Appended{Topic: topic, Seq: int64(i)}) {
			t.Fatalf("got %#v, want number %d", got, i)
		}
	}
	all.Go(func() {
		for i := range notices {
			publisher.Publish(delta(topic, i))
		}
	})
	reader.Close()
	publisher.Close()
	all.Wait()
	if end(t, stays); !errors.Is(stays.Err(), live.ErrClosed) {
		t.Errorf("the reader that stayed ended with %v", stays.Err())
	}
}

func testFeed(t *testing.T, open Open) {
	publisher, reader := buses(t, open, 1024)
	r := subscribe(t, reader, topic)
	text := strings.Repeat("日本é\xffx", 3000)
	feed := live.NewFeed(publisher, live.Delta{Topic: topic, Agent: "a", Message: "m", Began: 1})
	feed.Write(0, chat.PartText, "", "given up")
	feed.Restart(2)
	feed.Write(0, chat.PartThinking, "", text)
	feed.Write(1, chat.PartToolUse, "shell", "")
	feed.Write(1, chat.PartToolUse, "", `{"command": `)
	feed.Write(1, chat.PartToolUse, "", `"ls"}`)
	publisher.Announce(live.Appended{Topic: topic, Seq: 1})

	var draft live.Draft
	fits := map[live.Fit]int{}
	for {
		d, ok := next(t, r).(live.Delta)
		if !ok {
			break
		}
		fits[draft.Add(d)]++
	}
	if got, want := draft.Part(0), strings.ToValidUTF8(text, "\uFFFD"); got != want {
		t.Errorf("part 0 has %d bytes, want %d, or they differ", len(got), len(want))
	}
	if got, want := draft.Part(1), `{"command": "ls"}`; got != want {
		t.Errorf("part 1 is %q, want %q", got, want)
	}
	if got, want := fmt.Sprint(fits), "map[next:8 restart:1]"; got != want {
		t.Errorf("fits are %s, want %s", got, want)
	}
}
