//go:build services

package nats_test

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/internal/live/nats"
	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/porttest"
)

var topic = live.Topic{Tenant: "t1", Conversation: "c1"}

func delta(n int) live.Delta {
	return live.Delta{
		Topic: topic, Agent: "a", Message: "m", Kind: chat.PartText, Offset: int64(n), Text: "x",
	}
}

// start runs a server of our own, on a port that is held for it, or on any that is free: -1.
func start(t *testing.T, port int) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { stop(s) })
	if !s.ReadyForConnections(patience) {
		t.Fatal("the NATS server did not start")
	}
	return s
}

func stop(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

const patience = time.Minute

// eventually asks again and again until the answer is yes.
func eventually(t *testing.T, what string, yes func() bool) {
	t.Helper()
	deadline, again := time.After(patience), time.NewTicker(5*time.Millisecond)
	defer again.Stop()
	for !yes() {
		select {
		case <-again.C:
		case <-deadline:
			t.Fatalf("after %s: not yet %s", patience, what)
		}
	}
}

func subscribe(t *testing.T, bus live.Bus) *live.Reader {
	t.Helper()
	r, err := bus.Subscribe(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func next(t *testing.T, r *live.Reader) live.Notice {
	t.Helper()
	select {
	case n, ok := <-r.Notices():
		if !ok {
			t.Fatalf("the reader has ended: %v", r.Err())
		}
		return n
	case <-time.After(patience):
		t.Fatal("no notice came")
	}
	return nil
}

// arrives publishes until the first delta comes through, since the two ends find their server again
// each in its own time, and then sees that the rest is in order.
func arrives(t *testing.T, publisher live.Bus, r *live.Reader) {
	t.Helper()
	sent, first := 0, live.Notice(nil)
	eventually(t, "a delta through the new server", func() bool {
		publisher.Publish(delta(sent))
		sent++
		select {
		case first = <-r.Notices():
			return true
		default:
			return false
		}
	})
	publisher.Announce(live.Appended{Topic: topic, Seq: 9})
	for n := first; n != live.Notice(live.Appended{Topic: topic, Seq: 9}); {
		got, ok := n.(live.Delta)
		if !ok {
			t.Fatalf("got %#v, want deltas and then the announcement", n)
		}
		n = next(t, r)
		if after, ok := n.(live.Delta); ok && after.Offset <= got.Offset {
			t.Fatalf("number %d came after %d", after.Offset, got.Offset)
		}
	}
}

// An outage costs only deltas: publishers continue, readers stay and are told.
func TestOutage(t *testing.T) {
	port := porttest.Hold(t)
	s := start(t, port)
	options := nats.Options{URL: s.ClientURL(), Prefix: prefix()}
	publisher, reader := open(t, options), open(t, options)
	r := subscribe(t, reader)
	publisher.Publish(delta(0))
	if got := next(t, r); got != delta(0) {
		t.Fatalf("got %#v", got)
	}

	stop(s)
	const many = 500
	published := 0
	eventually(t, "losses counted", func() bool {
		for range many {
			publisher.Publish(delta(1))
		}
		published += many
		return publisher.Counts().Lost > 0
	})
	late := subscribe(t, reader)
	if err := r.Err(); err != nil {
		t.Fatalf("the reader ended with the server: %v", err)
	}

	start(t, port)
	for _, r := range []*live.Reader{r, late} {
		if got := next(t, r); got != (live.Resync{}) {
			t.Fatalf("got %#v after the outage, want Resync", got)
		}
	}
	arrives(t, publisher, r)
	if c := publisher.Counts(); c.Refused != 0 || c.Lost > int64(published)+10000 {
		t.Errorf("counts are %+v", c)
	}
}

// A process may start before its server does.
func TestServerComesLater(t *testing.T) {
	port := porttest.Hold(t)
	options := nats.Options{URL: fmt.Sprintf("nats://127.0.0.1:%d", port), Prefix: prefix()}
	publisher, reader := open(t, options), open(t, options)
	r := subscribe(t, reader)
	publisher.Publish(delta(0))
	eventually(t, "the loss counted", func() bool {
		return publisher.Counts() == live.Counts{Lost: 1}
	})
	start(t, port)
	if got := next(t, r); got != (live.Resync{}) {
		t.Fatalf("got %#v, want Resync", got)
	}
	arrives(t, publisher, r)
}

// A server that takes the connection and then reads nothing is worse than none: the client's own
// Publish blocks on it. Ours must not.
func TestStalledServer(t *testing.T) {
	s := start(t, -1)
	wire := newTap(t, s.Addr().String())
	publisher := open(t, nats.Options{URL: "nats://" + wire.address, Prefix: prefix()})
	publisher.Publish(delta(0))
	eventually(t, "the first delta sent", func() bool { return publisher.Counts().Sent == 1 })
	wire.close()

	d := delta(1)
	d.Text = strings.Repeat("x", live.MaxText)
	slowest := time.Duration(0)
	eventually(t, "the queue full", func() bool {
		for range 100 {
			began := time.Now()
			publisher.Publish(d)
			slowest = max(slowest, time.Since(began))
		}
		return publisher.Counts().Lost > 0
	})
	measure.Most(t, "live/nats: the slowest Publish to a server that reads nothing", slowest, time.Second)
	wire.open()
}

// Readers of one conversation share a subscription, and the last one takes it away.
func TestSubscriptionsEnd(t *testing.T) {
	s := start(t, -1)
	idle := s.NumSubscriptions()
	bus := open(t, nats.Options{URL: s.ClientURL(), Prefix: prefix(), Buffer: 1})
	closed, cut := subscribe(t, bus), subscribe(t, bus)
	if got := s.NumSubscriptions() - idle; got != 1 {
		t.Errorf("two readers have %d subscriptions, want 1", got)
	}
	closed.Close()
	bus.Publish(delta(0))
	bus.Publish(delta(1))
	eventually(t, "the last reader cut off", func() bool { return cut.Err() != nil })
	eventually(t, "no subscription left", func() bool { return s.NumSubscriptions() == idle })
}

// tap is a pipe to a server that can be shut without closing the connection.
type tap struct {
	address string
	flows   sync.RWMutex // held for writing while the tap is shut
	shut    bool
	pipes   sync.WaitGroup
}

func newTap(t *testing.T, server string) *tap {
	t.Helper()
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &tap{address: listen.Addr().String()}
	w.pipes.Go(func() {
		for {
			in, err := listen.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", server)
			if err != nil {
				_ = in.Close()
				return
			}
			w.pipes.Go(func() { w.pipe(in, out) })
			w.pipes.Go(func() { w.pipe(out, in) })
		}
	})
	t.Cleanup(func() {
		w.open()
		_ = listen.Close()
		w.pipes.Wait()
	})
	return w
}

func (w *tap) pipe(from, to net.Conn) {
	defer func() { _, _ = from.Close(), to.Close() }()
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		w.flows.RLock()
		_, wrote := to.Write(buffer[:n])
		w.flows.RUnlock()
		if err != nil || wrote != nil {
			return
		}
	}
}

func (w *tap) close() {
	w.flows.Lock()
	w.shut = true
}

func (w *tap) open() {
	if w.shut {
		w.shut = false
		w.flows.Unlock()
	}
}
