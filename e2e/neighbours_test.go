//go:build services

package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/postgres"
	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/porttest"
)

var neighbours = flag.Bool("neighbours", false, "measure one tenant's turns beside another one's load")

// neighbourModel takes half a minute for slow requests.
const neighbourModel = `
name: neighbours
rules:
  - {name: slow, when: {text: 'slow'}, reply: {text: 'at last', delay: 30s}}
  - {name: now, when: {text: 'now'}, reply: {text: 'got: it', delay: 200ms}}
`

// The load of the loud tenant beside the quiet one, and how it is measured.
const (
	slowTurns, searchers, importers = 500, 40, 8
	// written is how many messages the loud tenant has before, and each of its imports has again.
	written = 20_000
	// turns is how many the quiet tenant takes, alone and beside it.
	turns = 60
	// slower and memoryMB are the bounds.
	slower, memoryMB = 2.0, 300
)

// TestNeighbours measures how long the turns of a quiet tenant take: alone, and beside one with 500
// slow turns, 40 searches and 8 imports. Both share a worker, a server and a provider's key with
// their default settings.
//
// Covers: P18.
func TestNeighbours(t *testing.T) {
	if !*neighbours {
		t.Skip("make neighbours runs this")
	}
	h := newHosted(t, neighbourModel)
	h.env = append(h.env, "OIDC_SECRET=none")
	h.finish(t, "migrate", "--set", "journal.dsn={env:OWNER_DSN}")
	quiet, loud := h.settle(t, "quiet"), h.settle(t, "loud")
	h.start(t, "worker: ready", "worker")
	address := fmt.Sprintf("127.0.0.1:%d", porttest.Hold(t))
	server := h.start(t, "serve: ready", "serve", "--set", "serve.address="+address, "--set", "serve.health=127.0.0.1:0", "--set", "serve.url=http://"+address)
	at := "http://" + address
	export := h.spoken(t, at, loud)
	alone := h.turns(t, at, quiet)

	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	l := &loudness{h: h, at: at, who: loud, refused: map[int]int{}}
	for range searchers {
		all.Go(func() { l.search(ctx) })
	}
	for range importers {
		all.Go(func() { l.bring(ctx, export) })
	}
	var asking sync.WaitGroup
	for range 10 {
		asking.Go(func() { l.ask(ctx, slowTurns/10) })
	}
	asking.Wait()
	t.Logf("%d turns asked for, %d searches and %d imports done", l.asked.Load(), l.searched.Load(), l.brought.Load())
	beside := h.turns(t, at, quiet)
	stop()
	all.Wait()
	if l.asked.Load() < slowTurns {
		t.Errorf("%d of %d slow turns were accepted", l.asked.Load(), slowTurns)
	}
	measure.Figure(t, "beside it: %d slow turns, %d searches, %d imports; refused by status: %v", l.asked.Load(), l.searched.Load(), l.brought.Load(), l.refused)
	measure.Figure(t, "a turn alone: p50 %s, p95 %s; beside: p50 %s, p95 %s",
		percentile(alone, 50), percentile(alone, 95), percentile(beside, 50), percentile(beside, 95))
	measure.Most(t, "p95 beside next to p95 alone", float64(percentile(beside, 95))/float64(percentile(alone, 95)), slower)
	measure.Most(t, "MB of serve at its highest", highest(t, server.Process.Pid), memoryMB)
}

// turns begins one conversation after another and measures each until its answer.
func (h *hosted) turns(t *testing.T, at string, who resident) (took []time.Duration) {
	t.Helper()
	for range turns {
		began := time.Now()
		if said := h.talk(t, at, who, "", "now"); !strings.Contains(said, "got: it") {
			t.Fatalf("no answer within %v: %.300s", patience, said)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took
}

func percentile(sorted []time.Duration, p int) time.Duration {
	return sorted[min(len(sorted)*p/100, len(sorted)-1)].Round(time.Millisecond)
}

// spoken writes a long conversation for a tenant, and returns its export.
func (h *hosted) spoken(t *testing.T, at string, who resident) []byte {
	t.Helper()
	log, err := postgres.Open(t.Context(), postgres.Options{DSN: h.value("JOURNAL_DSN")})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	ref := journal.Ref{Tenant: who.tenant, Conversation: "long"}
	rows := []journal.Row{journal.Opened{By: "loud", Title: "Long"}}
	for i := range written {
		text := fmt.Sprintf("message %d of %s about plums and %s", i, rand.Text(), rand.Text())
		rows = append(rows, journal.MessageReceived{ID: fmt.Sprint(i), By: "loud", Parts: []chat.Part{{Kind: chat.PartText, Text: text}}})
	}
	for part := range slices.Chunk(rows, 500) {
		if _, err := log.Append(t.Context(), ref, time.Now(), part...); err != nil {
			t.Fatal(err)
		}
	}
	status, export := h.call(t, at, who, http.MethodGet, "/v1/conversations/long/export", nil)
	if status != http.StatusOK {
		t.Fatalf("export: %d %.300s", status, export)
	}
	return []byte(export)
}

// loudness is the load of a tenant that asks for as much as it can, with its result.
type loudness struct {
	h                        *hosted
	at                       string
	who                      resident
	asked, searched, brought atomic.Int64

	mu      sync.Mutex
	refused map[int]int // by status
}

// send sends one request. One that is refused counts, and is followed by a short pause.
func (l *loudness) send(ctx context.Context, method, path, kind string, body []byte) bool {
	req, err := http.NewRequestWithContext(ctx, method, l.at+path, bytes.NewReader(body))
	if err != nil {
		return false
	}
	req.Header.Set("Authorization", "Bearer "+l.who.key)
	req.Header.Set("Idempotency-Key", rand.Text())
	req.Header.Set("Content-Type", kind)
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	if answer.StatusCode < http.StatusMultipleChoices {
		return true
	}
	l.mu.Lock()
	l.refused[answer.StatusCode]++
	l.mu.Unlock()
	select {
	case <-time.After(100 * time.Millisecond):
	case <-ctx.Done():
	}
	return false
}

// ask begins so many conversations, however often it is refused.
func (l *loudness) ask(ctx context.Context, count int) {
	for done := 0; done < count && ctx.Err() == nil; {
		if l.send(ctx, http.MethodPost, "/v1/conversations", "application/json", []byte(`{"message": "slow"}`)) {
			l.asked.Add(1)
			done++
		}
	}
}

func (l *loudness) search(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		word := []string{"plums", "absent", "message"}[i%3]
		if l.send(ctx, http.MethodGet, "/v1/search?q="+word, "application/json", nil) {
			l.searched.Add(1)
		}
	}
}

func (l *loudness) bring(ctx context.Context, export []byte) {
	for ctx.Err() == nil {
		if l.send(ctx, http.MethodPost, "/v1/import", "application/x-ndjson", export) {
			l.brought.Add(1)
		}
	}
}

// highest is the most memory that a process has had, in MB.
func highest(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kB int
	if _, err := fmt.Sscan(rest, &kB); err != nil {
		t.Fatal(err)
	}
	return kB / 1000
}
