package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/identity"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/wire"
)

// clerk carries commands out as far as the journal goes: the rows are those of the real client, and
// there is no engine.
type clerk struct {
	log journal.Log
	now func() time.Time
}

var mainTask = journal.In{Agent: "main", Task: "main"}

func (s clerk) Open(ctx context.Context, ref journal.Ref, t api.NewConversation) error {
	_, err := s.log.Append(ctx, ref, s.now(), journal.Opened{By: t.By, Title: t.Title, Workspace: t.Workspace, Command: t.Command},
		journal.TaskAssigned{In: mainTask, Role: "main"})
	return err
}

func (s clerk) Say(ctx context.Context, ref journal.Ref, m api.Said) error {
	_, err := s.log.Append(ctx, ref, s.now(), journal.MessageReceived{
		ID: m.ID, By: m.By, Parts: []chat.Part{{Kind: chat.PartText, Text: m.Text}}, InReplyTo: m.InReplyTo, Decline: m.Decline,
	}, journal.MailPosted{ID: "message:" + m.ID, Topic: "message"})
	return err
}

func (s clerk) Decide(ctx context.Context, ref journal.Ref, d journal.ApprovalDecided) error {
	if _, code, found := strings.Cut(d.Args, `{"refuse":"`); found {
		return &chat.Error{Code: chat.Code(strings.TrimSuffix(code, `"}`)), Message: "these arguments will not do"}
	}
	written, err := s.log.Append(ctx, ref, s.now(), d, journal.MailPosted{ID: "decided:" + d.Agent + "#" + d.Call, Topic: "decided"})
	if err != nil || !written[0].Existed {
		return err
	}
	entries, err := s.log.Find(ctx, ref, d.Key())
	if err != nil {
		return err
	}
	if first, _ := entries[0].Row.(journal.ApprovalDecided); first.Allow != d.Allow || first.Hash != d.Hash || first.Args != d.Args {
		return &chat.Error{Code: chat.CodeConflict, Message: "it was decided otherwise before"}
	}
	return nil
}

func (s clerk) Cancel(ctx context.Context, ref journal.Ref, id, by, task string) error {
	_, err := s.log.Append(ctx, ref, s.now(), journal.Stop(id, by, task))
	return err
}

func (s clerk) Share(ctx context.Context, ref journal.Ref, by string) error {
	_, err := s.log.Append(ctx, ref, s.now(), journal.Shared{By: by})
	return err
}

func (s clerk) Archive(ctx context.Context, ref journal.Ref, by string) error {
	_, err := s.log.Append(ctx, ref, s.now(), journal.Archived{By: by})
	return err
}

func (s clerk) Delete(ctx context.Context, ref journal.Ref, id, _ string) error {
	_, err := s.log.Append(ctx, ref, s.now(), journal.MailPosted{ID: journal.Erasure, Topic: "erase", Command: id})
	if err != nil {
		return err
	}
	return s.log.Erase(ctx, ref)
}

// Roles implements api.Catalogue.
func (s clerk) Roles(context.Context, string) ([]wire.Role, error) {
	return []wire.Role{{Name: "main"}}, nil
}

// Role implements api.Catalogue. Roles have the hash of their name.
func (s clerk) Role(_ context.Context, _, name string) (wire.Role, error) {
	if name != "main" && name != "coder" {
		return wire.Role{}, &chat.Error{Code: chat.CodeNotFound, Message: "there is no such role"}
	}
	return wire.Role{
		Name: name, Hash: journal.HashOf(`{"name":"` + name + `"}`), Source: name + ".md", Origins: map[string]string{"tools": name + ".md:3"},
	}, nil
}

// office is a server with one person at its door.
type office struct {
	*httptest.Server
	log   journal.Log
	clock time.Time
}

const officeToken = "rtl_office"

func newOffice(t *testing.T) *office { return newOfficeOn(t, journaltest.NewMemory()) }

func newOfficeOn(t *testing.T, log journal.Log) *office {
	t.Helper()
	o := &office{log: log, clock: time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)}
	now := func() time.Time { // no two things happen at the same time
		o.clock = o.clock.Add(time.Millisecond)
		return o.clock
	}
	bus := live.NewLocal(0)
	s := clerk{log: o.log, now: now}
	server := api.New(api.Options{
		Options: admission.Options{Authenticator: identity.Local{Tenant: "t", User: "ann", Token: officeToken}},
		Log:     o.log, Bus: bus, Commands: s, Roles: s, Poll: 20 * time.Millisecond,
	})
	o.Server = httptest.NewServer(server)
	t.Cleanup(func() {
		server.Close()
		o.Close()
		bus.Close()
	})
	return o
}

// reply is what was answered.
type reply struct {
	Status int
	Body   []byte
}

// send sends a request whose body is JSON as it stands.
func (o *office) send(t *testing.T, method, path, key, body string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, o.URL+path, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+officeToken)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	return o.do(t, r)
}

func (o *office) do(t *testing.T, r *http.Request) reply {
	t.Helper()
	answer, err := o.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{Status: answer.StatusCode, Body: text}
}

// into decodes an answer that must have a status.
func (r reply) into(t *testing.T, status int, out any) {
	t.Helper()
	if r.Status != status {
		t.Fatalf("answered %d, want %d: %s", r.Status, status, r.Body)
	}
	if err := json.Unmarshal(r.Body, out); err != nil {
		t.Fatal(err)
	}
}

// begin opens a conversation and returns its address.
func (o *office) begin(t *testing.T, key string) (path string, ref journal.Ref) {
	t.Helper()
	var c wire.Conversation
	o.send(t, http.MethodPost, "/v1/conversations", key, `{"title":"a talk"}`).into(t, http.StatusCreated, &c)
	return "/v1/conversations/" + c.ID, journal.Ref{Tenant: "t", Conversation: c.ID}
}

// write has agents do something.
func (o *office) write(t *testing.T, ref journal.Ref, rows ...journal.Row) {
	t.Helper()
	o.clock = o.clock.Add(time.Millisecond)
	if _, err := o.log.Append(t.Context(), ref, o.clock, rows...); err != nil {
		t.Fatal(err)
	}
}
