package journaltest

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// buried erases a conversation that a command began: the same command does not begin it again, and
// the client that had it removed is known.
func buried(t *testing.T, f Fixture) {
	if _, err := f.Log.Erased(t.Context(), ref); chat.CodeOf(err) != chat.CodeNotFound {
		t.Errorf("what was never there gives %v", err)
	}
	begin := append([]journal.Row{journal.Opened{By: "ann", Command: "what was asked"}}, opening()[1:]...)
	write(t, f.Log, ref, begin...)
	write(t, f.Log, ref, begin...) // twice is once
	write(t, f.Log, ref, journal.MailPosted{ID: journal.Erasure, Topic: "erase", Command: "e1"},
		journal.MailPosted{ID: journal.Erasure, Topic: "erase", Command: "e2"})
	if _, err := f.Log.Erased(t.Context(), ref); chat.CodeOf(err) != chat.CodeNotFound {
		t.Errorf("what is still there gives %v", err)
	}
	if err := f.Log.Erase(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	stone, err := f.Log.Erased(t.Context(), ref)
	if err != nil || stone.Command != "e1" || stone.At.IsZero() {
		t.Errorf("what is left is %+v, %v", stone, err)
	}
	if _, err := f.Log.Append(t.Context(), ref, start, begin...); chat.CodeOf(err) != chat.CodeConflict {
		t.Errorf("the same command again gives %v", err)
	}
	for _, at := range []journal.Ref{{Tenant: "other", Conversation: ref.Conversation}, {Tenant: ref.Tenant, Conversation: "c9"}} {
		if _, err := f.Log.Erased(t.Context(), at); chat.CodeOf(err) != chat.CodeNotFound {
			t.Errorf("in %v it gives %v", at, err)
		}
		write(t, f.Log, at, begin...)
	}
}

// buriedMeanwhile sends the command that began a conversation again while it is erased, from
// another program.
func buriedMeanwhile(t *testing.T, f Fixture) {
	other := f.Other()
	begin := append([]journal.Row{journal.Opened{By: "ann", Command: "what was asked"}}, opening()[1:]...)
	for round := range 20 {
		at := journal.Ref{Tenant: "acme", Conversation: string(rune('a' + round))}
		write(t, f.Log, at, begin...)
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				for {
					_, err := other.Append(t.Context(), at, start, begin...)
					if chat.CodeOf(err) == chat.CodeConflict {
						return
					}
					if err != nil {
						t.Errorf("round %d: %v", round, err)
						return
					}
					time.Sleep(200 * time.Microsecond) // a file has one writer, and others must get their turn
				}
			})
		}
		err := f.Log.Erase(t.Context(), at)
		group.Wait()
		_, left := f.Log.Snapshot(t.Context(), at)
		if err != nil || chat.CodeOf(left) != chat.CodeNotFound {
			t.Errorf("round %d: it was begun again: %v", round, errors.Join(err, left))
		}
	}
}
