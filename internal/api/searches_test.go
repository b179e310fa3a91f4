package api

import (
	"context"
	"net/http"
	"testing"

	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/measure"
)

// endless is a journal whose searches take until they are let go.
type endless struct {
	journal.Log
	begun, end chan struct{}
}

func (e endless) Search(_ context.Context, _ string, _ journal.Query) ([]journal.Hit, error) {
	e.begun <- struct{}{}
	<-e.end
	return nil, nil
}

// TestSearchesOfATenant lets one tenant search without end: it is refused more, and nobody else is.
func TestSearchesOfATenant(t *testing.T) {
	t.Parallel()
	wall := measure.NewWall(t, "1.7")
	log := endless{Log: journaltest.NewMemory(), begun: make(chan struct{}, 10), end: make(chan struct{})}
	_, front := insideServer(t, log, func(o *Options) { o.Limits = Limits{TenantSearches: 2} })
	done := make(chan int, 3)
	search := func(who string) {
		status, _ := ask(t, front, who, http.MethodGet, "/v1/search?q=plums", "", "")
		done <- status
	}
	go search("a/one")
	go search("a/two")
	<-log.begun
	<-log.begun
	for _, who := range []string{"a/one", "a/two", "a/three"} {
		status, body := ask(t, front, who, http.MethodGet, "/v1/search?q=plums", "", "")
		wall.Try(status != http.StatusTooManyRequests, "a third search of the tenant, by %s: %d %s", who, status, body)
	}
	if status, body := ask(t, front, "a/three", http.MethodGet, "/v1/conversations", "", ""); status != http.StatusOK {
		t.Errorf("another read of the tenant: %d %s", status, body)
	}
	go search("b/one")
	<-log.begun
	close(log.end)
	for range 3 {
		if status := <-done; status != http.StatusOK {
			t.Errorf("a search is answered %d", status)
		}
	}
}
