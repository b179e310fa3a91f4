package model_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retinue-dev/retinue/internal/model"
)

// by is a request of a tenant's, in a conversation of its own.
func by(tenant string, i int) model.Request {
	req := from(fmt.Sprintf("%s%d", tenant, i))
	req.Caller.Tenant, req.Caller.Conversation = tenant, req.Caller.Agent
	return req
}

// A tenant with a hundred replies that never end leaves places for others, and none for itself
// beyond its share.
func TestATenantLeavesPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(t, ok)
		p.takes = func(a arrival) time.Duration {
			if strings.HasPrefix(a.Agent, "slow") {
				return time.Hour
			}
			return time.Second
		}
		g := model.NewRateLimiter(p, model.RateLimiterOptions{Concurrency: 8, Shared: true, Chance: seeded()})
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() { _, _ = g.Generate(ctx, by("slow", i), nil) })
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := len(p.seen()); n != 6 {
			t.Errorf("the slow tenant has %d of 8 requests under way, want 6", n)
		}
		if queue := g.Queue(); len(queue) != 94 || queue[0].Why != model.WhyTenant {
			t.Errorf("%d wait, the first %+v", len(queue), queue[:1])
		}
		for i := range 5 {
			reply, err := g.Generate(t.Context(), by("quick", i), nil)
			if err != nil || reply.Waited > 0 {
				t.Errorf("the quick tenant waited %s, error %v", reply.Waited, err)
			}
		}
		stop()
		all.Wait()
		if len(g.Queue()) > 0 {
			t.Errorf("the queue is %v", g.Queue())
		}
	})
}

// Tenants take turns: one that comes after a hundred requests of another goes second, not last.
func TestTenantsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(t, ok)
		p.takes = func(arrival) time.Duration { return 10 * time.Second }
		g := model.NewRateLimiter(p, model.RateLimiterOptions{Concurrency: 1, Patience: time.Hour, Chance: seeded()})
		var all sync.WaitGroup
		come := func(req model.Request) {
			all.Go(func() { _, _ = g.Generate(t.Context(), req, nil) })
			synctest.Wait()
		}
		for i := range 100 {
			come(by("many", i))
		}
		come(by("few", 0))
		come(by("few", 1))
		come(by("one", 0))
		want := "few0 one0 many1 few1 many2 many3"
		var listed []string
		for _, w := range g.Queue()[:6] {
			listed = append(listed, w.Caller.Agent)
		}
		if got := strings.Join(listed, " "); got != want {
			t.Errorf("the queue lists %s, want %s", got, want)
		}
		all.Wait()
		var served []string
		for _, a := range p.seen()[1:7] {
			served = append(served, a.Agent)
		}
		if got := strings.Join(served, " "); got != want {
			t.Errorf("served %s, want %s", got, want)
		}
	})
}
