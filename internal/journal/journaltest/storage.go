package journaltest

import (
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// storage measures what a tenant holds: rows and texts count, once each and private ones too, those
// of others do not, and what is erased is given back.
func storage(t *testing.T, f Fixture) {
	ctx := t.Context()
	stored := func(tenant string) int64 {
		t.Helper()
		n, err := f.Log.Stored(journal.For(ctx, "somebody else"), tenant)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	const size = 10_000
	said := journal.MessageReceived{ID: "m", By: "ann", Parts: []chat.Part{{Kind: chat.PartText, Text: strings.Repeat("x", size)}}}
	rows := []journal.Row{journal.Opened{By: "ann", PrivateTo: "ann"}, journal.TaskAssigned{In: root, Role: "main"}, said}
	for range 2 { // twice is once
		if _, err := f.Log.Append(ctx, ref, start, rows...); err != nil {
			t.Fatal(err)
		}
		if err := f.Log.Keep(ctx, ref, strings.Repeat("y", size)); err != nil {
			t.Fatal(err)
		}
	}
	if n := stored(ref.Tenant); n < 2*size || n > 3*size {
		t.Errorf("%d bytes are stored, of which two texts have %d", n, 2*size)
	}
	if n := stored("zeta"); n != 0 {
		t.Errorf("another tenant has stored %d bytes", n)
	}
	if err := f.Log.Erase(ctx, ref); err != nil {
		t.Fatal(err)
	}
	if n := stored(ref.Tenant); n != 0 {
		t.Errorf("%d bytes are stored after all was erased", n)
	}
}
