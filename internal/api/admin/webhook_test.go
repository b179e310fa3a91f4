package admin_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/admin"
	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/identity"
	"github.com/retinue-dev/retinue/internal/audit"
	auditstore "github.com/retinue-dev/retinue/internal/audit/store"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/internal/seal"
	"github.com/retinue-dev/retinue/internal/webhook"
	webhookstore "github.com/retinue-dev/retinue/internal/webhook/store"
	"github.com/retinue-dev/retinue/wire"
)

// anywhere is a book of webhooks that may be sent to any address.
type anywhere struct{ *webhookstore.Store }

func (anywhere) Allowed(string) error { return nil }

const localKey = "rtl_test"

// hookKeys seal the secrets of webhooks.
func hookKeys(t *testing.T) *seal.Keys {
	t.Helper()
	keys, err := seal.NewKeys(seal.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// told is a server with its webhooks and its trail.
type told struct {
	*httptest.Server
	t        *testing.T
	log      *journaltest.Memory
	hooks    *webhookstore.Store
	recorder *audit.Recorder
}

func newTold(t *testing.T) *told { return newToldWith(t, func(*api.Options) {}) }

// newToldWith starts a server whose options are changed before it is made.
func newToldWith(t *testing.T, change func(*api.Options)) *told {
	t.Helper()
	dir := t.TempDir()
	trails, err := auditstore.OpenSQLite(t.Context(), filepath.Join(dir, "audit.db"))
	if err != nil {
		t.Fatal(err)
	}
	hooks, err := webhookstore.OpenSQLite(t.Context(), filepath.Join(dir, "webhook.db"), hookKeys(t))
	if err != nil {
		t.Fatal(err)
	}
	s := &told{t: t, log: journaltest.NewMemory(), hooks: hooks, recorder: audit.NewRecorder(audit.NewTrail(trails, time.Now), time.Now)}
	bus := live.NewLocal(0)
	o := api.Options{
		Options: admission.Options{
			Authenticator: identity.Local{Tenant: "acme", User: "ann", Token: localKey}, Audit: s.recorder,
			Logger: slog.New(slog.DiscardHandler),
		},
		Log: s.log, Bus: bus, Webhooks: anywhere{hooks}, Version: "test", Trail: s.recorder,
	}
	change(&o)
	server := api.New(o)
	s.Server = httptest.NewServer(server)
	t.Cleanup(func() {
		server.Close()
		s.Close()
		s.recorder.Close()
		bus.Close()
		_ = trails.Close()
		_ = hooks.Close()
	})
	return s
}

// do sends a request and reads the answer into out.
func (s *told) do(method, path, key string, body, out any) int {
	s.t.Helper()
	var data bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&data).Encode(body); err != nil {
			s.t.Fatal(err)
		}
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+path, &data)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+localKey)
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if out != nil && answer.StatusCode < 300 {
		if err := json.Unmarshal(text, out); err != nil {
			s.t.Fatalf("%s %s: %s: %v", method, path, text, err)
		}
	}
	return answer.StatusCode
}

func TestWebhookRoutes(t *testing.T) {
	s := newTold(t)
	var made, again wire.MadeWebhook
	body := map[string]any{"url": "https://example.com/hook", "types": []string{"turn.completed"}}
	for _, out := range []*wire.MadeWebhook{&made, &again} {
		if code := s.do(http.MethodPost, "/v1/webhooks", "the-key-1", body, out); code != http.StatusCreated {
			t.Fatalf("created with %d", code)
		}
	}
	if diff := cmp.Diff(made, again); diff != "" || webhook.CheckSecret(made.Secret) != nil {
		t.Errorf("the same key made another webhook: %s", diff)
	}
	body["url"] = "https://example.com/other"
	if code := s.do(http.MethodPost, "/v1/webhooks", "the-key-1", body, nil); code != http.StatusConflict {
		t.Errorf("a key that was used before: %d", code)
	}
	body["types"] = []string{"tool.returned"}
	if code := s.do(http.MethodPost, "/v1/webhooks", "the-key-2", body, nil); code != http.StatusUnprocessableEntity {
		t.Errorf("a type that webhooks are not told of: %d", code)
	}
	var list wire.Webhooks
	s.do(http.MethodGet, "/v1/webhooks", "", nil, &list)
	if diff := cmp.Diff([]wire.Webhook{made.Webhook}, list.Items); diff != "" {
		t.Errorf("the list (-want +got):\n%s", diff)
	}
	delivery := s.deliver(made.ID)
	at := "/v1/webhooks/" + made.ID + "/deliveries"
	var replayed wire.Delivery
	if code := s.do(http.MethodPost, at+"/"+delivery.ID+"/replay", "the-key-3", nil, &replayed); code != http.StatusAccepted {
		t.Errorf("replay: %d", code)
	}
	for _, unknown := range [][2]string{
		{http.MethodDelete, "/v1/webhooks/unknown"},
		{http.MethodGet, "/v1/webhooks/unknown/deliveries"},
		{http.MethodPost, at + "/unknown/replay"},
	} {
		if code := s.do(unknown[0], unknown[1], "the-key-4", nil, nil); code != http.StatusNotFound {
			t.Errorf("%v: %d", unknown, code)
		}
	}
	if code := s.do(http.MethodDelete, "/v1/webhooks/"+made.ID, "the-key-5", nil, nil); code != http.StatusAccepted {
		t.Errorf("removed with %d", code)
	}
	s.traces("webhook.create accepted", "webhook.replay accepted", "webhook.remove accepted", "webhook.remove failed",
		"webhook.replay accepted", "webhook.replay failed", "webhook.remove accepted")
}

// deliver puts an event into the outbox and returns its delivery.
func (s *told) deliver(hook string) wire.Delivery {
	s.t.Helper()
	ref, main := journal.Ref{Tenant: "acme", Conversation: "c1"}, journal.In{Agent: "main", Task: "main"}
	_, err := s.log.Append(s.t.Context(), ref, time.Now().Add(time.Second), journal.Opened{By: "ann"},
		journal.TaskAssigned{In: main, Role: "main"},
		journal.TurnEnded{In: main, Serial: 1, Turn: 1, Status: chat.StatusCompleted})
	if err != nil {
		s.t.Fatal(err)
	}
	feeder := webhook.NewFeeder(webhook.FeederOptions{
		Places: s.hooks, Book: s.hooks, Log: s.log, Events: admin.WebhookEvent, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
	})
	if err := feeder.Look(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	var page wire.Deliveries
	s.do(http.MethodGet, "/v1/webhooks/"+hook+"/deliveries", "", nil, &page)
	if len(page.Items) != 1 || page.Items[0].Type != "turn.completed" || page.Items[0].Seq != 3 || page.Items[0].Status != "pending" {
		s.t.Fatalf("deliveries: %+v", page.Items)
	}
	return page.Items[0]
}

// traces compares the trail with what was done.
func (s *told) traces(want ...string) {
	s.t.Helper()
	var page wire.AuditPage
	s.do(http.MethodGet, "/v1/audit?limit=1000", "", nil, &page)
	var got []string
	for _, e := range page.Items {
		if e.User != "ann" || e.Credential != "local" || e.Source != "api" {
			s.t.Errorf("%+v does not say who it was", e)
		}
		got = append(got, e.Action+" "+e.Outcome)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("the trail (-want +got):\n%s", diff)
	}
}

// TestStrangersAreNoted knocks often.
func TestStrangersAreNoted(t *testing.T) {
	s := newTold(t)
	for range 50 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/v1/conversations/secret-id", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil || answer.StatusCode != http.StatusUnauthorized {
			t.Fatalf("%v, %v", answer, err)
		}
		_ = answer.Body.Close()
	}
	s.recorder.Close()
	entries, err := s.recorder.Read(t.Context(), audit.Installation, 0, 100)
	if err != nil || len(entries) != 11 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	if got := entries[0].Detail; got != "unauthorised at GET /v1/conversations/{conversation} from 127.0.0.1" {
		t.Errorf("noted as %q", got)
	}
	if got := entries[10].Detail; got != "and 40 more within a minute" {
		t.Errorf("the rest noted as %q", got)
	}
}
