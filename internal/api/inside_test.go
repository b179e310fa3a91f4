package api

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/live"
)

// writer carries commands out by writing them down: there is no engine here.
type writer struct{ log journal.Log }

func (d writer) write(ctx context.Context, p journal.Ref, rows ...journal.Row) error {
	_, err := d.log.Append(ctx, p, time.Now(), rows...)
	return err
}

func (d writer) Open(ctx context.Context, p journal.Ref, t NewConversation) error {
	return d.write(ctx, p, journal.Opened{By: t.By, Title: t.Title})
}

func (d writer) Say(ctx context.Context, p journal.Ref, s Said) error {
	return d.write(ctx, p, journal.MessageReceived{ID: s.ID, By: s.By, Parts: []chat.Part{{Kind: chat.PartText, Text: s.Text}}})
}

func (d writer) Decide(ctx context.Context, p journal.Ref, x journal.ApprovalDecided) error {
	return d.write(ctx, p, x)
}

func (d writer) Cancel(ctx context.Context, p journal.Ref, id, _, _ string) error {
	return d.write(ctx, p, journal.Stop(id, "", ""))
}

func (d writer) Share(ctx context.Context, p journal.Ref, by string) error {
	return d.write(ctx, p, journal.Shared{By: by})
}

func (d writer) Archive(ctx context.Context, p journal.Ref, by string) error {
	return d.write(ctx, p, journal.Archived{By: by})
}

func (d writer) Delete(ctx context.Context, p journal.Ref, _, _ string) error {
	return d.log.Erase(ctx, p)
}

// crowd lets everybody in as whom they say they are: "Bearer tenant/user".
type crowd struct{}

func (crowd) Identify(r *http.Request) (Caller, error) {
	text, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	tenant, user, ok := strings.Cut(text, "/")
	if !ok {
		return Caller{}, Unauthorised()
	}
	return Caller{
		Tenant: tenant, User: user, Name: user, Role: RoleOwner, Scopes: []Scope{ScopeRead, ScopeWrite, ScopeAdmin}, Credential: user,
	}, nil
}

// insideServer starts a server whose parts a test can look at.
func insideServer(t *testing.T, log journal.Log, change func(*Options)) (*Server, *httptest.Server) {
	t.Helper()
	bus := live.NewLocal(0)
	t.Cleanup(bus.Close)
	o := Options{
		Log: log, Bus: bus, Authenticator: crowd{}, Commands: writer{log}, Poll: 20 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&o)
	}
	s := New(o)
	front := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Close()
		front.CloseClientConnections()
		front.Close()
	})
	return s, front
}

// ask sends a request and returns the status and the body.
func ask(t *testing.T, front *httptest.Server, who, method, path, key, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, front.URL+path, strings.NewReader(body))
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
	answer, err := http.DefaultClient.Do(r)
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

// open opens a stream of ann's, of which nothing is read.
func open(t *testing.T, front *httptest.Server, path string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, front.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer a/ann")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d", path, answer.StatusCode)
	}
	return answer
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for until := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}
