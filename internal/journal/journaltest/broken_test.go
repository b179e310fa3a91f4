package journaltest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/journal"
)

// forgetful is a journal that says one thing wrong, to see that Verify and the ledger notice.
type forgetful struct {
	*Memory
	entries  func([]journal.Entry) []journal.Entry
	snapshot func(*journal.Snapshot)
}

func (f forgetful) Entries(
	ctx context.Context, ref journal.Ref, after int64, limit int,
) ([]journal.Entry, error) {
	entries, err := f.Memory.Entries(ctx, ref, after, limit)
	if f.entries != nil {
		entries = f.entries(entries)
	}
	return entries, err
}

func (f forgetful) Snapshot(ctx context.Context, ref journal.Ref) (journal.Snapshot, error) {
	s, err := f.Memory.Snapshot(ctx, ref)
	if f.snapshot != nil {
		f.snapshot(&s)
	}
	return s, err
}

func TestVerifyNotices(t *testing.T) {
	memory := NewMemory()
	write(t, memory, ref, append(opening(), journal.MessageReceived{ID: "m1", By: "ann"}, journal.MessageReceived{ID: "m2", By: "ann"})...)
	if err := Verify(t.Context(), memory, ref); err != nil {
		t.Fatal(err)
	}
	cases := map[string]forgetful{
		"stands where 3": {entries: func(e []journal.Entry) []journal.Entry { return append(e[:2:2], e[3:]...) }},
		"stands where 1": {entries: func(e []journal.Entry) []journal.Entry { return e[1:] }},
		"number":         {entries: func(e []journal.Entry) []journal.Entry { e[3].Number = 7; return e }},
		"Conversation":   {snapshot: func(s *journal.Snapshot) { s.Conversation.UpdatedAt = time.UnixMilli(1) }},
		"Agents":         {snapshot: func(s *journal.Snapshot) { s.Agents[0].Own.Cost++ }},
		"Tasks":          {snapshot: func(s *journal.Snapshot) { s.Tasks = nil }},
		"Leases":         {snapshot: func(s *journal.Snapshot) { s.Leases = []journal.Lease{{}} }},
	}
	for want, f := range cases {
		f.Memory = memory
		if err := Verify(t.Context(), f, ref); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want one about %q", err, want)
		}
	}
}

func TestLedgerNoticesAnotherNumber(t *testing.T) {
	var l Ledger
	if err := l.Ack("w", ref, "k", 1); err != nil {
		t.Fatal(err)
	}
	if err := l.Ack("w", ref, "k", 2); err == nil {
		t.Error("the same row was acknowledged at two numbers and nobody minded")
	}
}
