package webhook_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/seal"
	"github.com/retinue-dev/retinue/internal/webhook"
	"github.com/retinue-dev/retinue/internal/webhook/store"
)

// began is when the tests' clock begins.
var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// eventOf tells of turns that ended and of notes.
func eventOf(_ string, e journal.Entry) (webhook.Event, bool) {
	var kind string
	switch e.Row.(type) {
	case journal.TurnEnded:
		kind = "turn.completed"
	case journal.NoteAdded:
		kind = "note.added"
	default: // nobody is told
		return webhook.Event{}, false
	}
	body, err := json.Marshal(map[string]any{"type": kind, "seq": e.Seq})
	return webhook.Event{Type: kind, Seq: e.Seq, At: e.At, Body: body}, err == nil
}

// office has a journal, an outbox in a file, a feeder and a receiver.
type office struct {
	*testing.T
	log    journal.Log
	store  *store.Store
	feeder *webhook.Feeder
	now    time.Time
	url    string

	mu   sync.Mutex
	came []string
	// answer is the receiver's; it takes everything if that is nil.
	answer http.HandlerFunc
}

func newOffice(t *testing.T) *office {
	t.Helper()
	keys, err := seal.NewKeys(seal.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	kept, err := store.OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "webhook.db"), keys)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := kept.Close(); err != nil {
			t.Error(err)
		}
	})
	o := &office{T: t, log: journaltest.NewMemory(), store: kept, now: began}
	o.feeder = o.newFeeder()
	server := httptest.NewServer(http.HandlerFunc(o.receive))
	t.Cleanup(server.Close)
	o.url = server.URL
	return o
}

func (o *office) newFeeder() *webhook.Feeder {
	return webhook.NewFeeder(webhook.FeederOptions{
		Places: o.store, Book: o.store, Log: o.log, Events: eventOf, Now: func() time.Time { return o.now }, Logger: slog.New(slog.DiscardHandler),
	})
}

// receive checks a request as a receiver should, and keeps what it says.
func (o *office) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender has gone
	}
	at, err := strconv.ParseInt(r.Header.Get("Webhook-Timestamp"), 10, 64)
	if err != nil {
		o.Errorf("timestamp: %v", err)
	}
	want, err := webhook.Sign(secret, r.Header.Get("Webhook-Id"), time.Unix(at, 0), body)
	if err != nil || r.Header.Get("Webhook-Signature") != want || r.Header.Get("Content-Type") != "application/json" {
		o.Errorf("it came with %v, %v", r.Header, err)
	}
	o.mu.Lock()
	o.came = append(o.came, string(body))
	o.mu.Unlock()
	if o.answer != nil {
		o.answer(w, r)
	}
}

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// hook registers the receiver for types of events.
func (o *office) hook(id string, types ...string) webhook.Hook {
	o.Helper()
	h, err := o.store.Add(o.Context(), webhook.Hook{
		Tenant: "acme", ID: id, URL: o.url + "/hook?key=canary", Secret: secret, Types: types, By: "ann", At: o.now,
	})
	if err != nil {
		o.Fatal(err)
	}
	return h
}

var (
	main = journal.In{Agent: "main", Task: "main"}
	talk = journal.Ref{Tenant: "acme", Conversation: "c"}
)

// write records rows. A conversation begins with its first ones.
func (o *office) write(rows ...journal.Row) {
	o.Helper()
	if _, err := o.log.Append(o.Context(), talk, o.now, rows...); err != nil {
		o.Fatal(err)
	}
}

func opened(private string) []journal.Row {
	return []journal.Row{journal.Opened{By: "ann", PrivateTo: private}, journal.TaskAssigned{In: main, Role: "main"}}
}

func turn(n int) journal.Row {
	return journal.TurnEnded{In: main, Serial: n, Turn: n, Status: chat.StatusCompleted}
}

// look has the feeder read what happened.
func (o *office) look() {
	o.Helper()
	if err := o.feeder.Look(o.Context()); err != nil {
		o.Fatal(err)
	}
}

// deliveries are those of a hook, in the order of the journal.
func (o *office) deliveries(h webhook.Hook) []webhook.Delivery {
	o.Helper()
	list, _, err := o.store.Deliveries(o.Context(), h.Tenant, h.ID, "", 100)
	if err != nil {
		o.Fatal(err)
	}
	slices.SortFunc(list, func(a, b webhook.Delivery) int { return int(a.Seq - b.Seq) })
	return list
}

// queued says what is in a hook's outbox: a type and a place in the conversation each.
func (o *office) queued(h webhook.Hook) (list []string) {
	o.Helper()
	for _, d := range o.deliveries(h) {
		list = append(list, d.Type+" "+strconv.FormatInt(d.Seq, 10))
	}
	return list
}

// send runs a sender until every delivery of a hook was tried.
func (o *office) send(h webhook.Hook, timeout time.Duration) []webhook.Delivery {
	o.Helper()
	ctx, cancel := context.WithCancel(o.Context())
	sender := webhook.NewSender(webhook.SenderOptions{
		Outbox: o.store, Log: o.log, Events: eventOf, Client: http.DefaultClient, Now: func() time.Time { return o.now },
		Logger: slog.New(slog.DiscardHandler), Every: 10 * time.Millisecond, Timeout: timeout, Agent: "retinue/test",
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		sender.Run(ctx)
	}()
	sender.Wake()
	defer func() {
		cancel()
		<-done
	}()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		list := o.deliveries(h)
		tried := 0
		for _, d := range list {
			if d.Attempts > 0 && !d.Tried.IsZero() {
				tried++
			}
		}
		if tried == len(list) && tried > 0 {
			return list
		}
		if time.Now().After(end) {
			o.Fatalf("not all was tried: %+v", list)
		}
	}
}

// patience is how long a receiver that answers is waited for, on a busy machine.
const patience = 30 * time.Second

// TestAHookHearsWhatItAskedForOnce has hooks for some types and for all, and one that came after
// the first events and before anybody looked. Two feeders look again and again. Each event is
// queued once, for those who want it.
func TestAHookHearsWhatItAskedForOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	all, turns := o.hook("wh_all"), o.hook("wh_turns", "turn.completed", "something.else")
	o.write(append(opened(""), turn(1), journal.NoteAdded{In: main, Serial: 1, Note: "kept"})...)
	o.now = o.now.Add(time.Minute)
	late := o.hook("wh_late")
	o.write(turn(2))
	other := o.newFeeder()
	for range 3 {
		o.look()
		if err := other.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string][]string{
		all.ID: {"turn.completed 3", "note.added 4", "turn.completed 5"}, turns.ID: {"turn.completed 3", "turn.completed 5"}, late.ID: {"turn.completed 5"},
	}
	got := map[string][]string{all.ID: o.queued(all), turns.ID: o.queued(turns), late.ID: o.queued(late)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("in the outbox (-want +got):\n%s", diff)
	}
}

// TestWhatIsPrivateIsNobodysNews has a turn end in a private conversation, which is then shared.
func TestWhatIsPrivateIsNobodysNews(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	h := o.hook("wh_all")
	o.write(append(opened("u1"), turn(1))...)
	o.look()
	if got := o.queued(h); got != nil {
		t.Errorf("told of a private conversation: %v", got)
	}
	o.write(journal.Shared{By: "ann"}, turn(2))
	o.look()
	if diff := cmp.Diff([]string{"turn.completed 5"}, o.queued(h)); diff != "" {
		t.Errorf("after it was shared (-want +got):\n%s", diff)
	}
}

// TestADeliveryIsWhatTheJournalSays sends two events, signed, under ids of their own.
func TestADeliveryIsWhatTheJournalSays(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	h := o.hook("wh_all")
	o.write(append(opened(""), turn(1), turn(2))...)
	o.look()
	list := o.send(h, patience)
	if len(list) != 2 || list[0].ID == list[1].ID {
		t.Fatalf("sent %+v", list)
	}
	for _, d := range list {
		if d.Status != webhook.Delivered || d.Code != http.StatusOK || d.Problem != "" || d.Attempts != 1 {
			t.Errorf("%+v", d)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	bodies := map[string]bool{}
	for _, body := range o.came {
		bodies[body] = true
	}
	want := map[string]bool{`{"seq":3,"type":"turn.completed"}`: true, `{"seq":4,"type":"turn.completed"}`: true}
	if diff := cmp.Diff(want, bodies); diff != "" {
		t.Errorf("what came (-want +got):\n%s", diff)
	}
}

// TestAReceiverThatDoesNotTakeItIsAskedAgain has receivers that fail in several ways. The delivery
// is due again later, or never if the receiver says that it is gone; the owner reads what was
// wrong, and not the address, which may hold a secret.
func TestAReceiverThatDoesNotTakeItIsAskedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer  http.HandlerFunc
		timeout time.Duration
		status  webhook.Status
		code    int
		problem string
	}{
		"it fails": {
			answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, timeout: patience,
			status: webhook.Pending, code: http.StatusBadGateway, problem: "it answered 502",
		},
		"it sends elsewhere": {
			answer: func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/elsewhere" {
					t.Error("a redirect was followed")
				}
				http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
			}, timeout: patience, status: webhook.Pending, code: http.StatusTemporaryRedirect, problem: "it answered 307",
		},
		"it is gone": {
			answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) }, timeout: patience,
			status: webhook.Failed, code: http.StatusGone, problem: "it answered 410",
		},
		"it takes too long": {
			answer: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, timeout: 10 * time.Millisecond,
			status: webhook.Pending, problem: "it took too long",
		},
		"it hangs up": {
			answer: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, timeout: patience,
			status: webhook.Pending, problem: "EOF",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			o.answer = c.answer
			h := o.hook("wh_all")
			o.write(append(opened(""), turn(1))...)
			o.look()
			d := o.send(h, c.timeout)[0]
			if d.Status != c.status || d.Code != c.code || d.Problem != c.problem || (d.Status == webhook.Pending) != d.Next.After(o.now) {
				t.Errorf("%+v", d)
			}
		})
	}
}

// TestWhatWasDeletedIsNotSent deletes a conversation after its event was queued. A feeder that was
// to look at it until its end goes on without it.
func TestWhatWasDeletedIsNotSent(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	h := o.hook("wh_all")
	o.write(append(opened(""), turn(1))...)
	o.look()
	if err := o.feeder.Watch(t.Context(), talk); err != nil {
		t.Fatal(err)
	}
	if err := o.log.Erase(t.Context(), talk); err != nil {
		t.Fatal(err)
	}
	o.feeder = o.newFeeder()
	o.look()
	if d := o.send(h, patience)[0]; d.Status != webhook.Gone || d.Problem != "the conversation was deleted" {
		t.Errorf("%+v", d)
	}
	if o.mu.Lock(); len(o.came) > 0 {
		t.Errorf("it was sent: %v", o.came)
	}
	o.mu.Unlock()
}

// TestWhatIsArchivedIsHeardToItsEnd archives a conversation, whose last turn ends only then. A
// feeder that begins later finds it all the same.
func TestWhatIsArchivedIsHeardToItsEnd(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	h := o.hook("wh_all")
	o.write(append(opened(""), turn(1))...)
	if err := o.feeder.Watch(t.Context(), talk); err != nil {
		t.Fatal(err)
	}
	o.write(journal.Archived{By: "ann"}, turn(2))
	o.feeder = o.newFeeder()
	o.look()
	if diff := cmp.Diff([]string{"turn.completed 3", "turn.completed 5"}, o.queued(h)); diff != "" {
		t.Errorf("in the outbox (-want +got):\n%s", diff)
	}
}

// broken is a journal that cannot be read for a while.
type broken struct {
	journal.Log
	mu    sync.Mutex
	times int
}

func (b *broken) Entries(ctx context.Context, ref journal.Ref, after int64, limit int) ([]journal.Entry, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.times--; b.times >= 0 {
		return nil, errors.New("the journal is away")
	}
	return b.Log.Entries(ctx, ref, after, limit)
}

// TestAJournalThatIsAwayDelaysOnly has the journal fail under a feeder and a sender that run. All
// is delivered when it is back.
func TestAJournalThatIsAwayDelaysOnly(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.write(append(opened(""), turn(1))...)
	log := &broken{Log: o.log, times: 2}
	o.log = log
	h := o.hook("wh_all")
	fed := make(chan struct{}, 1)
	feeder := webhook.NewFeeder(webhook.FeederOptions{
		Places: o.store, Book: o.store, Log: o.log, Events: eventOf, Now: func() time.Time { return o.now },
		Logger: slog.New(slog.DiscardHandler), Every: time.Hour, Fed: func() { fed <- struct{}{} },
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		feeder.Run(ctx)
	}()
	deadline := time.After(time.Minute)
	for waiting := true; waiting; {
		feeder.Wake() // nobody waits an hour who is woken
		select {
		case <-fed:
			waiting = false
		case <-time.After(10 * time.Millisecond):
		case <-deadline:
			t.Fatal("nothing was fed")
		}
	}
	cancel()
	<-done
	if d := o.send(h, patience)[0]; d.Status != webhook.Delivered {
		t.Errorf("%+v", d)
	}
	log.mu.Lock()
	log.times = 1
	log.mu.Unlock()
	o.write(turn(2))
	if err := feeder.Look(t.Context()); err == nil {
		t.Error("a journal that is away is no error")
	}
}
