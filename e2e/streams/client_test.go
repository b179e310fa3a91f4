//go:build services

package streams

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/retinue-dev/retinue/internal/api/apitest"
)

// watcher watches one conversation for the whole test, over as many connections as it takes.
type watcher struct {
	conversation, token string
	random              *rand.Rand
	// slow ones read nothing for a while, and then all.
	slow bool
	// seen are the events in the order in which they came, and last is where the next connection
	// begins.
	seen []int64
	last int64
	// from is where it began.
	from   int64
	counts *counts
	// contract checks snapshots, and every event of a watcher that is picked.
	contract *apitest.Contract
	picked   bool
	broken   func(error)
}

// counts says what became of all connections.
type counts struct {
	connects, refused, cut, slow, closing, resync atomic.Int64
	// kills are of servers, and wrote is how much was written to the conversation of the slow.
	kills, wrote atomic.Int64
}

// A slow reader reads nothing until stallBytes were written, more than the buffers of both sockets
// and the server hold back for it, but no longer than stallTime.
const (
	stallBytes = 8 << 20
	stallTime  = 15 * time.Second
)

// stall is a slow reader's time of reading nothing.
func (w *watcher) stall(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stallTime)
	defer cancel()
	from := w.counts.wrote.Load()
	for w.counts.wrote.Load() < from+stallBytes && pause(ctx, 50*time.Millisecond) {
	}
	pause(ctx, 500*time.Millisecond) // in which the server reads the last of it
}

// dialer connects to one address, once. A slow reader's machine holds little back for it.
func (w *watcher) dialer(address string) *http.Transport {
	var d net.Dialer
	return &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := d.DialContext(ctx, "tcp", address)
			if tcp, ok := conn.(*net.TCPConn); ok && w.slow {
				err = tcp.SetReadBuffer(128 << 10)
			}
			return conn, err
		},
	}
}

// watch goes over one connection until it breaks, ctx ends or the last event is here. It returns an
// error only for faults that a server must never have.
func (w *watcher) watch(ctx context.Context, address string, until int64) error {
	dialer := w.dialer(address)
	defer dialer.CloseIdleConnections()
	transport := http.RoundTripper(dialer)
	if w.picked {
		transport = w.contract.Watch(dialer, w.broken)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1/v1/conversations/"+w.conversation+"/events", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+w.token)
	req.Header.Set("Last-Event-ID", strconv.FormatInt(w.last, 10))
	w.counts.connects.Add(1)
	res, err := transport.RoundTrip(req)
	if err != nil {
		w.counts.refused.Add(1)
		return nil //nolint:nilerr // the server is down, or the line is
	}
	defer res.Body.Close() //nolint:errcheck // it was read from only
	if res.StatusCode >= http.StatusInternalServerError {
		w.counts.refused.Add(1)
		return nil
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s is answered with %s", w.conversation, res.Status)
	}
	if w.slow {
		w.stall(ctx)
	}
	return w.read(res.Body, until)
}

// read takes whole events, as a browser does: an event that is cut in the middle does not count.
func (w *watcher) read(body io.Reader, until int64) error {
	in := bufio.NewReader(body)
	var id, name, data string
	for until == 0 || w.last < until {
		text, err := in.ReadString('\n')
		if err != nil {
			w.counts.cut.Add(1)
			return nil //nolint:nilerr // that is what the test is about
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(text, "\n"), ": ")
		switch field {
		case "id":
			id = value
		case "event":
			name = value
		case "data":
			data = value
		case "":
			if name != "" {
				if err := w.take(id, name, data); err != nil {
					return err
				}
			}
			id, name, data = "", "", ""
		}
	}
	return nil
}

// take notes one event.
func (w *watcher) take(id, name, data string) error {
	switch name {
	case "resync":
		w.counts.resync.Add(1)
		return fmt.Errorf("%s: a resync after %d", w.conversation, w.last)
	case "stream.cut":
		if strings.Contains(data, `"slow"`) {
			w.counts.slow.Add(1)
		} else {
			w.counts.closing.Add(1)
		}
		return nil
	}
	seq, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return fmt.Errorf("%s: event %q has the id %q", w.conversation, name, id)
	}
	var body struct {
		Seq          int64  `json:"seq"`
		Conversation string `json:"conversation"`
	}
	if err := json.Unmarshal([]byte(data), &body); err != nil || body.Seq != seq || body.Conversation != w.conversation {
		return fmt.Errorf("%s: event %d holds %.80s (%w)", w.conversation, seq, data, err)
	}
	w.seen = append(w.seen, seq)
	w.last = seq
	return nil
}

// begin acts like a client that read the snapshot first.
func (w *watcher) begin(ctx context.Context, address string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/v1/conversations/"+w.conversation, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+w.token)
	client := http.Client{Timeout: patience, Transport: w.contract.Watch(http.DefaultTransport, w.broken)}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // it was read from only
	var body struct {
		Conversation struct {
			Seq int64 `json:"seq"`
		} `json:"conversation"`
	}
	if err := json.NewDecoder(res.Body).Decode(&body); err != nil || body.Conversation.Seq == 0 {
		return fmt.Errorf("read the snapshot of %s: %s: %w", w.conversation, res.Status, err)
	}
	w.last, w.from = body.Conversation.Seq, body.Conversation.Seq
	return nil
}
