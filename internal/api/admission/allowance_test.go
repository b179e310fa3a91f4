package admission_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/identity"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/live"
)

// patience is how long a test waits for what must come.
const patience = time.Minute

// counting is a door that counts who comes to it.
type counting struct {
	identity.Local
	asked atomic.Int64
}

func (c *counting) Identify(r *http.Request) (admission.Caller, error) {
	c.asked.Add(1)
	return c.Local.Identify(r)
}

// street is a server that people come to from many addresses, and whose clock can be set.
type street struct {
	*api.Server
	authenticator *counting
	now           time.Time
	refused       map[admission.Refusal]int
}

func newStreet(t *testing.T, limits admission.Limits) *street {
	t.Helper()
	bus := live.NewLocal(0)
	t.Cleanup(bus.Close)
	s := &street{
		now: time.Unix(1_900_000_000, 0), refused: map[admission.Refusal]int{},
		authenticator: &counting{Local: identity.Local{Tenant: "local", User: "me", Token: "right"}},
	}
	s.Server = api.New(api.Options{
		Options: admission.Options{
			Authenticator: s.authenticator, Limits: limits, Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return s.now },
			Guesses: admission.LoginLimits{Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}},
			Refused: func(why admission.Refusal) { s.refused[why]++ },
		},
		Log: journaltest.NewMemory(), Bus: bus,
	})
	t.Cleanup(s.Close)
	return s
}

// ask sends a request and returns the answer.
func (s *street) ask(path, from, forwarded string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.RemoteAddr = from
	r.Header.Set("Authorization", "Bearer right")
	if forwarded != "" {
		r.Header.Set("X-Forwarded-For", forwarded)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// TestAddressesAreBounded asks more often than an address may, at every kind of route, and looks
// whether anybody was asked who it is.
func TestAddressesAreBounded(t *testing.T) {
	t.Parallel()
	s := newStreet(t, admission.Limits{AddressRate: 5})
	paths := []string{"/v1/me", "/openapi.json", "/login", "/nothing"}
	for i := range 10 {
		if w := s.ask(paths[i%len(paths)], "192.0.2.1:1", ""); w.Code == http.StatusTooManyRequests {
			t.Fatalf("request %d is refused: %s", i, w.Body)
		}
	}
	before := s.authenticator.asked.Load()
	for _, path := range paths {
		w := s.ask(path, "192.0.2.1:2", "")
		if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" || !strings.Contains(w.Body.String(), `"code":"limit"`) {
			t.Errorf("%s: %d, Retry-After %q: %s", path, w.Code, w.Header().Get("Retry-After"), w.Body)
		}
		if w.Header().Get("Content-Security-Policy") == "" || w.Header().Get("Request-Id") == "" {
			t.Errorf("%s: a refusal without the headers of all answers: %v", path, w.Header())
		}
	}
	if asked := s.authenticator.asked.Load(); asked != before || s.refused[admission.RefusedAddress] != len(paths) {
		t.Errorf("the door was asked %d times about who is refused; %v", asked-before, s.refused)
	}
	if w := s.ask("/v1/me", "192.0.2.2:1", ""); w.Code != http.StatusOK {
		t.Errorf("another address: %d", w.Code)
	}
	s.now = s.now.Add(time.Second) // and five more
	for i := range 6 {
		if w := s.ask("/v1/me", "192.0.2.1:1", ""); (w.Code == http.StatusOK) != (i < 5) {
			t.Errorf("request %d after a second: %d", i, w.Code)
		}
	}
}

// TestAddressesBehindProxies counts by who came before a proxy, and lets nobody else choose an
// address.
func TestAddressesBehindProxies(t *testing.T) {
	t.Parallel()
	s := newStreet(t, admission.Limits{AddressRate: 1})
	taken := func(from, forwarded string) (n int) {
		for i := range 5 {
			if s.ask("/v1/me", from, fmt.Sprintf(forwarded, i)).Code == http.StatusOK {
				n++
			}
		}
		return n
	}
	for what, c := range map[string]struct {
		from, forwarded string
		want            int
	}{
		"one behind the proxy":     {"10.0.0.1:1", "203.0.113.%d, 198.51.100.8", 2},
		"many behind the proxy":    {"10.0.0.1:1", "203.0.113.%d", 5},
		"one who says to be many":  {"192.0.2.9:1", "203.0.114.%d", 2},
		"one network of the newer": {"10.0.0.1:1", "2001:db8::%d", 2},
	} {
		if got := taken(c.from, c.forwarded); got != c.want {
			t.Errorf("%s: %d are let in, want %d", what, got, c.want)
		}
	}
}

// TestAddressesAreForgotten has more addresses come than are remembered, all at the same moment.
func TestAddressesAreForgotten(t *testing.T) {
	t.Parallel()
	s := newStreet(t, admission.Limits{AddressRate: 1})
	for i := range 12_000 {
		if w := s.ask("/v1/me", fmt.Sprintf("192.%d.%d.%d:1", i>>16, i>>8&255, i&255), ""); w.Code != http.StatusOK {
			t.Fatalf("address %d: %d", i, w.Code)
		}
	}
}

// TestStreamsOfAnAddress opens streams from one address until there are too many.
func TestStreamsOfAnAddress(t *testing.T) {
	t.Parallel()
	bus := live.NewLocal(0)
	server := api.New(api.Options{
		Options: admission.Options{
			Authenticator: identity.Local{Tenant: "t", User: "ann", Token: "right"}, Limits: admission.Limits{AddressStreams: 2},
			Guesses: admission.LoginLimits{Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
		},
		Log: journaltest.NewMemory(), Bus: bus,
	})
	at := httptest.NewServer(server)
	t.Cleanup(func() {
		server.Close()
		at.Close()
		bus.Close()
	})
	open := func(from string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at.URL+"/v1/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer right")
		r.Header.Set("X-Forwarded-For", from)
		answer, err := at.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = answer.Body.Close() })
		return answer
	}
	first, second, third, other := open("192.0.2.1"), open("192.0.2.1"), open("192.0.2.1"), open("192.0.2.2")
	if first.StatusCode != http.StatusOK || second.StatusCode != http.StatusOK || other.StatusCode != http.StatusOK ||
		third.StatusCode != http.StatusTooManyRequests || third.Header.Get("Retry-After") == "" {
		t.Errorf("%s, %s, %s %v; another address %s", first.Status, second.Status, third.Status, third.Header, other.Status)
	}
	_ = first.Body.Close()
	for deadline := time.Now().Add(patience); server.Counts().Streams == 3 && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		continue
	}
	if again := open("192.0.2.1"); again.StatusCode != http.StatusOK {
		t.Errorf("the place of a stream that ended is not free: %s", again.Status)
	}
}

// TestUploadsAreBounded has imports arrive slowly: more of them are refused before they are read,
// and commands go on.
func TestUploadsAreBounded(t *testing.T) {
	t.Parallel()
	s := newStreet(t, admission.Limits{Commands: 1, Uploads: 3, TenantUploads: 2})
	begin := func(body io.Reader) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/v1/import", body)
		r.Header.Set("Authorization", "Bearer right")
		r.Header.Set("Content-Type", "application/jsonl")
		r.Header.Set("Idempotency-Key", "an-import-of-something")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w
	}
	ended := make(chan int, 2)
	var slow []*io.PipeWriter
	for range 2 {
		body, in := io.Pipe()
		slow = append(slow, in)
		go func() { ended <- begin(body).Code }()
		if _, err := in.Write([]byte("{")); err != nil { // it is being read
			t.Fatal(err)
		}
	}
	if w := begin(untouched{t}); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
		t.Errorf("a third import: %d %v: %s", w.Code, w.Header(), w.Body)
	}
	if n := s.Counts().Commands; n != 0 {
		t.Errorf("imports take %d places of commands", n)
	}
	for _, in := range slow {
		_ = in.Close()
	}
	for range slow {
		if code := <-ended; code != http.StatusUnprocessableEntity {
			t.Errorf("half an export is answered %d", code)
		}
	}
	if w := begin(strings.NewReader("{}\n")); w.Code != http.StatusUnprocessableEntity {
		t.Errorf("the place of an import that ended is not free: %d: %s", w.Code, w.Body)
	}
	if s.refused[admission.RefusedUploads] != 1 {
		t.Errorf("%v", s.refused)
	}
}

// untouched is a body that nobody may read.
type untouched struct{ t *testing.T }

func (u untouched) Read([]byte) (int, error) {
	u.t.Error("what is refused was read")
	return 0, io.EOF
}
