package tool

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// Traffic is the record of the hosts that one call reaches. Tools take it from the context of the
// call, because connections are opened far below them. It is safe for concurrent use.
type Traffic struct {
	reach func(ctx context.Context, host string, port uint16) error
	// leaks names what a text holds that must not leave; nil means nothing.
	leaks func(text string) string

	mu    sync.Mutex
	hosts []Host
}

type trafficKey struct{}

// record gives a call a record of its traffic, and what looks at it.
func record(ctx context.Context, call Call, leaks func(text string) string) (context.Context, *Traffic) {
	t := &Traffic{reach: call.Reach, leaks: leaks}
	return context.WithValue(ctx, trafficKey{}, t), t
}

// TrafficOf is the record of the call that the context belongs to, or one that nobody reads.
func TrafficOf(ctx context.Context) *Traffic {
	if t, ok := ctx.Value(trafficKey{}).(*Traffic); ok {
		return t
	}
	return &Traffic{}
}

// Reach says that a connection to a host is about to be opened. After an error it must not be.
func (t *Traffic) Reach(ctx context.Context, host string, port uint16) error {
	if t.reach == nil {
		return nil
	}
	return t.reach(ctx, host, port)
}

// Leaks names the values in a text that must not leave. Nil searches for nothing.
func (t *Traffic) Leaks() func(text string) string { return t.leaks }

// Add counts the bytes sent to hosts and received from them.
func (t *Traffic) Add(hosts ...Host) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, h := range hosts {
		i := slices.IndexFunc(t.hosts, func(o Host) bool { return o.Name == h.Name && o.Port == h.Port })
		if i < 0 {
			t.hosts = append(t.hosts, h)
			continue
		}
		t.hosts[i].Sent += h.Sent
		t.hosts[i].Received += h.Received
	}
}

// reached are the hosts in their order.
func (t *Traffic) reached() []Host {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.SortedFunc(slices.Values(t.hosts), func(a, b Host) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Port, b.Port))
	})
}
