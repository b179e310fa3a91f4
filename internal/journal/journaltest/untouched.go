package journaltest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// untouched asks for conversations by when somebody last wrote to them, and weighs one before and
// after it is erased.
func untouched(t *testing.T, f Fixture) {
	at := func(id string) journal.Ref { return journal.Ref{Tenant: ref.Tenant, Conversation: id} }
	for _, id := range []string{"c3", "c1", "c2", "c4"} {
		write(t, f.Log, at(id), opening()...)
	}
	write(t, f.Log, journal.Ref{Tenant: "other", Conversation: "c0"}, opening()...)
	write(t, f.Log, at("c3"), journal.Archived{By: "ann"})
	if _, err := f.Log.Append(t.Context(), at("c2"), start.Add(time.Minute), journal.MessageReceived{ID: "later", By: "ann"}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		before time.Time
		after  string
		limit  int
		want   []string
	}{
		{start, "", 10, nil},
		{start.Add(time.Second), "", 10, []string{"c1", "c3", "c4"}},
		{start.Add(time.Second), "", 2, []string{"c1", "c3"}},
		{start.Add(time.Second), "c3", 2, []string{"c4"}},
		{start.Add(2 * time.Minute), "", 10, []string{"c1", "c2", "c3", "c4"}},
	} {
		got, err := f.Other().Untouched(t.Context(), ref.Tenant, c.before, c.after, c.limit)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got, alike); diff != "" {
			t.Errorf("untouched since %v after %q, %d at most:\n%s", c.before, c.after, c.limit, diff)
		}
	}
	if err := f.Log.Keep(t.Context(), ref, "one text", "another text"); err != nil {
		t.Fatal(err)
	}
	w, err := f.Log.Weight(t.Context(), ref)
	if err != nil || w.Rows != 2 || w.Texts != 2 || w.Bytes <= int64(len("one textanother text")) {
		t.Errorf("it weighs %+v, %v", w, err)
	}
	if err := f.Log.Erase(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	if w, err := f.Log.Weight(t.Context(), ref); chat.CodeOf(err) != chat.CodeNotFound {
		t.Errorf("what was erased weighs %+v, %v", w, err)
	}
}
