package store

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/webhook"
)

// wire is what tests send of an entry: turns that ended.
func wire(conversation string, e journal.Entry) (webhook.Event, bool) {
	if _, ok := e.Row.(journal.TurnEnded); !ok {
		return webhook.Event{}, false
	}
	body, err := json.Marshal(map[string]any{"conversation": conversation, "seq": e.Seq})
	return webhook.Event{Type: "turn.completed", Seq: e.Seq, At: e.At, Body: body}, err == nil
}

// receiver receives deliveries. It checks every signature, and answers as ordered.
type receiver struct {
	*httptest.Server
	t      *testing.T
	secret string
	// answer decides about the n-th request with an id, from 1.
	answer func(id string, n int, w http.ResponseWriter, r *http.Request)

	mu   sync.Mutex
	seen map[string]int
	// events are the events by the ids they came under.
	events map[string]string
}

func newReceiver(t *testing.T, answer func(id string, n int, w http.ResponseWriter, r *http.Request)) *receiver {
	r := &receiver{t: t, secret: webhook.NewSecret(), answer: answer, seen: map[string]int{}, events: map[string]string{}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return // the sender was killed
	}
	id := q.Header.Get("Webhook-Id")
	at, err := strconv.ParseInt(q.Header.Get("Webhook-Timestamp"), 10, 64)
	if err != nil {
		r.t.Errorf("timestamp: %v", err)
	}
	want, err := webhook.Sign(r.secret, id, time.Unix(at, 0), body)
	if err != nil || q.Header.Get("Webhook-Signature") != want {
		r.t.Errorf("the signature of %s does not fit, %v", id, err)
	}
	r.mu.Lock()
	r.seen[id]++
	n := r.seen[id]
	if before, ok := r.events[id]; ok && before != string(body) {
		r.t.Errorf("%s came with two bodies: %s and %s", id, before, body)
	}
	r.events[id] = string(body)
	r.mu.Unlock()
	if r.answer != nil {
		r.answer(id, n, w, q)
	}
}

// counts are how many events came, and how many requests.
func (r *receiver) counts() (events, requests int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	different := map[string]bool{}
	for _, body := range r.events {
		different[body] = true
	}
	for _, n := range r.seen {
		requests += n
	}
	if len(different) != len(r.events) {
		r.t.Errorf("%d events came under %d ids", len(different), len(r.events))
	}
	return len(r.events), requests
}

// clock is the real one and what a test adds to it.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time          { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) advance(d time.Duration) { c.ahead.Add(int64(d)) }

func openFile(t *testing.T) *Store {
	t.Helper()
	s, err := OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "webhook.db"), keysOf(t, testKey))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func hookTo(t *testing.T, s *Store, tenant string, r *receiver, at time.Time) webhook.Hook {
	t.Helper()
	h, err := s.Add(t.Context(), webhook.Hook{Tenant: tenant, ID: "wh_" + tenant, URL: r.URL, Secret: r.secret, By: "ann", At: at})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

var main = journal.In{Agent: "main", Task: "main"}

// talk opens a conversation and ends turns in it.
func talk(t *testing.T, log journal.Log, tenant, conversation string, turns int) {
	t.Helper()
	ref := journal.Ref{Tenant: tenant, Conversation: conversation}
	put := func(rows ...journal.Row) {
		t.Helper()
		if _, err := log.Append(t.Context(), ref, time.Now(), rows...); err != nil {
			t.Fatal(err)
		}
	}
	put(journal.Opened{By: "ann"}, journal.TaskAssigned{In: main, Role: "main"})
	for i := range turns {
		put(journal.TurnEnded{In: main, Serial: i + 1, Turn: i + 1, Status: chat.StatusCompleted})
	}
}

var quiet = slog.New(slog.DiscardHandler)

// patience is how long a receiver that answers is waited for: no test may send twice because the
// machine was busy.
const patience = 30 * time.Second

// node starts a feeder and a sender, as each process of an installation has, until the test ends.
func node(t *testing.T, s *Store, outbox webhook.Outbox, log journal.Log, c *clock, timeout time.Duration) *webhook.Feeder {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	feeder := webhook.NewFeeder(webhook.FeederOptions{
		Places: s, Book: s, Log: log, Events: wire, Now: c.now, Logger: quiet, Every: 20 * time.Millisecond,
	})
	sender := webhook.NewSender(webhook.SenderOptions{
		Outbox: outbox, Log: log, Events: wire, Now: c.now, Logger: quiet, Every: 20 * time.Millisecond,
		Timeout: timeout, Client: http.DefaultClient, Agent: "retinue/test",
	})
	var group sync.WaitGroup
	group.Go(func() { feeder.Run(ctx) })
	group.Go(func() { sender.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		group.Wait()
	})
	return feeder
}

// until waits for something to become true, and lets time pass quickly meanwhile.
func until(t *testing.T, what string, c *clock, step time.Duration, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); {
		if time.Now().After(end) {
			t.Fatalf("waited too long until %s", what)
		}
		c.advance(step)
		time.Sleep(20 * time.Millisecond)
	}
}

func statuses(t *testing.T, s *Store, h webhook.Hook) map[webhook.Status]int {
	t.Helper()
	out := map[webhook.Status]int{}
	for cursor := ""; ; {
		list, before, err := s.Deliveries(t.Context(), h.Tenant, h.ID, cursor, 7)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range list {
			out[d.Status]++
		}
		if cursor = before; cursor == "" {
			return out
		}
	}
}

// stores runs a test on each store there is.
func stores(t *testing.T, test func(t *testing.T, s *Store)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, openFile(t)) })
	if openServer != nil {
		t.Run("postgres", func(t *testing.T) { test(t, openServer(t)) })
	}
}

// TestBadReceiver sends to a receiver that fails, then takes too long, then accepts.
func TestBadReceiver(t *testing.T) {
	stores(t, func(t *testing.T, s *Store) {
		r := newReceiver(t, func(_ string, n int, w http.ResponseWriter, q *http.Request) {
			if q.URL.Path == "/elsewhere" {
				t.Error("a redirect was followed")
			}
			switch n {
			case 1:
				w.WriteHeader(http.StatusInternalServerError)
			case 2:
				select {
				case <-q.Context().Done():
				case <-time.After(time.Minute):
				}
			case 3:
				http.Redirect(w, q, "/elsewhere", http.StatusTemporaryRedirect)
			}
		})
		log, c := journaltest.NewMemory(), &clock{}
		h := hookTo(t, s, "acme", r, time.Now().Add(-time.Minute))
		node(t, s, s, log, c, time.Second)
		talk(t, log, "acme", "c1", 20)
		talk(t, log, "other", "c1", 5) // nobody asked
		until(t, "all is delivered", c, 30*time.Second, func() bool { return statuses(t, s, h)[webhook.Delivered] == 20 })
		events, requests := r.counts()
		measure.Figure(t, "webhook: %s: %d of 20 events came to a receiver that fails, in %d requests", t.Name(), events, requests)
		if events != 20 || requests < 80 {
			t.Errorf("%d events in %d requests, want 20 in at least 80", events, requests)
		}
	})
}

// forgetful is an outbox whose process dies between sending and reporting, every time but the last.
type forgetful struct {
	webhook.Outbox
	lost atomic.Int64
	most int64
}

func (f *forgetful) Report(ctx context.Context, d webhook.Delivery) error {
	if f.lost.Add(1) <= f.most {
		return fmt.Errorf("the process is dead")
	}
	return f.Outbox.Report(ctx, d)
}

func TestLostReports(t *testing.T) {
	stores(t, func(t *testing.T, s *Store) {
		r, log, c := newReceiver(t, nil), journaltest.NewMemory(), &clock{}
		h := hookTo(t, s, "acme", r, time.Now().Add(-time.Minute))
		node(t, s, &forgetful{Outbox: s, most: 10}, log, c, patience)
		talk(t, log, "acme", "c1", 10)
		until(t, "all is delivered", c, 5*time.Second, func() bool { return statuses(t, s, h)[webhook.Delivered] == 10 })
		events, requests := r.counts()
		if events != 10 || requests < 20 {
			t.Errorf("%d events in %d requests, want 10 in at least 20", events, requests)
		}
	})
}

// TestArchivedAndDeleted ends turns in conversations that go off the list, or away.
func TestArchivedAndDeleted(t *testing.T) {
	stores(t, func(t *testing.T, s *Store) {
		up := atomic.Bool{}
		r := newReceiver(t, func(_ string, _ int, w http.ResponseWriter, _ *http.Request) {
			if !up.Load() {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		})
		log, c := journaltest.NewMemory(), &clock{}
		h := hookTo(t, s, "acme", r, time.Now().Add(-time.Minute))
		// Both are over before anybody looks.
		quick, gone := journal.Ref{Tenant: "acme", Conversation: "quick"}, journal.Ref{Tenant: "acme", Conversation: "gone"}
		talk(t, log, "acme", "quick", 3)
		talk(t, log, "acme", "gone", 2)
		feeder := node(t, s, s, log, c, patience)
		if err := feeder.Watch(t.Context(), quick); err != nil {
			t.Fatal(err)
		}
		if _, err := log.Append(t.Context(), quick, time.Now(), journal.Archived{By: "ann"}); err != nil {
			t.Fatal(err)
		}
		until(t, "all was tried in vain", c, 0, func() bool {
			list, _, err := s.Deliveries(t.Context(), "acme", h.ID, "", 10)
			tried := slices.DeleteFunc(list, func(d webhook.Delivery) bool { return d.Code != http.StatusServiceUnavailable })
			return err == nil && len(tried) == 5
		})
		late := journal.TurnEnded{In: main, Serial: 4, Turn: 4, Status: chat.StatusCancelled}
		if _, err := log.Append(t.Context(), quick, time.Now(), late); err != nil {
			t.Fatal(err)
		}
		if err := log.Erase(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
		up.Store(true)
		got := map[webhook.Status]int{}
		defer func() { t.Log(got) }()
		until(t, "all is delivered or gone", c, 10*time.Second, func() bool {
			got = statuses(t, s, h)
			return got[webhook.Delivered] == 4 && got[webhook.Gone] == 2
		})
	})
}

// TestGivingUpAndReplay has a receiver that is down for more than a day.
// TestPrivateConversationsAreNobodysEvents sends hooks no event of a private conversation until it
// is shared.
func TestPrivateConversationsAreNobodysEvents(t *testing.T) {
	stores(t, func(t *testing.T, s *Store) {
		r := newReceiver(t, func(string, int, http.ResponseWriter, *http.Request) {})
		log, c := journaltest.NewMemory(), &clock{}
		h := hookTo(t, s, "acme", r, time.Now().Add(-time.Minute))
		ref := journal.Ref{Tenant: "acme", Conversation: "secret"}
		put := func(rows ...journal.Row) {
			t.Helper()
			if _, err := log.Append(t.Context(), ref, time.Now(), rows...); err != nil {
				t.Fatal(err)
			}
		}
		ended := func(n int) journal.Row {
			return journal.TurnEnded{In: main, Serial: n, Turn: n, Status: chat.StatusCompleted}
		}
		put(journal.Opened{By: "ann", PrivateTo: "u1"}, journal.TaskAssigned{In: main, Role: "main"}, ended(1))
		node(t, s, s, log, c, patience)
		talk(t, log, "acme", "open", 2)
		until(t, "the other conversation was told", c, 0, func() bool { return statuses(t, s, h)[webhook.Delivered] == 2 })
		until(t, "the private one was read", c, 0, func() bool {
			at, err := s.Cursor(t.Context(), "acme", "secret")
			return err == nil && at == 3
		})
		put(journal.Shared{By: "ann"}, ended(2))
		until(t, "what came after was told", c, 0, func() bool { return statuses(t, s, h)[webhook.Delivered] == 3 })
		if got := statuses(t, s, h); len(got) != 1 {
			t.Errorf("deliveries: %v", got)
		}
	})
}

func TestGivingUpAndReplay(t *testing.T) {
	stores(t, func(t *testing.T, s *Store) {
		up := atomic.Bool{}
		r := newReceiver(t, func(_ string, _ int, w http.ResponseWriter, _ *http.Request) {
			if !up.Load() {
				w.WriteHeader(http.StatusBadGateway)
			}
		})
		log, c := journaltest.NewMemory(), &clock{}
		h := hookTo(t, s, "acme", r, time.Now().Add(-time.Minute))
		node(t, s, s, log, c, patience)
		talk(t, log, "acme", "c1", 1)
		until(t, "it gave up", c, 0, func() bool {
			list, _, err := s.Deliveries(t.Context(), "acme", h.ID, "", 10)
			if err != nil {
				t.Fatal(err)
			}
			// The test waits for a delivery that is due: else on a slow machine the day would be
			// over after few attempts.
			if len(list) == 1 && list[0].Status == webhook.Pending && list[0].Next.After(c.now()) {
				c.advance(20 * time.Minute)
			}
			return len(list) == 1 && list[0].Status == webhook.Failed
		})
		list, _, err := s.Deliveries(t.Context(), "acme", h.ID, "", 10)
		if err != nil || len(list) != 1 || list[0].Code != http.StatusBadGateway || list[0].Problem != "it answered 502" || list[0].Attempts < 8 {
			t.Fatalf("gave up as %+v, %v", list, err)
		}
		up.Store(true)
		for _, wrong := range [][3]string{{"other", h.ID, list[0].ID}, {"acme", "wh_x", list[0].ID}, {"acme", h.ID, "msg_x"}} {
			if _, err := s.Replay(t.Context(), wrong[0], wrong[1], wrong[2], "r0", c.now()); chat.CodeOf(err) != chat.CodeNotFound {
				t.Errorf("replay of %v: %v", wrong, err)
			}
		}
		for n := range 2 {
			before, _ := r.counts()
			if _, err := s.Replay(t.Context(), "acme", h.ID, list[0].ID, fmt.Sprint("r", n), c.now()); err != nil {
				t.Fatal(err)
			}
			until(t, "it is delivered", c, 0, func() bool { return statuses(t, s, h)[webhook.Delivered] == 1 })
			if after, _ := r.counts(); after != before {
				t.Errorf("a replay came under another id")
			}
			if again, err := s.Replay(t.Context(), "acme", h.ID, list[0].ID, fmt.Sprint("r", n), c.now()); err != nil || again.Status != webhook.Delivered {
				t.Errorf("the same replay sent again: %+v, %v", again, err)
			}
		}
		if err := s.Remove(t.Context(), "other", h.ID); chat.CodeOf(err) != chat.CodeNotFound {
			t.Errorf("another tenant removes a webhook: %v", err)
		}
		if err := s.Remove(t.Context(), "acme", h.ID); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Deliveries(t.Context(), "acme", h.ID, "", 10); chat.CodeOf(err) != chat.CodeNotFound {
			t.Errorf("deliveries of a webhook that is gone: %v", err)
		}
	})
}
