package journaltest

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// Fixture is a journal under test.
type Fixture struct {
	Log journal.Log
	// Other opens the same journal as another program would.
	Other func() journal.Log
	// LoseAnswer makes the next commit go through and its caller see an error.
	LoseAnswer func()
}

// Run runs the suite on a journal. Open gives an empty one and cleans up after the test.
func Run(t *testing.T, open func(t *testing.T) Fixture) {
	t.Helper()
	tests := []struct {
		name string
		run  func(t *testing.T, f Fixture)
	}{
		{"every kind comes back as it was written", everyKind},
		{"twice is once", twiceIsOnce},
		{"a step that is recorded is a fence", fence},
		{"a lost answer is settled by writing again", lostAnswer},
		{"what does not fit is refused whole", refusals},
		{"a story reads the same as its fold", foldsLikeTheView},
		{"writers at once leave no gap", writersAtOnce},
		{"a cancelled writer returns", cancelledWriter},
		{"usage is own and subtree", usage},
		{"usage is summed by what is asked", usageBy},
		{"a budget is reserved and settled", spending},
		{"a tenant's storage is measured", storage},
		{"tasks are listed across conversations", taskList},
		{"runs are summed by role", runsByRole},
		{"records form a tree", recordTree},
		{"a chat shows people and the orchestrator", chatAndSearch},
		{"a search splits words like the fold", searches},
		{"lists and pages", lists},
		{"a page ends when it is large", largePages},
		{"the mailbox is swept across tenants", sweeps},
		{"mail waits until it is delivered", mail},
		{"what works is found across tenants", working},
		{"erased is gone", erased},
		{"erased is gone for other programs", erasedElsewhere},
		{"erased while somebody writes", erasedMidSentence},
		{"a tombstone is left", buried},
		{"untouched since", untouched},
		{"erased while it is begun again", buriedMeanwhile},
		{"no tenant sees another", tenants},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, open(t))
		})
	}
}

var (
	ref   = journal.Ref{Tenant: "acme", Conversation: "c1"}
	root  = journal.In{Agent: "root", Task: "root"}
	start = time.UnixMilli(1_700_000_000_000).UTC()

	// alike treats nil and empty lists as the same, and JSON by what it says.
	alike = cmp.Options{
		cmpopts.EquateEmpty(), cmp.AllowUnexported(nowheres()...),
		cmp.FilterValues(func(a, b json.RawMessage) bool { return len(a)+len(b) > 0 },
			cmp.Transformer("json", func(raw json.RawMessage) (value any) {
				if err := json.Unmarshal(raw, &value); err != nil {
					return err
				}
				return value
			})),
	}
)

func opening() []journal.Row {
	return []journal.Row{
		journal.Opened{By: "ann", Title: "hello"}, journal.TaskAssigned{In: root, Role: "main"},
	}
}

// write appends or ends the test.
func write(t *testing.T, log journal.Log, at journal.Ref, rows ...journal.Row) []journal.Written {
	t.Helper()
	written, err := log.Append(t.Context(), at, start, rows...)
	if err != nil {
		t.Fatal(err)
	}
	return written
}

func all(t *testing.T, log journal.Log, at journal.Ref) []journal.Entry {
	t.Helper()
	var out []journal.Entry
	for {
		page, err := log.Entries(t.Context(), at, int64(len(out)), journal.PageMaxLimit)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, page...)
		if len(page) == 0 {
			return out
		}
	}
}

// everyKind writes one full row of each kind.
//
//
func everyKind(t *testing.T, f Fixture) {
	write(t, f.Log, ref, opening()...)
	var want []journal.Row
	for _, empty := range journal.Kinds()[1:] {
		row := filled(empty)
		want = append(want, row)
		write(t, f.Log, ref, row)
	}
	var got []journal.Row
	for i, e := range all(t, f.Log, ref) {
		if e.Seq != int64(i+1) || !e.At.Equal(start) {
			t.Errorf("entry %d has sequence %d and time %s", i+1, e.Seq, e.At)
		}
		if i >= 2 {
			got = append(got, e.Row)
		}
	}
	if diff := cmp.Diff(want, got, alike); diff != "" {
		t.Errorf("rows (+) against those written (-):\n%s", diff)
	}
}

// filled sets every field of a row to something that can be told apart from nothing.
func filled(row journal.Row) journal.Row {
	v := reflect.New(reflect.TypeOf(row)).Elem()
	fill(v)
	if f := v.FieldByName("Agent"); f.IsValid() {
		f.SetString("root")
		v.FieldByName("Task").SetString("root")
	}
	if row.Kind() == journal.KindTaskAssigned {
		v.FieldByName("Task").SetString("root@2")
		v.FieldByName("Parent").SetString("root")
	}
	out, _ := v.Interface().(journal.Row)
	return out
}

func fill(v reflect.Value) {
	switch {
	case v.Kind() == reflect.String:
		v.SetString("text")
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(7)
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`{"a":[1,"b"]}`))
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	default:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	}
}

// nowheres lists the types with unexported parts, for comparing.
func nowheres() []any {
	var out []any
	for _, row := range journal.Kinds() {
		out = append(out, row)
	}
	return out
}

// twiceIsOnce writes rows again, together, apart and changed.
//
// Covers: P2, P4.
func twiceIsOnce(t *testing.T, f Fixture) {
	rows := append(opening(), journal.MessageReceived{ID: "m1", By: "ann"}, journal.MessageReceived{ID: "m2", By: "ann"})
	first := write(t, f.Log, ref, rows...)
	again := write(t, f.Log, ref, rows...)
	for i := range again {
		if !again[i].Existed || first[i].Existed {
			t.Errorf("row %d: existed is %t then %t, want false then true", i, first[i].Existed, again[i].Existed)
		}
		again[i].Existed = false
	}
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("second write (+) against the first (-):\n%s", diff)
	}
	got := write(t, f.Log, ref, journal.MessageReceived{ID: "m1", By: "eve"}, journal.MessageReceived{ID: "m3"}, journal.MessageReceived{ID: "m3"})
	want := []journal.Written{
		{Seq: 3, Number: 1, Existed: true}, {Seq: 5, Number: 3}, {Seq: 5, Number: 3, Existed: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mixed write (+) against the wanted (-):\n%s", diff)
	}
	found, err := f.Log.Find(t.Context(), ref, "received/m1", "received/none")
	if err != nil || len(found) != 1 {
		t.Fatalf("found %d entries, %v; want 1", len(found), err)
	}
	if said, _ := found[0].Row.(journal.MessageReceived); said.By != "ann" {
		t.Errorf("the record is by %q: the first must stand", said.By)
	}
	if n := len(all(t, f.Log, ref)); n != 5 {
		t.Errorf("%d entries, want 5", n)
	}
}

// fence has two writers continue one task from the same step. One is first, and nothing of the
// other is written, even if it is in another program.
//
// Covers: P5.
func fence(t *testing.T, f Fixture) {
	write(t, f.Log, ref, opening()...)
	step := func(n int, event string, rest ...journal.Row) []journal.Row {
		return append(rest, journal.Stepped{In: root, N: n, Event: []byte(`{"name":"` + event + `"}`)})
	}
	result := func(call string) journal.Row {
		return journal.ToolReturned{In: root, Call: call, Status: journal.CallCompleted}
	}
	write(t, f.Log, ref, step(1, "first")...)
	first := write(t, f.Log, ref, step(2, "winner", result("1.0"))...)
	if again := write(t, f.Log, ref, step(2, "winner", result("1.0"))...); again[0].Seq != first[0].Seq || !again[1].Existed {
		t.Errorf("the winner writing again got %v, want what it got before: %v", again, first)
	}
	for _, log := range []journal.Log{f.Log, f.Other()} {
		lost := write(t, log, ref, step(2, "loser", result("1.0"), result("1.1"))...)
		want := []journal.Written{{Seq: first[0].Seq, Existed: true}, {}, {Seq: first[1].Seq, Existed: true}}
		if diff := cmp.Diff(want, lost); diff != "" {
			t.Errorf("the loser got (+), want (-):\n%s", diff)
		}
	}
	if found, err := f.Log.Find(t.Context(), ref, result("1.1").Key()); err != nil || len(found) != 0 {
		t.Errorf("a row of the loser was written: %v, %v", found, err)
	}
	steps, err := f.Log.Steps(t.Context(), ref, root.Task, 1)
	if err != nil || len(steps) != 1 || !strings.Contains(string(steps[0].Event), "winner") {
		t.Errorf("steps after the first: %v, %v; want the winner's", steps, err)
	}
	write(t, f.Log, ref, step(3, "next", result("1.1"))...)
	if err := Verify(t.Context(), f.Log, ref); err != nil {
		t.Error(err)
	}
}

// lostAnswer lets commits go through whose callers are told that they failed.
//
// Covers: P1, P2.
func lostAnswer(t *testing.T, f Fixture) {
	write(t, f.Log, ref, opening()...)
	for i := range 5 {
		row := journal.MessageReceived{ID: fmt.Sprint("m", i), By: "ann"}
		f.LoseAnswer()
		if _, err := f.Log.Append(t.Context(), ref, start, row); err == nil {
			t.Fatal("the answer was not lost: the test shows nothing")
		} else if code := chat.CodeOf(err); code != chat.CodeUnavailable {
			t.Errorf("the code is %s, want %s: %v", code, chat.CodeUnavailable, err)
		}
		got := write(t, f.Log, ref, row)
		want := []journal.Written{{Seq: int64(i + 3), Number: int64(i + 1), Existed: true}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("after a lost answer (+) against the wanted (-):\n%s", diff)
		}
	}
	if n := len(all(t, f.Log, ref)); n != 7 {
		t.Errorf("%d entries, want 7", n)
	}
}

func refusals(t *testing.T, f Fixture) {
	other := journal.Ref{Tenant: "acme", Conversation: "c2"}
	cases := []struct {
		name string
		at   journal.Ref
		rows []journal.Row
		code chat.Code
	}{
		{"no rows", ref, nil, chat.CodeInvalid},
		{"no tenant", journal.Ref{Conversation: "c"}, opening(), chat.CodeInvalid},
		{"everybody's tenant", journal.Ref{Tenant: "*", Conversation: "c"}, opening(), chat.CodeInvalid},
		{"no conversation", journal.Ref{Tenant: "acme"}, opening(), chat.CodeInvalid},
		{"not opened", other, []journal.Row{journal.MessageReceived{ID: "m", By: "ann"}}, chat.CodeNotFound},
		{"an unknown agent", ref, []journal.Row{
			journal.Titled{ID: "1", Title: "no"},
			journal.StatusChanged{In: journal.In{Agent: "who", Task: "who"}, Status: chat.StatusRunning},
			journal.MessageAdded{In: journal.In{Agent: "who", Task: "who"}, Message: chat.Message{ID: "m", Speaker: chat.User}},
		}, chat.CodeInvalid},
		{"an unknown agent's known task", ref, []journal.Row{
			journal.ModelReplied{In: journal.In{Agent: "who", Task: "root"}, Call: "1", Status: chat.StatusFailed},
		}, chat.CodeInvalid},
		{"an unknown parent", ref, []journal.Row{
			journal.TaskAssigned{In: journal.In{Agent: "x/1", Task: "x/1"}, Parent: "x", Role: "coder"},
		}, chat.CodeInvalid},
		{"no agent", ref, []journal.Row{journal.StatusChanged{Status: chat.StatusRunning}}, chat.CodeInvalid},
		{"a hash in an id", ref, []journal.Row{
			journal.TaskAssigned{In: journal.In{Agent: "a#b", Task: "a#b"}, Role: "coder"},
		}, chat.CodeInvalid},
		{"an id without end", ref, []journal.Row{
			journal.MessageReceived{ID: strings.Repeat("m", 1000), By: "ann"},
		}, chat.CodeInvalid},
		{"too much", ref, []journal.Row{
			journal.Titled{ID: "2", Title: strings.Repeat("x", 17<<20)},
		}, chat.CodeInvalid},
	}
	write(t, f.Log, ref, opening()...)
	for _, c := range cases {
		_, err := f.Log.Append(t.Context(), c.at, start, c.rows...)
		if code := chat.CodeOf(err); err == nil || code != c.code {
			t.Errorf("%s: error is %v, want one with code %s", c.name, err, c.code)
		}
	}
	if n := len(all(t, f.Log, ref)); n != 2 {
		t.Errorf("%d entries are left of what was refused, want 0", n-2)
	}
	if _, err := f.Log.Entries(t.Context(), other, 0, 1); chat.CodeOf(err) != chat.CodeNotFound {
		t.Errorf("a refused opening left something: %v", err)
	}
	big := journal.Titled{ID: "3", Title: strings.Repeat("é", 1<<20)}
	write(t, f.Log, ref, big)
	if got := all(t, f.Log, ref)[2].Row; got != journal.Row(big) {
		t.Error("two megabytes did not come back")
	}
}

// foldsLikeTheView plays random stories into the journal and into memory, in appends of random
// size, some of them twice, and compares everything that can be read.
//
// Covers: P13, R-213.
func foldsLikeTheView(t *testing.T, f Fixture) {
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		at := journal.Ref{Tenant: "acme", Conversation: fmt.Sprint("story", n)}
		memory := NewMemory()
		s := &story{t: rt}
		rows := s.opening()
		for range rapid.IntRange(0, 40).Draw(rt, "rows") {
			rows = append(rows, s.row())
		}
		for moment := start; len(rows) > 0; moment = moment.Add(time.Second) {
			size := min(rapid.IntRange(1, 12).Draw(rt, "append"), len(rows))
			for range 1 + rapid.IntRange(0, 1).Draw(rt, "again") {
				want, err := memory.Append(t.Context(), at, moment, rows[:size]...)
				if err != nil {
					rt.Fatal(err)
				}
				got, err := f.Log.Append(t.Context(), at, moment, rows[:size]...)
				if err != nil {
					rt.Fatal(err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					rt.Fatalf("written (+) against the fold (-):\n%s", diff)
				}
			}
			rows = rows[size:]
		}
		Same(rt, memory, f.Log, at)
		sameUnsettled(rt, memory, at)
	})
}

// sameUnsettled compares the small fold of what waits with the whole one.
func sameUnsettled(t *rapid.T, memory journal.Log, at journal.Ref) {
	view, small := NewView(), journal.NewUnsettled()
	entries, err := memory.Entries(context.Background(), at, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		view.Apply(at, e)
		small.Apply(e.Row)
		if want := len(view.Inbox()) > 0 || len(view.Pending(start.Add(1000*time.Hour))) > 0; small.Any() != want {
			t.Fatalf("after entry %d (%s) something waits: %t, want %t", e.Seq, e.Row.Kind(), small.Any(), want)
		}
	}
}

// fataler is what Same needs of a test.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Same compares everything that two journals say about a conversation.
func Same(t fataler, want, got journal.Log, at journal.Ref) {
	t.Helper()
	ctx := context.Background()
	same(t, "snapshots", want, got, func(l journal.Log) (any, error) { return l.Snapshot(ctx, at) })
	same(t, "tails", want, got, func(l journal.Log) (any, error) { return l.Tails(ctx, at.Tenant, at.Conversation, "none") })
	same(t, "lines", want, got, func(l journal.Log) (any, error) { return l.Lines(ctx, at.Tenant, at.Conversation, "none") })
	same(t, "records", want, got, func(l journal.Log) (any, error) { return l.Records(ctx, at) })
	same(t, "entries", want, got, func(l journal.Log) (any, error) { return l.Entries(ctx, at, 0, 1000) })
	same(t, "chats", want, got, func(l journal.Log) (any, error) { return l.Chat(ctx, at, journal.Page{}) })
	for _, page := range []journal.Page{{}, {Limit: 2}, {Limit: 3, Before: 20}} {
		same(t, "marks", want, got, func(l journal.Log) (any, error) { return l.Marks(ctx, at, page) })
	}
	same(t, "hits", want, got, func(l journal.Log) (any, error) {
		return l.Search(ctx, at.Tenant, journal.Query{Words: "words", Conversation: at.Conversation, SubAgents: true})
	})
	for _, query := range []journal.TaskQuery{{}, {Status: chat.StatusRunning}, {Status: chat.StatusCompleted, Limit: 2}, {MinCost: 1}} {
		query.Conversation = at.Conversation
		same(t, "tasks", want, got, func(l journal.Log) (any, error) { return l.Tasks(ctx, at.Tenant, query) })
	}
	snapshot, err := want.Snapshot(ctx, at)
	if err != nil {
		t.Fatalf("%v", err)
	}
	for _, a := range snapshot.Agents {
		for _, page := range []journal.Page{{}, {Limit: 2}, {Limit: 3, Before: 20}} {
			same(t, "transcripts", want, got, func(l journal.Log) (any, error) { return l.Transcript(ctx, at, a.ID, page) })
			same(t, "model calls", want, got, func(l journal.Log) (any, error) { return l.ModelCalls(ctx, at, a.ID, page) })
			same(t, "tool calls", want, got, func(l journal.Log) (any, error) { return l.ToolCalls(ctx, at, a.ID, page) })
		}
	}
	for _, task := range snapshot.Tasks {
		same(t, "steps", want, got, func(l journal.Log) (any, error) { return l.Steps(ctx, at, task.ID, 1) })
	}
}

func same(t fataler, what string, want, got journal.Log, read func(journal.Log) (any, error)) {
	t.Helper()
	w, err := read(want)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	g, err := read(got)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if diff := cmp.Diff(w, g, alike); diff != "" {
		t.Fatalf("%s (+) against the fold (-):\n%s", what, diff)
	}
}

// writersAtOnce lets many writers, of two programs, append to one conversation and to some of their
// own, with keys that others write too.
//
// Covers: P3.
func writersAtOnce(t *testing.T, f Fixture) {
	write(t, f.Log, ref, opening()...)
	const writers, appends = 16, 25
	programs := []journal.Log{f.Log, f.Other()}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			log := programs[w%len(programs)]
			for i := range appends {
				_, err := log.Append(t.Context(), ref, start,
					journal.MessageReceived{ID: fmt.Sprintf("%d-%d", w, i), By: fmt.Sprint(w)},
					journal.MessageReceived{ID: fmt.Sprintf("shared-%d", i), By: fmt.Sprint(w)})
				if err != nil {
					t.Error(err)
				}
			}
			own := journal.Ref{Tenant: "acme", Conversation: fmt.Sprint("own", w%4)}
			if _, err := log.Append(t.Context(), own, start, opening()...); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	entries := all(t, f.Log, ref)
	if want := 2 + writers*appends + appends; len(entries) != want {
		t.Fatalf("%d entries, want %d", len(entries), want)
	}
	last := map[string]int{}
	for i, e := range entries {
		if e.Seq != int64(i+1) {
			t.Fatalf("entry %d has sequence %d", i+1, e.Seq)
		}
		said, ok := e.Row.(journal.MessageReceived)
		if !ok {
			continue
		}
		if e.Number != int64(i-1) {
			t.Fatalf("entry %d has number %d, want %d", i+1, e.Number, i-1)
		}
		var n int
		if _, err := fmt.Sscanf(said.ID, said.By+"-%d", &n); err == nil {
			if n != last[said.By] {
				t.Fatalf("writer %s: message %d came where %d was due", said.By, n, last[said.By])
			}
			last[said.By]++
		}
	}
}

func cancelledWriter(t *testing.T, f Fixture) {
	write(t, f.Log, ref, opening()...)
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			if i%2 == 0 {
				cancel()
			}
			defer cancel()
			row := journal.MessageReceived{ID: fmt.Sprint(i), By: "ann"}
			if _, err := f.Log.Append(ctx, ref, start, row); err != nil && i%2 == 1 {
				t.Errorf("a writer whose neighbours gave up got %v", err)
			}
		})
	}
	wg.Wait()
	for i, e := range all(t, f.Log, ref) {
		if e.Seq != int64(i+1) {
			t.Fatalf("entry %d has sequence %d", i+1, e.Seq)
		}
	}
}
