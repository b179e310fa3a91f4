package admission_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/measure"
)

// unending is a journal whose searches take until they are let go.
type unending struct {
	journal.Log
	begun, end chan struct{}
}

func (e unending) Search(_ context.Context, _ string, _ journal.Query) ([]journal.Hit, error) {
	e.begun <- struct{}{}
	<-e.end
	return nil, nil
}

// TestSearchesOfATenant lets one tenant search without end: it is refused more, and nobody else is.
func TestSearchesOfATenant(t *testing.T) {
	t.Parallel()
	wall := measure.NewWall(t, "1.7")
	log := unending{Log: journaltest.NewMemory(), begun: make(chan struct{}, 10), end: make(chan struct{})}
	s := apitest.Crowded(t, log, func(o *api.Options) { o.Limits = admission.Limits{TenantSearches: 2} })
	done := make(chan int, 3)
	search := func(who string) {
		status, _ := s.Ask(t, who, http.MethodGet, "/v1/search?q=plums", "", "")
		done <- status
	}
	go search("a/one")
	go search("a/two")
	<-log.begun
	<-log.begun
	for _, who := range []string{"a/one", "a/two", "a/three"} {
		status, body := s.Ask(t, who, http.MethodGet, "/v1/search?q=plums", "", "")
		wall.Try(status != http.StatusTooManyRequests, "a third search of the tenant, by %s: %d %s", who, status, body)
	}
	if status, body := s.Ask(t, "a/three", http.MethodGet, "/v1/conversations", "", ""); status != http.StatusOK {
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

// TestPressureOfOneTenant has a journal that is slow for one tenant. The server refuses that
// tenant's commands. It takes its reads and another tenant's commands.
func TestPressureOfOneTenant(t *testing.T) {
	t.Parallel()
	s := apitest.Crowded(t, journaltest.NewMemory(), func(o *api.Options) {
		o.Pressed = func(tenant string) (string, time.Duration) {
			if tenant == "quiet" {
				return "", 0
			}
			return "the journal takes long to write", time.Second
		}
	})
	for _, c := range []struct {
		who, method, path string
		want              int
	}{
		{"loud/ann", http.MethodPost, "/v1/conversations", http.StatusServiceUnavailable},
		{"loud/ann", http.MethodGet, "/v1/conversations", http.StatusOK},
		{"quiet/bob", http.MethodPost, "/v1/conversations", http.StatusCreated},
	} {
		if status, body := s.Ask(t, c.who, c.method, c.path, "some-12345678", `{"title":"x"}`); status != c.want {
			t.Errorf("%s of %s: status %d, want %d: %s", c.method, c.who, status, c.want, body)
		}
	}
}
