//go:build services

package postgres_test

import (
	"sync"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/measure"
)

// TestPoolsOfTheirOwn has all connections for reads and for searches be busy: commands find one all
// the same.
func TestPoolsOfTheirOwn(t *testing.T) {
	t.Parallel()
	wall := measure.NewWall(t, "1.7")
	dsn := database(t)
	log := open(t, dsn)
	ref := journal.Ref{Tenant: "acme", Conversation: "c"}
	if _, err := log.Append(t.Context(), ref, time.Now(), journal.Opened{By: "ann"}); err != nil {
		t.Fatal(err)
	}
	conn, looks := connect(t, dsn, ""), connect(t, dsn, "")
	if _, err := conn.Exec(t.Context(), "begin; lock table messages in access exclusive mode"); err != nil {
		t.Fatal(err)
	}
	var busy sync.WaitGroup
	for range 30 { // they wait for the lock, and the rest for a connection
		busy.Go(func() { _, _ = log.Search(t.Context(), "acme", journal.Query{Words: "plums"}) })
		busy.Go(func() { _, _ = log.Chat(journal.ForReading(t.Context()), ref, journal.Page{}) })
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		full := query(t, looks, "select (count(*) >= 11)::text from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")[0]
		if full == "true" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the connections for reads and searches are not all busy")
		}
	}
	_, err := log.Append(t.Context(), ref, time.Now(), journal.Titled{ID: "1", Title: "new"})
	wall.Try(err != nil, "a command waits for reads: %v", err)
	_, err = log.Append(t.Context(), journal.Ref{Tenant: "other", Conversation: "d"}, time.Now(), journal.Opened{By: "eve"})
	wall.Try(err != nil, "another tenant's command waits for reads: %v", err)
	_, err = log.Snapshot(t.Context(), ref)
	wall.Try(err != nil, "what a command reads waits for other reads: %v", err)
	if _, err := conn.Exec(t.Context(), "commit"); err != nil {
		t.Fatal(err)
	}
	busy.Wait()
}
