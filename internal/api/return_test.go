//go:build services

package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/people"
)

// TestReturnsAreLimited comes back from logins that nobody began, the same one or others, until
// that is refused. Credentials shown from the same address are counted by themselves.
func TestReturnsAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *api.Options) { o.Guesses = admission.LoginLimits{Burst: 3, Every: time.Minute} })
	get := func(path, name, value string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.AddCookie(&http.Cookie{Name: name, Value: value})
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	for i, want := range []int{http.StatusForbidden, http.StatusForbidden, http.StatusForbidden, http.StatusTooManyRequests} {
		if status := get("/login/callback?code=1&state=made-up", "rt-login", "made-up"); status != want {
			t.Errorf("return %d: status %d, want %d", i+1, status, want)
		}
	}
	made := people.NewCredential(people.KindSession, "t1").Text
	if status := get("/v1/me", "rt", made); status != http.StatusUnauthorized {
		t.Errorf("a session that nobody has: status %d: logins and guesses are counted together", status)
	}
}
