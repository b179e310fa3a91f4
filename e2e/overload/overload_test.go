//go:build services

package overload

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/postgres/postgrestest"
	"github.com/retinue-dev/retinue/internal/measure"
)

var (
	overload = flag.Bool("overload", false, "send a server three times as much as it can take")
	length   = flag.Duration("for", time.Minute, "how long")
	times    = flag.Float64("times", 3, "how many times as much as it can take")
)

const (
	conversations = 40
	// clients send one thing after another while it is found out how much can be taken.
	clients = 16
	// measured is how long that takes.
	measured = 10 * time.Second
	// outstanding is the most requests that the load has under way: further ones are counted and
	// not sent.
	outstanding = 6000
	// memory is what the server may have, in MB, and recovered how soon things must be as before.
	memory    = 512
	recovered = 5 * time.Second
	// watched is how long to watch the server afterwards, with so many messages in a second. A
	// second counts as recovered when none of them is refused and one of twenty at most is slow.
	watched = 20 * time.Second
	probes  = 20
	// slow is the least time that counts as slow, and tolerable the highest final p99 on a shared
	// machine.
	slow      = 500 * time.Millisecond
	tolerable = 3 * time.Second
)

// sent is what became of one message.
type sent struct {
	ref    journal.Ref
	id     string // of the message, if it was acknowledged
	status int
	wait   string // Retry-After
	detail string
	took   time.Duration
	at     time.Time
}

func (s sent) acknowledged() bool { return s.status == http.StatusCreated }

func (s sent) refused() bool {
	return s.status == http.StatusTooManyRequests || s.status == http.StatusServiceUnavailable
}

// load sends messages and remembers their results.
type load struct {
	w      *world
	client *http.Client
	places []string
	next   atomic.Int64

	mu   sync.Mutex
	sent []sent
}

func TestOverload(t *testing.T) {
	if !*overload {
		t.Skip("it takes minutes: run 'make overload'")
	}
	w, own := newWorld(t), postgrestest.New(t)
	l := newLoad(t, w)
	l.closedLoop(t, 2, 3*time.Second) // delays that occur only once
	l.reset()
	l.openLoop(t, 5, 5*time.Second)
	normal := quantile(l.reset(), .99)
	l.closedLoop(t, clients, measured)
	able := float64(len(slices.DeleteFunc(l.reset(), func(s sent) bool { return !s.acknowledged() }))) / measured.Seconds()
	t.Logf("can take %.0f messages in a second; alone, p99 %v", able, normal.Round(time.Millisecond))

	shed := l.openLoop(t, able**times, *length)
	stopped := time.Now()
	during := l.reset()
	stop := mind(t, own)
	l.openLoop(t, probes, watched)
	still, after := stop(), l.reset()

	l.judge(t, during, shed)
	seen := measurable(after, still)
	t.Logf("after the load: the machine stood still %d times, so that %d of %d messages are not measured", len(still), len(after)-len(seen), len(after))
	if len(seen) < len(after)/2 && measure.On() {
		t.Fatal("the machine stood still for too long to say anything")
	}
	settled := quantile(seen[len(seen)*3/4:], .99)
	bound := max(3*normal, settled, slow)
	back := recovery(seen, stopped, bound)
	t.Logf("after the load: %v until messages were taken within %v; p99 before %v, at the end %v", back, bound.Round(time.Millisecond),
		normal.Round(time.Millisecond), settled.Round(time.Millisecond))
	measure.Most(t, "overload: as before after the load", back, recovered)
	measure.Most(t, "overload: a message at the end, p99", settled, tolerable)
	measure.Most(t, "overload: MB that the server had", most(t, w.server.Process.Pid), memory)
	l.checkLedger(t, append(during, after...))
}

// judge compares the results of the load with its requirements.
func (l *load) judge(t *testing.T, list []sent, shed int) {
	t.Helper()
	count, silent, other := map[int]int{}, 0, 0
	var taken, refused []sent
	for _, s := range list {
		count[s.status]++
		switch {
		case s.acknowledged():
			taken = append(taken, s)
		case s.refused():
			refused = append(refused, s)
			if s.wait == "" {
				silent++
			}
		default:
			other++
		}
	}
	t.Logf("%d sent in %v, by status %v; %d were not sent because %d were under way", len(list), *length, count, shed, outstanding)
	measure.Figure(t, "overload: %d acknowledged, p50 %v p99 %v; %d refused, p50 %v p99 %v", len(taken), quantile(taken, .5), quantile(taken, .99),
		len(refused), quantile(refused, .5), quantile(refused, .99))
	if silent > 0 || other > 0 {
		t.Errorf("%d refusals without Retry-After, %d answers of another kind", silent, other)
	}
	if len(refused) == 0 {
		t.Error("nothing was refused: this was no overload")
	}
}

// checkLedger checks the acknowledged and the refused messages against the journal.
func (l *load) checkLedger(t *testing.T, list []sent) {
	t.Helper()
	said := map[journal.Ref]map[string]bool{}
	for _, c := range l.places {
		ref := journal.Ref{Tenant: app.LocalTenant, Conversation: c}
		said[ref] = map[string]bool{}
		for after := int64(0); ; {
			entries, err := l.w.log.Entries(t.Context(), ref, after, journal.PageMaxLimit)
			if err != nil {
				t.Fatal(err)
			}
			if len(entries) == 0 {
				break
			}
			for _, e := range entries {
				if row, ok := e.Row.(journal.MessageReceived); ok {
					said[ref][row.ID] = true
					said[ref][journal.Words(row.Parts)] = true
				}
				after = e.Seq
			}
		}
	}
	lost, late, acknowledged := 0, 0, 0
	for _, s := range list {
		switch {
		case s.acknowledged():
			acknowledged++
			if !said[s.ref][s.id] {
				lost++
			}
		case s.refused() && said[s.ref][s.detail]:
			late++
		}
	}
	measure.Figure(t, "overload: %d acknowledged, %d of them not in the journal, %d refused that are in it", acknowledged, lost, late)
	if lost > 0 || late > 0 {
		t.Error("what was acknowledged must be there, and what was refused must not")
	}
}

// recovery is how long after the load the last second was in which messages were refused or slow.
func recovery(list []sent, since time.Time, bound time.Duration) time.Duration {
	last, late := time.Duration(0), map[time.Duration]int{}
	for _, s := range list {
		second := s.at.Sub(since).Truncate(time.Second)
		if s.took > bound { // not a bound: its result goes to measure
			late[second]++
		}
		if !s.acknowledged() || late[second] > 1 {
			last = max(last, second+time.Second)
		}
	}
	return last
}

func quantile(list []sent, q float64) time.Duration {
	if len(list) == 0 {
		return 0
	}
	times := make([]time.Duration, 0, len(list))
	for _, s := range list {
		times = append(times, s.took)
	}
	slices.Sort(times)
	return times[min(len(times)-1, int(q*float64(len(times))))].Round(10 * time.Microsecond)
}

func newLoad(t *testing.T, w *world) *load {
	t.Helper()
	contract, err := apitest.Fetch(t.Context(), w.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { t.Log(contract.Counts()) })
	l := &load{w: w, client: &http.Client{
		Timeout: time.Minute,
		Transport: contract.Watch(&http.Transport{
			MaxIdleConns: outstanding, MaxIdleConnsPerHost: outstanding, DialContext: (&net.Dialer{Timeout: patience}).DialContext,
		}, apitest.Fail(t)),
	}}
	for i := range conversations {
		var c struct{ ID string }
		status, _, text := l.post(t.Context(), "/v1/conversations", fmt.Sprintf("overload-conversation-%d", i), map[string]any{})
		if err := json.Unmarshal(text, &c); err != nil || status != http.StatusCreated {
			t.Fatalf("open a conversation: %d %s", status, text)
		}
		l.places = append(l.places, c.ID)
	}
	return l
}

// closedLoop has clients send one message after another.
func (l *load) closedLoop(t *testing.T, clients int, length time.Duration) {
	t.Helper()
	until := time.Now().Add(length)
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for time.Now().Before(until) {
				l.say(t.Context())
			}
		})
	}
	all.Wait()
}

// openLoop sends so many messages in a second, independent of their results. It returns how many
// were not sent because too many were under way.
func (l *load) openLoop(t *testing.T, rate float64, length time.Duration) (shed int) {
	t.Helper()
	var all sync.WaitGroup
	var under atomic.Int64
	began := time.Now()
	for n := 0; ; n++ {
		due := time.Duration(float64(n) / rate * float64(time.Second))
		if due > length {
			break
		}
		time.Sleep(time.Until(began.Add(due)))
		if under.Load() >= outstanding {
			shed++
			continue
		}
		under.Add(1)
		all.Go(func() {
			defer under.Add(-1)
			l.say(t.Context())
		})
	}
	all.Wait()
	return shed
}

// say sends one message.
func (l *load) say(ctx context.Context) {
	n := l.next.Add(1)
	conversation, words := l.places[int(n)%len(l.places)], fmt.Sprintf("message %d", n)
	s := sent{ref: journal.Ref{Tenant: app.LocalTenant, Conversation: conversation}, at: time.Now(), detail: words}
	status, wait, text := l.post(ctx, "/v1/conversations/"+conversation+"/messages", fmt.Sprintf("overload-message-%d", n), map[string]any{"text": words})
	s.status, s.wait, s.took = status, wait, time.Since(s.at)
	var m struct{ ID string }
	if json.Unmarshal(text, &m) == nil {
		s.id = m.ID
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = append(l.sent, s)
}

// post sends a command; the status is zero if there was no answer.
func (l *load) post(ctx context.Context, path, key string, in any) (status int, wait string, out []byte) {
	data, err := json.Marshal(in)
	if err != nil {
		return 0, "", nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.w.url+path, bytes.NewReader(data))
	if err != nil {
		return 0, "", nil
	}
	req.Header.Set("Authorization", "Bearer "+l.w.token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", strings.ReplaceAll(key, "_", "-"))
	answer, err := l.client.Do(req)
	if err != nil {
		return 0, err.Error(), nil
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	out, err = io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error(), nil
	}
	return answer.StatusCode, answer.Header.Get("Retry-After"), out
}

// reset returns the messages sent so far and begins anew.
func (l *load) reset() []sent {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.sent
	l.sent = nil
	return out
}
