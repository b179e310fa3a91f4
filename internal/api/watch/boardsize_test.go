package watch

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/wire"
)

// TestABoardForgetsWithoutTellingAgain has a board know more than it remembers.
func TestABoardForgetsWithoutTellingAgain(t *testing.T) {
	t.Parallel()
	log, began := journaltest.NewMemory(), time.Now().Add(-time.Hour)
	write := func(i int, at time.Time, row journal.Row) {
		t.Helper()
		if _, err := log.Append(t.Context(), journal.Ref{Tenant: "a", Conversation: fmt.Sprintf("c%05d", i)}, at, row); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 200 {
		write(i, began.Add(time.Duration(i)*time.Millisecond), journal.Opened{By: "ann", Title: "t"})
	}
	b := &board{
		hub: &Hub{log: log}, tenant: "a", known: map[string]int64{}, waiting: map[string]journal.Waiting{}, dirty: map[string]bool{},
		latest: map[string]piece{}, readers: readers{},
	}
	if err := b.baseline(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range boardMost + 1 {
		b.known[fmt.Sprint("gone", i)] = 1
	}
	write(150, time.Now(), journal.Titled{Title: "new"}) // without a notice
	if err := b.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(b.known) > boardPage || len(b.dirty) != 0 {
		t.Fatalf("%d are known and %d have to be told", len(b.known), len(b.dirty))
	}
	b.look(t.Context())
	if len(b.dirty) != 1 || !b.dirty["c00150"] {
		t.Errorf("the one that changed has to be told, and these are: %v", b.dirty)
	}
}

// TestABoardHoldsSoMuchOnly tells large states.
func TestABoardHoldsSoMuchOnly(t *testing.T) {
	t.Parallel()
	b := &board{latest: map[string]piece{}, readers: readers{}, epoch: "e"}
	large := strings.Repeat("x", boardBytes/8)
	for i := range 100 {
		if err := b.tell(fmt.Sprint(i), "", wire.ConversationRemoved, wire.RemovedLine{Conversation: large}); err != nil {
			t.Fatal(err)
		}
		b.publish()
		held := 0
		for _, p := range b.latest {
			held += len(p.bytes)
		}
		if held > boardBytes+2*len(large) {
			t.Fatalf("it holds %d bytes", held)
		}
	}
}
