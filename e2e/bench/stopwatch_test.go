//go:build services

package bench

import (
	"bytes"
	"context"
	"net"
	"net/url"
	"sync"
	"time"

	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/live"
)

// stopwatch stands between a worker and its model. It knows when a request came in, and when the
// first token of an answer went out.
type stopwatch struct {
	url string

	mu sync.Mutex
	// sent is the first request, first the first token, last what the model sent last.
	sent, first, last time.Time
	// idle is for each request how long before it the model had sent something, in milliseconds.
	idle []float64
}

func newStopwatch(model string) (*stopwatch, error) {
	target, err := url.Parse(model)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &stopwatch{url: "http://" + listener.Addr().String()}
	go func() { // it lives as long as the process
		for {
			worker, err := listener.Accept()
			if err != nil {
				return
			}
			go p.relay(worker, target.Host)
		}
	}()
	return p, nil
}

// relay passes one connection on, byte for byte.
func (p *stopwatch) relay(worker net.Conn, target string) {
	model, err := net.Dial("tcp", target)
	if err != nil {
		_ = worker.Close()
		return
	}
	pass := func(from, to net.Conn, see func([]byte)) {
		buffer := make([]byte, 64<<10)
		for {
			n, err := from.Read(buffer)
			see(buffer[:n])
			if _, failed := to.Write(buffer[:n]); err != nil || failed != nil {
				_, _ = from.Close(), to.Close() // the other direction has ended, or ends with it
				return
			}
		}
	}
	go pass(worker, model, func(b []byte) {
		p.mark(&p.sent, len(b) > 0)
		p.asked(bytes.HasPrefix(b, []byte("POST ")))
	})
	pass(model, worker, func(b []byte) {
		p.mark(&p.first, bytes.Contains(b, []byte("content_block_delta")))
		p.answered()
	})
}

// asked notes that a request has begun.
func (p *stopwatch) asked(begun bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if begun {
		p.idle = append(p.idle, ms(time.Since(p.last)))
	}
}

// answered notes that the model has sent something.
func (p *stopwatch) answered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = time.Now()
}

// requests begins to watch requests. The function that it returns says for each of them how long
// before it the model had sent something.
func (p *stopwatch) requests() func() []float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = nil
	return func() []float64 {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.idle
	}
}

// mark notes the time of something that has happened, once.
func (p *stopwatch) mark(at *time.Time, happened bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if happened && at.IsZero() {
		*at = time.Now()
	}
}

// listen begins to watch one turn. The function that it returns says, in milliseconds, how long it
// took until the model was asked, and how long after the provider's its first token was with a
// reader.
func (p *stopwatch) listen(ctx context.Context, bus live.Bus, at journal.Ref) (func(time.Time) (float64, float64), error) {
	p.mu.Lock()
	p.sent, p.first = time.Time{}, time.Time{}
	p.mu.Unlock()
	reader, err := bus.Subscribe(ctx, live.Topic{Tenant: at.Tenant, Conversation: at.Conversation})
	if err != nil {
		return nil, err
	}
	heard := make(chan time.Time, 1)
	go func() {
		for n := range reader.Notices() {
			if _, ok := n.(live.Delta); ok {
				heard <- time.Now()
				break
			}
		}
		for range reader.Notices() {
		}
	}()
	return func(began time.Time) (float64, float64) {
		first := <-heard
		reader.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		return ms(p.sent.Sub(began)), ms(first.Sub(p.first))
	}, nil
}
