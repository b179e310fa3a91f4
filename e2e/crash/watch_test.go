//go:build services

package crash

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/journal"
)

// watch is a person's view of a conversation, through one stream after another.
type watch struct {
	mu      sync.Mutex
	seqs    []int64
	data    []string
	streams int
	// newer counts the events that only the newer build shows.
	newer  int
	broken []string
}

// watch keeps an eye on a conversation until it is told to stop.
func (c *crowd) watch(ctx context.Context, conv string) (stop func()) {
	w := &watch{}
	c.mu.Lock()
	c.watched[conv] = w
	c.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			w.stream(ctx, c.caller, conv, 0)
			wait(ctx, 50*time.Millisecond)
		}
	}()
	return func() { cancel(); <-ended }
}

// last is the last event that was seen.
func (w *watch) last() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.seqs) == 0 {
		return 0
	}
	return w.seqs[len(w.seqs)-1]
}

// stream continues after the last event that was seen, until the stream ends or an event is
// reached.
func (w *watch) stream(ctx context.Context, c *caller, conv string, to int64) {
	r, err := c.request(ctx, http.MethodGet, "/v1/conversations/"+conv+"/events", nil)
	if err != nil {
		return
	}
	if last := w.last(); last > 0 {
		r.Header.Set("Last-Event-ID", strconv.FormatInt(last, 10))
	}
	answer, err := c.client.Do(r)
	if err != nil {
		return
	}
	defer answer.Body.Close() //nolint:errcheck // a stream
	if answer.StatusCode != http.StatusOK {
		return
	}
	w.streams++
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 8<<20)
	id, data := int64(0), ""
	for lines.Scan() {
		line := lines.Text()
		if text, ok := strings.CutPrefix(line, "id: "); ok {
			id, _ = strconv.ParseInt(text, 10, 64)
		}
		if text, ok := strings.CutPrefix(line, "data: "); ok {
			data = text
		}
		if line != "" { // an event ends with an empty line; an event that was cut off does not count
			continue
		}
		if id > 0 {
			w.see(id, data)
		}
		id, data = 0, ""
		if to > 0 && w.last() >= to {
			return
		}
	}
}

// see takes in an event.
func (w *watch) see(seq int64, data string) {
	last := w.last()
	w.mu.Lock()
	defer w.mu.Unlock()
	if strings.Contains(data, `"type":"`+newerEvent+`"`) {
		w.newer++
		return
	}
	if seq <= last {
		w.broken = append(w.broken, fmt.Sprintf("event %d came after %d", seq, last))
	}
	w.seqs, w.data = append(w.seqs, seq), append(w.data, data)
}

// watchedWithin is how long all that was recorded of a conversation may take to be read again.
const watchedWithin = 60 * time.Second

// judgeWatched compares people's views with a fresh stream, and that with the journal.
func (c *crowd) judgeWatched(t *testing.T, v *verdict) {
	t.Helper()
	for _, p := range c.proxies {
		p.calm.Store(true)
	}
	for conv, saw := range c.watched {
		v.Streams += saw.streams
		v.Events += len(saw.seqs)
		v.Broken = append(v.Broken, saw.broken...)
		if err := c.judgeSeen(t.Context(), conv, saw, v); err != nil {
			t.Error(err)
			return
		}
	}
}

// judgeSeen compares the view of one conversation with the conversation itself.
func (c *crowd) judgeSeen(ctx context.Context, conv string, saw *watch, v *verdict) error {
	ctx, cancel := context.WithTimeout(ctx, watchedWithin)
	defer cancel()
	want, err := c.events(ctx, conv)
	if err != nil {
		return err
	}
	fresh := &watch{}
	for fresh.last() < want[len(want)-1] && ctx.Err() == nil {
		fresh.stream(ctx, c.caller, conv, want[len(want)-1])
	}
	if !slices.Equal(fresh.seqs, want) {
		v.Broken = append(v.Broken, fmt.Sprintf("the stream of %s has %d events, the journal %d", conv, len(fresh.seqs), len(want)))
	}
	n := len(saw.seqs)
	if n > len(fresh.seqs) || !slices.Equal(saw.seqs, fresh.seqs[:n]) || !slices.Equal(saw.data, fresh.data[:n]) {
		v.Broken = append(v.Broken, fmt.Sprintf("who watched %s saw something else than is recorded", conv))
	}
	return nil
}

// events are the places of a conversation's list that people are told of.
func (c *crowd) events(ctx context.Context, conv string) (out []int64, err error) {
	for after := int64(0); ; {
		entries, err := c.node.Log.Entries(ctx, placeOf(conv), after, journal.PageMaxLimit)
		if err != nil || len(entries) == 0 {
			return out, err
		}
		for _, e := range entries {
			after = e.Seq
			shown := true
			//nolint:gochecksumtype // all others are shown
			switch r := e.Row.(type) {
			case journal.Stepped:
				shown = false
			case journal.MailPosted:
				shown = r.Stops()
			case journal.MailDelivered:
				shown = strings.HasPrefix(r.ID, "message:")
			case journal.Newer:
				shown = false
			}
			if shown {
				out = append(out, e.Seq)
			}
		}
	}
}
