//go:build services

package crash

import (
	"bytes"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// cut is how a proxy ends a connection.
type cut int

// The cuts: as soon as the request is with the server, when its answer comes, or in the middle of
// the answer.
const (
	cutNever cut = iota
	cutRequest
	cutAnswer
	cutMiddle
)

// proxy stands before a server and cuts connections off in the middle of requests.
type proxy struct {
	listener net.Listener
	target   string
	// calm means that nothing more is cut.
	calm atomic.Bool
	cuts [cutMiddle + 1]atomic.Int64
}

// newProxy stands before an address until the end of the test.
func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, target: target}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.carry(c)
		}
	}()
	return p
}

func (p *proxy) url() string { return "http://" + p.listener.Addr().String() }

// carry carries one connection.
func (p *proxy) carry(client net.Conn) {
	defer client.Close() //nolint:errcheck // it may be gone
	server, err := net.DialTimeout("tcp", p.target, time.Second)
	if err != nil {
		return
	}
	defer server.Close() //nolint:errcheck // it may be gone
	var next atomic.Int64
	go func() {
		p.back(client, server, &next)
		abort(client)
		abort(server)
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		c := p.draw(buffer[:n])
		next.Store(int64(c))
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
		if c == cutRequest {
			p.cuts[c].Add(1)
			time.Sleep(rand.N(20 * time.Millisecond))
			abort(client)
			return
		}
	}
}

// back carries answers, as far as they are to come.
func (p *proxy) back(client, server net.Conn, next *atomic.Int64) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := server.Read(buffer)
		if err != nil {
			return
		}
		switch c := cut(next.Swap(int64(cutNever))); c {
		case cutAnswer:
			p.cuts[c].Add(1)
			return
		case cutMiddle:
			p.cuts[c].Add(1)
			_, _ = client.Write(buffer[:n/2])
			return
		case cutNever, cutRequest:
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// draw decides the fate of a request: commands are cut often, reads now and then.
func (p *proxy) draw(request []byte) cut {
	odds := 0.02
	if bytes.HasPrefix(request, []byte("POST ")) {
		odds = 0.6
	}
	if p.calm.Load() || rand.Float64() >= odds {
		return cutNever
	}
	return cut(1 + rand.IntN(int(cutMiddle)))
}

// abort ends a connection without a farewell.
func abort(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}
