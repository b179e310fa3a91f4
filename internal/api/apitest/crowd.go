package apitest

import (
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/people"
)

// Crowd lets everybody in as whom they say they are: "Bearer tenant/user".
type Crowd struct{}

// Identify implements admission.Authenticator.
func (Crowd) Identify(r *http.Request) (admission.Caller, error) {
	text, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	tenant, user, ok := strings.Cut(text, "/")
	if !ok {
		return admission.Caller{}, admission.Unauthorised()
	}
	return admission.Caller{
		Tenant: tenant, User: user, Name: user, Role: people.RoleOwner,
		Scopes: []people.Scope{people.ScopeRead, people.ScopeWrite, people.ScopeAdmin}, Credential: user,
	}, nil
}

// Crowded starts a server for a Crowd, on a journal of the test's.
func Crowded(t testing.TB, log journal.Log, change func(*api.Options)) *Server {
	t.Helper()
	return Start(t, func(o *api.Options) {
		o.Log, o.Authenticator, o.Logger = log, Crowd{}, slog.New(slog.DiscardHandler)
		if change != nil {
			change(o)
		}
	})
}

// Ask sends a request of one of a crowd and returns the status and the body.
func (s *Server) Ask(t testing.TB, who, method, path, key, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+who)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	answer, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// Open opens a stream of ann's, of tenant a, of which nothing is read.
func (s *Server) Open(t testing.TB, path string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer a/ann")
	answer, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d", path, answer.StatusCode)
	}
	return answer
}

// Eventually waits until something holds.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for until := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}
