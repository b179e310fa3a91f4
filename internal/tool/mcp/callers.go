package mcp

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/retinue-dev/retinue/internal/egress"
	"github.com/retinue-dev/retinue/internal/tool"
)

// callers are the calls under way at a server. The server's connections cannot be told apart by
// call, so each host that the server reaches is on the record of every call that is under way, and
// of the calls after it.
type callers struct {
	mu    sync.Mutex
	now   []*tool.Traffic
	known []egress.Target
}

// reach is told where the server's next connection leads.
func (c *callers) reach(ctx context.Context, to egress.Target) error {
	c.mu.Lock()
	now := slices.Clone(c.now)
	c.known = append(c.known, to)
	c.mu.Unlock()
	var errs error
	for _, t := range now {
		errs = errors.Join(errs, t.Reach(ctx, to.Host, to.Port))
	}
	return errs
}

// join begins a call. Traffic through the gate until leave is on its record.
func (c *callers) join(ctx context.Context, gate *egress.Gate) (leave func(), err error) {
	if gate == nil {
		return func() {}, nil
	}
	t := tool.TrafficOf(ctx)
	before := gate.Traffic()
	c.mu.Lock()
	c.now = append(c.now, t)
	known := slices.Clone(c.known)
	c.mu.Unlock()
	leave = func() {
		c.mu.Lock()
		c.now = slices.DeleteFunc(c.now, func(o *tool.Traffic) bool { return o == t })
		c.mu.Unlock()
		t.Add(between(before, gate.Traffic())...)
	}
	for _, to := range known {
		if err := t.Reach(ctx, to.Host, to.Port); err != nil {
			leave()
			return nil, err
		}
	}
	return leave, nil
}

// between is the traffic added.
func between(before, after []egress.Traffic) []tool.Host {
	var hosts []tool.Host
	for _, a := range after {
		h := tool.Host{Name: a.Host, Port: a.Port, Sent: a.Sent, Received: a.Received}
		for _, b := range before {
			if b.Target == a.Target {
				h.Sent, h.Received = a.Sent-b.Sent, a.Received-b.Received
			}
		}
		if h.Sent+h.Received > 0 {
			hosts = append(hosts, h)
		}
	}
	return hosts
}
