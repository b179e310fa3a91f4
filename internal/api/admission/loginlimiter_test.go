package admission_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/identity"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/live"
)

// guesser is a server whose clock can be set.
type guesser struct {
	*api.Server
	now   time.Time
	count int
}

func newGuesser(t *testing.T, proxies ...netip.Prefix) *guesser {
	t.Helper()
	bus := live.NewLocal(0)
	t.Cleanup(bus.Close)
	g := &guesser{now: time.Unix(1_900_000_000, 0)}
	g.Server = api.New(api.Options{
		Options: admission.Options{
			Authenticator: identity.Local{Tenant: "local", User: "me", Token: "right"}, Now: func() time.Time { return g.now },
			Guesses: admission.LoginLimits{Burst: 3, Every: time.Second, Proxies: proxies},
		},
		Log: journaltest.NewMemory(), Bus: bus,
	})
	t.Cleanup(g.Close)
	return g
}

// try shows a token and returns the status and how long to wait.
func (g *guesser) try(from, token, forwarded string) (status int, wait string) {
	r := httptest.NewRequest(http.MethodGet, "/v1/me", nil)
	r.RemoteAddr = from
	if token == "wrong" {
		g.count++
		token = fmt.Sprint("wrong", g.count)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if forwarded != "" {
		r.Header.Set("X-Forwarded-For", forwarded)
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return w.Code, w.Header().Get("Retry-After")
}

func (g *guesser) want(t *testing.T, from, token, forwarded string, status int) {
	t.Helper()
	if got, _ := g.try(from, token, forwarded); got != status {
		t.Errorf("%s shows %q for %q: status %d, want %d", from, token, forwarded, got, status)
	}
}

// TestGuessesAreLimited lets one address guess, and others be.
func TestGuessesAreLimited(t *testing.T) {
	t.Parallel()
	g := newGuesser(t)
	for range 10 { // who shows nothing does not guess, who shows the right thing neither
		g.want(t, "192.0.2.1:1", "", "", http.StatusUnauthorized)
		g.want(t, "192.0.2.1:1", "right", "", http.StatusOK)
	}
	g.want(t, "192.0.2.1:1", "wrong", "", http.StatusUnauthorized)
	for range 20 { // the same over and over is one guess
		g.want(t, "192.0.2.1:1", "ended", "", http.StatusUnauthorized)
	}
	g.want(t, "192.0.2.1:1", "wrong", "", http.StatusUnauthorized)
	if status, wait := g.try("192.0.2.1:2", "wrong", ""); status != http.StatusTooManyRequests || wait != "1" {
		t.Errorf("the fourth guess: status %d, wait %q", status, wait)
	}
	g.want(t, "192.0.2.1:3", "right", "", http.StatusOK) // who does not guess is not kept out by who does
	g.want(t, "192.0.2.2:1", "wrong", "", http.StatusUnauthorized)
	g.now = g.now.Add(time.Second)
	g.want(t, "192.0.2.1:1", "wrong", "", http.StatusUnauthorized)
	g.want(t, "192.0.2.1:1", "wrong", "", http.StatusTooManyRequests)
	g.now = g.now.Add(time.Minute)
	g.want(t, "192.0.2.1:1", "right", "", http.StatusOK)
}

// TestGuessesByNetworkAndProxy counts a network of the newer kind as one, and believes proxies only
// about who came before them.
func TestGuessesByNetworkAndProxy(t *testing.T) {
	t.Parallel()
	g := newGuesser(t, netip.MustParsePrefix("10.0.0.0/8"))
	for i := range 3 {
		g.want(t, fmt.Sprintf("[2001:db8::%d]:1", i), "wrong", "", http.StatusUnauthorized)
	}
	g.want(t, "[2001:db8::ffff]:1", "wrong", "", http.StatusTooManyRequests)
	g.want(t, "[2001:db8:0:1::1]:1", "wrong", "", http.StatusUnauthorized)
	// An address that is no proxy cannot choose whom it is.
	for i := range 3 {
		g.want(t, "192.0.2.9:1", "wrong", fmt.Sprintf("198.51.100.%d", i), http.StatusUnauthorized)
	}
	g.want(t, "192.0.2.9:1", "wrong", "198.51.100.77", http.StatusTooManyRequests)
	// Behind a proxy, what it adds at the end counts, and not what somebody put before.
	for i := range 3 {
		g.want(t, "10.0.0.1:1", "wrong", fmt.Sprintf("203.0.113.%d, 198.51.100.8", i), http.StatusUnauthorized)
	}
	g.want(t, "10.0.0.2:1", "wrong", "198.51.100.8", http.StatusTooManyRequests)
	g.want(t, "10.0.0.2:1", "wrong", "198.51.100.9", http.StatusUnauthorized)
}

// TestGuessesAreForgotten has more addresses guess than are remembered.
func TestGuessesAreForgotten(t *testing.T) {
	t.Parallel()
	g := newGuesser(t)
	for i := range 12_000 {
		g.want(t, fmt.Sprintf("10.%d.%d.%d:1", i>>16, i>>8&255, i&255), "wrong", "", http.StatusUnauthorized)
	}
	g.want(t, "192.0.2.1:1", "right", "", http.StatusOK)
}
