package journaltest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/journal"
)

// Ledger remembers what a journal acknowledged, to hold it to its word after crashes.
type Ledger struct {
	mu    sync.Mutex
	acked map[journal.Ref]map[string]int64
	// order holds, for each writer, its keys in the order of their acknowledgement.
	order map[string][]string
}

// Ack notes that a writer was told that a row stands at a sequence number.
func (l *Ledger) Ack(writer string, ref journal.Ref, key string, seq int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.acked == nil {
		l.acked, l.order = map[journal.Ref]map[string]int64{}, map[string][]string{}
	}
	if l.acked[ref] == nil {
		l.acked[ref] = map[string]int64{}
	}
	if before, ok := l.acked[ref][key]; ok && before != seq {
		return fmt.Errorf("%s was acknowledged at %d and again at %d", key, before, seq)
	}
	l.acked[ref][key] = seq
	lane := writer + " in " + ref.Conversation
	l.order[lane] = append(l.order[lane], key)
	return nil
}

// Acks is how many rows were acknowledged.
func (l *Ledger) Acks() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, keys := range l.acked {
		n += len(keys)
	}
	return n
}

// Check compares the ledger with the journal: each acknowledged row exists once, under its
// acknowledged number and in its writer's order; the list has no gap and folds to the stored
// tables.
func (l *Ledger) Check(t *testing.T, log journal.Log) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for ref, acked := range l.acked {
		if err := Verify(context.Background(), log, ref); err != nil {
			t.Error(err)
		}
		at := map[string]int64{}
		for _, e := range all(t, log, ref) {
			if first, twice := at[e.Row.Key()]; twice {
				t.Errorf("%s stands at %d and at %d", e.Row.Key(), first, e.Seq)
			}
			at[e.Row.Key()] = e.Seq
		}
		for key, seq := range acked {
			if at[key] != seq {
				t.Errorf("%s was acknowledged at %d and stands at %d", key, seq, at[key])
			}
		}
		for lane, keys := range l.order {
			for i := 1; i < len(keys); i++ {
				if at[keys[i]] < at[keys[i-1]] && at[keys[i]] > 0 {
					t.Errorf("%s: %s was acknowledged after %s and stands before it", lane, keys[i], keys[i-1])
				}
			}
		}
	}
}

// Writer appends until its context ends: batches of a few rows to one conversation after another,
// each until it is acknowledged, whatever errors come.
type Writer struct {
	Name string
	// Number tells the writer's rows from others'.
	Number int
	Log    journal.Log
	Ledger *Ledger
	Places []journal.Ref
	// Failures counts the appends whose answer was an error.
	Failures int
}

// Run writes. It returns an error when the journal contradicts itself.
func (w *Writer) Run(ctx context.Context) error {
	for n := 0; ctx.Err() == nil; n++ {
		ref := w.Places[n%len(w.Places)]
		rows := []journal.Row{
			journal.MessageReceived{ID: fmt.Sprintf("%s-%d", w.Name, n), By: w.Name},
			journal.StatusChanged{In: root, Serial: n*1000 + w.Number, Status: "running"},
			journal.Titled{ID: fmt.Sprintf("%s-%d", w.Name, n), Title: w.Name},
		}
		for ctx.Err() == nil {
			written, err := w.Log.Append(ctx, ref, start.Add(time.Duration(n)*time.Second), rows...)
			if err != nil {
				w.Failures++
				select {
				case <-ctx.Done():
				case <-time.After(10 * time.Millisecond):
				}
				continue
			}
			for i, row := range rows {
				if err := w.Ledger.Ack(w.Name, ref, row.Key(), written[i].Seq); err != nil {
					return err
				}
			}
			break
		}
	}
	return nil
}

// Opening is how a conversation for a Writer begins.
func Opening() []journal.Row { return opening() }
