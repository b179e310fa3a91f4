//go:build services

package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/people"
)

// TestNULsReachNoDatabase asks for ids that Postgres does not take: they are unknown, and nothing
// is wrong.
func TestNULsReachNoDatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	p := w.person("ann", "", "")
	_, secret := w.key(p, p.Home(), time.Hour, people.AllScopes()...)
	for _, path := range []string{
		"/v1/conversations/a%00b", "/v1/conversations/a%00b/events", "/v1/conversations/a/agents/b%00", "/v1/webhooks/%00/deliveries",
		"/v1/responses/resp_a%00.b",
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+secret)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusNotFound {
			t.Errorf("%s: status %d", path, answer.StatusCode)
		}
	}
}
