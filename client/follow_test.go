package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/wire"
)

// cutter is a way to a server that is cut at random.
type cutter struct {
	net.Listener
	mu    sync.Mutex
	conns map[net.Conn]struct{}
	cuts  int
}

// Accept implements net.Listener.
func (c *cutter) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.conns[conn] = struct{}{}
	}
	return conn, err
}

// cut ends all connections.
func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.conns {
		_ = conn.Close()
		delete(c.conns, conn)
		c.cuts++
	}
}

// throughCuts puts a way that can be cut before a server.
func throughCuts(t *testing.T, server string) (*cutter, string) {
	t.Helper()
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, FlushInterval: -1, ErrorLog: nil,
	}
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	way := &cutter{Listener: l, conns: map[net.Conn]struct{}{}}
	front := &httptest.Server{Listener: way, Config: &http.Server{Handler: proxy, ReadHeaderTimeout: time.Minute}}
	front.Start()
	t.Cleanup(front.Close)
	return way, front.URL
}

// TestFollowSurvivesCuts writes 300 messages while the connection is cut again and again.
func TestFollowSurvivesCuts(t *testing.T) {
	seed := measure.Seed(t, 0)
	chance := rand.New(rand.NewPCG(seed, 0))
	s := newScene(t)
	way, address := throughCuts(t, s.URL)
	c := &Client{BaseURL: address, Key: apitest.Token, HTTP: s.Contract.Client(t)}
	const count = 300
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var writers sync.WaitGroup
	writers.Go(func() {
		for i := range count {
			s.write(t, journal.MessageAdded{In: root, Turn: i + 10, Message: chat.Message{
				ID: fmt.Sprint("n", i), Speaker: chat.Assistant, Parts: []chat.Part{{Kind: chat.PartText, Text: fmt.Sprint(i)}},
			}})
			if chance.IntN(25) == 0 || i%60 == 30 {
				way.cut()
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	next := 0
	for e, err := range c.Follow(ctx, s.conversation, FollowOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		m, ok := e.Data.(wire.Message)
		if !ok || m.Turn < 10 {
			continue
		}
		if m.Text() != fmt.Sprint(next) {
			t.Fatalf("message %s comes where %d is due", m.Text(), next)
		}
		if next++; next == count {
			break
		}
	}
	writers.Wait()
	t.Logf("%d connections cut, %d messages seen once and in order", way.cuts, next)
	if way.cuts == 0 {
		t.Error("nothing was cut: nothing was shown")
	}
}

// TestFollowEnds ends with the caller's context, and with a refusal.
func TestFollowEnds(t *testing.T) {
	s := newScene(t)
	for _, err := range s.client.Follow(t.Context(), "nobody", FollowOptions{}) {
		if !IsNotFound(err) {
			t.Errorf("following what is not there gives %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var last error
	for e, err := range s.client.Follow(ctx, s.conversation, FollowOptions{After: 3}) {
		if err == nil && e.Seq <= 3 {
			t.Errorf("event %d was seen before", e.Seq)
		}
		last = err
		cancel()
	}
	cancel()
	if !errors.Is(last, context.Canceled) {
		t.Errorf("the end is %v", last)
	}
}

// TestFollowResyncs is further behind than the server sends.
func TestFollowResyncs(t *testing.T) {
	var asked atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/conversations/c/events", func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			fmt.Fprint(w, ": hello\n\nevent: resync\ndata: {\"seq\":50}\n\n")
			return
		}
		if got := r.Header.Get("Last-Event-ID"); got != "52" {
			t.Errorf("it goes on after %q, want 52", got)
		}
		for seq := 51; seq < 54; seq++ {
			fmt.Fprintf(w, "id: %d\nevent: conversation.renamed\ndata: {\"seq\":%d,\"type\":\"conversation.renamed\",\"data\":{\"title\":\"x\"}}\n\n", seq, seq)
		}
	})
	mux.HandleFunc("GET /v1/conversations/c", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(wire.Snapshot{Conversation: wire.Conversation{ID: "c", Seq: 52}})
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	var got []string
	for e, err := range (&Client{BaseURL: server.URL}).Follow(t.Context(), "c", FollowOptions{After: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(e.Type, e.Seq))
		if e.Seq > 0 {
			break
		}
	}
	if fmt.Sprint(got) != "[resync0 conversation.renamed53]" {
		t.Errorf("got %v", got)
	}
}
