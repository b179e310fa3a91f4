package watch_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/people"
)

const patience = time.Minute

// station is a server with a journal that tests write to.
type station struct {
	*httptest.Server
	log *wired
	bus *live.Local
	api *api.Server
}

// wired is a journal in memory whose appends poke, and which fails when it is told to.
type wired struct {
	*journaltest.Memory
	bus    live.Bus
	broken atomic.Bool
	silent atomic.Bool
	tails  atomic.Int64
}

func (w *wired) Append(ctx context.Context, ref journal.Ref, at time.Time, rows ...journal.Row) ([]journal.Written, error) {
	written, err := w.Memory.Append(ctx, ref, at, rows...)
	if len(written) > 0 && !w.silent.Load() {
		w.bus.Announce(live.Appended{Topic: live.Topic(ref), Seq: written[len(written)-1].Seq})
	}
	return written, err
}

func (w *wired) Erase(ctx context.Context, ref journal.Ref) error {
	err := w.Memory.Erase(ctx, ref)
	if !w.silent.Load() {
		w.bus.Announce(live.Appended{Topic: live.Topic(ref)})
	}
	return err
}

func (w *wired) Entries(ctx context.Context, ref journal.Ref, after int64, limit int) ([]journal.Entry, error) {
	if w.broken.Load() {
		return nil, errors.New("the disk is on fire")
	}
	return w.Memory.Entries(ctx, ref, after, limit)
}

func (w *wired) Tails(ctx context.Context, tenant string, ids ...string) (map[string]journal.Tail, error) {
	w.tails.Add(1)
	return w.Memory.Tails(ctx, tenant, ids...)
}

// byHeader lets everybody in as whom they say they are: TENANT/PERSON, or ann of a tenant.
type byHeader struct{ refuse atomic.Bool }

func (d *byHeader) Identify(r *http.Request) (admission.Caller, error) {
	if d.refuse.Load() {
		return admission.Caller{}, admission.Unauthorised()
	}
	tenant, user, named := strings.Cut(r.Header.Get("Tenant"), "/")
	if !named {
		user = "ann"
	}
	return admission.Caller{
		Tenant: tenant, User: user, Name: user, Role: people.RoleOwner, Scopes: []people.Scope{people.ScopeRead, people.ScopeWrite},
	}, nil
}

func newStation(t *testing.T, poll time.Duration, limit ...func(*http.Server)) *station {
	t.Helper()
	bus := live.NewLocal(0)
	s := &station{log: &wired{Memory: journaltest.NewMemory(), bus: bus}, bus: bus}
	s.api = api.New(api.Options{Options: admission.Options{Authenticator: &byHeader{}}, Log: s.log, Bus: bus, Poll: poll})
	s.Server = httptest.NewUnstartedServer(s.api)
	for _, set := range limit {
		set(s.Config)
	}
	s.Start()
	if transport, ok := s.Client().Transport.(*http.Transport); ok {
		transport.DisableKeepAlives = true // the server's limits would end those that rest
	}
	t.Cleanup(func() {
		s.api.Close()
		s.Close()
		bus.Close()
	})
	return s
}

var (
	ref  = journal.Ref{Tenant: "acme", Conversation: "c1"}
	root = journal.In{Agent: "main", Task: "main"}
)

// open begins a conversation.
func (s *station) open(t *testing.T, ref journal.Ref) {
	t.Helper()
	s.write(t, ref, journal.Opened{By: "ann", Title: "talk"}, journal.TaskAssigned{In: root, Role: "main"})
}

func (s *station) write(t *testing.T, ref journal.Ref, rows ...journal.Row) {
	t.Helper()
	if _, err := s.log.Append(t.Context(), ref, time.Now(), rows...); err != nil {
		t.Error(err)
	}
}

func note(n int) journal.Row { return journal.NoteAdded{In: root, Serial: n, Note: "kept", Text: "x"} }

// line is one event of a stream.
type line struct {
	ID   string
	Type string
	Data map[string]any
}

// listener reads a stream.
type listener struct {
	said  []string // what was received, of each event
	lines chan line
	body  *http.Response
}

func (s *station) listen(t *testing.T, tenant, path, last string) *listener {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Tenant", tenant)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	res, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{lines: make(chan line, 4096), body: res}
	t.Cleanup(l.close)
	if res.StatusCode == http.StatusOK && res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("the stream is %s", res.Header.Get("Content-Type"))
	}
	go l.read()
	return l
}

func (l *listener) close() { _ = l.body.Body.Close() }

func (l *listener) read() {
	defer close(l.lines)
	in := bufio.NewScanner(l.body.Body)
	in.Buffer(nil, 4<<20)
	var next line
	for in.Scan() {
		name, value, _ := strings.Cut(in.Text(), ": ")
		switch name {
		case "id":
			next.ID = value
		case "event":
			next.Type = value
		case "data":
			if err := json.Unmarshal([]byte(value), &next.Data); err != nil {
				next.Data = map[string]any{"error": err.Error()}
			}
		case "":
			if next.Type != "" {
				l.lines <- next
			}
			next = line{}
		}
	}
}

// next waits for an event.
func (l *listener) next(t *testing.T) line {
	t.Helper()
	select {
	case got, ok := <-l.lines:
		if !ok {
			t.Fatal("the stream has ended")
		}
		l.said = append(l.said, fmt.Sprint(got.Data))
		return got
	case <-time.After(patience):
		t.Fatal("no event came")
	}
	return line{}
}

// heard reports whether a word was in any event so far.
func (l *listener) heard(word string) bool { return strings.Contains(strings.Join(l.said, " "), word) }

// ended waits for the end of a stream.
func (l *listener) ended(t *testing.T) {
	t.Helper()
	select {
	case got, ok := <-l.lines:
		if ok {
			t.Fatalf("got %v, want the end", got)
		}
	case <-time.After(patience):
		t.Fatal("the stream does not end")
	}
}

// ids reads events until one has this id, and returns the ids of all.
func (l *listener) ids(t *testing.T, until string) (out []string) {
	t.Helper()
	for {
		got := l.next(t)
		if out = append(out, got.ID); got.ID == until {
			return out
		}
	}
}

func span(from, to int) (out []string) {
	for n := from; n <= to; n++ {
		out = append(out, strconv.Itoa(n))
	}
	return out
}

const events = "/v1/conversations/c1/events"

// TestStreamJoins cuts and joins again while others write. Every reader sees every event once.
//
// Covers: P12.
func TestStreamJoins(t *testing.T) {
	t.Parallel()
	seed := measure.Seed(t, 0)
	s := newStation(t, time.Hour)
	s.open(t, ref)
	const total = 1500
	var all sync.WaitGroup
	all.Go(func() {
		for n := 3; n <= total; n++ {
			s.write(t, ref, note(n))
		}
	})
	for i := range 8 {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		all.Go(func() {
			var got []string
			last := ""
			for last != strconv.Itoa(total) {
				l := s.listen(t, "acme", events, last)
				for range 1 + random.IntN(200) {
					e := l.next(t)
					if e.Type == "stream.cut" && e.Data["reason"] == "slow" {
						break // who is short of a core may be cut, and comes back like the others
					}
					got, last = append(got, e.ID), e.ID
					if last == strconv.Itoa(total) {
						break
					}
				}
				l.close()
			}
			if diff := cmp.Diff(span(1, total), got); diff != "" {
				t.Errorf("reader %d: events (+) against the journal (-):\n%s", i, diff)
			}
		})
	}
	all.Wait()
}

// TestStreamOutlivesRequestLimits keeps a stream open for longer than a request may take.
func TestStreamOutlivesRequestLimits(t *testing.T) {
	t.Parallel()
	const most = 5 * time.Second
	s := newStation(t, time.Hour, func(s *http.Server) { s.ReadTimeout, s.WriteTimeout = most, most })
	s.open(t, ref)
	l := s.listen(t, "acme", events, "2")
	time.Sleep(most + time.Second)
	s.write(t, ref, note(3))
	if got := l.next(t); got.ID != "3" {
		t.Errorf("got %v, want event 3", got)
	}
}

// TestStreamBeyondTheEnd joins with an id that a node has not got to, and with one that nobody has.
func TestStreamBeyondTheEnd(t *testing.T) {
	t.Parallel()
	s := newStation(t, time.Hour)
	s.open(t, ref)
	first := s.listen(t, "acme", events, "")
	first.ids(t, "2")
	s.log.silent.Store(true) // the node does not hear of it
	s.write(t, ref, note(3), note(4))
	ahead := s.listen(t, "acme", events, "4")
	lost := s.listen(t, "acme", events, "99")
	if got := lost.next(t); got.Type != "resync" || got.ID != "2" {
		t.Errorf("got %v, want a resync that goes on after 2", got)
	}
	s.log.silent.Store(false)
	s.write(t, ref, note(5))
	if got := ahead.next(t); got.ID != "5" {
		t.Errorf("who had seen 4 gets %v, want 5", got)
	}
	if diff := cmp.Diff(span(3, 5), lost.ids(t, "5")); diff != "" {
		t.Errorf("after the resync (+) against the wanted (-):\n%s", diff)
	}
	old := s.listen(t, "acme", events, "nonsense")
	if old.body.StatusCode != http.StatusUnprocessableEntity && old.body.StatusCode != http.StatusBadRequest {
		t.Errorf("an id that is none gives %d", old.body.StatusCode)
	}
}

// TestStreamTooFarBehind asks for more than a stream sends.
func TestStreamTooFarBehind(t *testing.T) {
	t.Parallel()
	s := newStation(t, time.Hour)
	s.open(t, ref)
	rows := make([]journal.Row, 10_100)
	for i := range rows {
		rows[i] = note(i)
	}
	s.write(t, ref, rows...)
	if got := s.listen(t, "acme", events, "1").next(t); got.Type != "resync" || got.ID != "10102" {
		t.Errorf("got %v, want a resync at the end", got)
	}
	if got := s.listen(t, "acme", events, "200").next(t); got.ID != "201" {
		t.Errorf("got %v, want event 201", got)
	}
}

// TestStreamOfErased watches a conversation that is deleted, with and without a notice of it.
func TestStreamOfErased(t *testing.T) {
	t.Parallel()
	for _, silent := range []bool{false, true} {
		s := newStation(t, 50*time.Millisecond)
		s.open(t, ref)
		l := s.listen(t, "acme", events, "2")
		s.log.silent.Store(silent)
		if err := s.log.Erase(t.Context(), ref); err != nil {
			t.Fatal(err)
		}
		want := line{Type: "stream.cut", Data: map[string]any{"type": "stream.cut", "reason": "deleted"}}
		if diff := cmp.Diff(want, l.next(t)); diff != "" {
			t.Errorf("silent %v: got (+) against the wanted (-):\n%s", silent, diff)
		}
		l.ended(t)
		if got := s.listen(t, "acme", events, "2").body.StatusCode; got != http.StatusNotFound {
			t.Errorf("coming back gives %d", got)
		}
	}
}

// TestStreamOfReborn watches a conversation that is deleted and begun again under its id.
func TestStreamOfReborn(t *testing.T) {
	t.Parallel()
	s := newStation(t, 50*time.Millisecond)
	s.open(t, ref)
	s.write(t, ref, note(3))
	l := s.listen(t, "acme", events, "3")
	s.log.silent.Store(true)
	if err := s.log.Erase(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	s.open(t, ref)
	if got := l.next(t); got.Type != "stream.cut" {
		t.Errorf("got %v, want a cut", got)
	}
	if got := s.listen(t, "acme", events, "3").next(t); got.Type != "resync" {
		t.Errorf("coming back gives %v, want a resync", got)
	}
}

// TestStreamThroughBrokenJournal lets the journal fail under a stream. Rows that were written
// meanwhile come when it is back, once.
func TestStreamThroughBrokenJournal(t *testing.T) {
	t.Parallel()
	s := newStation(t, 50*time.Millisecond)
	s.open(t, ref)
	l := s.listen(t, "acme", events, "2")
	s.log.broken.Store(true)
	s.write(t, ref, note(3), note(4))
	time.Sleep(100 * time.Millisecond)
	s.log.broken.Store(false)
	if diff := cmp.Diff(span(3, 4), l.ids(t, "4")); diff != "" {
		t.Errorf("got (+) against the wanted (-):\n%s", diff)
	}
}

// TestLookIsOneStatement watches many conversations without notices, and counts the looks.
func TestLookIsOneStatement(t *testing.T) {
	t.Parallel()
	const many = 40
	s := newStation(t, 50*time.Millisecond)
	s.log.silent.Store(true)
	var all []*listener
	at := func(i int) journal.Ref { return journal.Ref{Tenant: "acme", Conversation: fmt.Sprint("c", i)} }
	for i := range many {
		s.open(t, at(i))
		all = append(all, s.listen(t, "acme", "/v1/conversations/"+at(i).Conversation+"/events", "2"))
	}
	began, before := time.Now(), s.log.tails.Load()
	for i := range many {
		s.write(t, at(i), note(3))
	}
	for i, l := range all {
		if got := l.next(t); got.ID != "3" {
			t.Errorf("conversation %d: got %v, want event 3", i, got)
		}
	}
	looks := s.log.tails.Load() - before
	measure.Least(t, fmt.Sprintf("api: time for %d looks at all that is watched", looks), time.Since(began), time.Duration(looks-2)*50*time.Millisecond)
}

// TestSlowReader does not read. It is cut off and told so; others go on.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	s := newStation(t, time.Hour)
	s.open(t, ref)
	quick := s.listen(t, "acme", events, "2")
	text := strings.Repeat("x", 100_000)
	const total = 150 // more than waits in the connection and in the server
	stuck := s.stuck(t)
	for n := 3; n <= total; n++ {
		s.write(t, ref, journal.NoteAdded{In: root, Serial: n, Note: "kept", Text: text})
		if got := quick.next(t); got.ID != strconv.Itoa(n) {
			t.Fatalf("the quick reader got %s, want %d", got.ID, n)
		}
	}
	last, end := 2, ""
	in := bufio.NewReaderSize(stuck.Body, 1<<20)
	for end == "" {
		text, err := in.ReadString('\n')
		if err != nil {
			t.Fatalf("it ends after %d without a word: %v", last, err)
		}
		name, value, _ := strings.Cut(strings.TrimSpace(text), ": ")
		switch {
		case name == "id":
			if n, _ := strconv.Atoi(value); n != last+1 {
				t.Fatalf("event %s comes after %d", value, last)
			}
			last++
		case name == "event" && value == "stream.cut":
			end, _ = in.ReadString('\n')
		}
	}
	if !strings.Contains(end, `"slow"`) || last >= total {
		t.Errorf("it was told %q after %d events", end, last)
	}
	t.Logf("cut off after %d events of 100 KB", last)
}

// stuck opens a stream that nobody reads yet.
func (s *station) stuck(t *testing.T) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+events+"?after=2", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Tenant", "acme")
	narrow := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if tcp, ok := c.(*net.TCPConn); ok {
			err = tcp.SetReadBuffer(64 << 10) // the system's own may hold all that is written
		}
		return c, err
	}}
	res, err := narrow.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// TestDeltas sends text that is being made to those who want it. It has no id.
func TestDeltas(t *testing.T) {
	t.Parallel()
	s := newStation(t, time.Hour)
	s.open(t, ref)
	none, one, all := s.listen(t, "acme", events+"?after=2", ""), s.listen(t, "acme", events+"?after=2&deltas=main~1.0.0", ""),
		s.listen(t, "acme", events+"?after=2&deltas=all", "")
	eventually(t, func() bool {
		s.bus.Publish(live.Delta{Topic: live.Topic(ref), Agent: "main", Message: "m", Kind: chat.PartText, Text: "?"})
		return len(all.lines) > 0
	})
	s.bus.Publish(live.Delta{Topic: live.Topic(ref), Agent: "main/1.0.0", Message: "m", Kind: chat.PartText, Text: "hi"})
	got := one.next(t)
	if got.ID != "" || got.Type != "message.delta" || got.Data["text"] != "hi" || got.Data["type"] != "message.delta" {
		t.Errorf("got %v, want the delta", got)
	}
	s.write(t, ref, note(3))
	if got := none.next(t); got.ID != "3" {
		t.Errorf("who wants no deltas got %v", got)
	}
}

func eventually(t *testing.T, yes func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !yes(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not come to that")
		}
	}
}

// TestStreamHeadAndOldHTTP asks with HEAD, and as HTTP/1.0 does.
func TestStreamHeadAndOldHTTP(t *testing.T) {
	t.Parallel()
	s := newStation(t, time.Hour)
	s.open(t, ref)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodHead, s.URL+events, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Tenant", "acme")
	res, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("HEAD gives %d, %s", res.StatusCode, res.Header.Get("Content-Type"))
	}
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // it was read from only
	fmt.Fprintf(conn, "GET %s HTTP/1.0\r\nHost: localhost\r\nTenant: acme\r\n\r\n", events)
	in := bufio.NewReader(conn)
	for seen := ""; seen != "id: 2"; {
		text, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		seen = strings.TrimSpace(text)
	}
}

// TestStreamOfAnother asks for a conversation of another tenant, and for one that nobody has.
func TestStreamOfAnother(t *testing.T) {
	t.Parallel()
	s := newStation(t, time.Hour)
	s.open(t, ref)
	s.listen(t, "acme", events, "2")
	for _, path := range []string{events, "/v1/conversations/none/events"} {
		if got := s.listen(t, "zeta", path, "").body.StatusCode; got != http.StatusNotFound {
			t.Errorf("%s gives %d", path, got)
		}
	}
}

// TestStreamsEndWithTheServer closes a server under its readers.
func TestStreamsEndWithTheServer(t *testing.T) {
	t.Parallel()
	s := newStation(t, time.Hour)
	s.open(t, ref)
	l := s.listen(t, "acme", events, "2")
	s.api.Close()
	if got := l.next(t); got.Type != "stream.cut" || got.Data["reason"] != "closing" {
		t.Errorf("got %v, want a cut", got)
	}
	l.ended(t)
}
