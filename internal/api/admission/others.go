package admission

import (
	"context"
	"sync"
	"time"
)

const (
	// othersFor is how long a tenant that has asked for something counts as there.
	othersFor = 10 * time.Second
	// searchParts is one part of the time for a tenant's searches and the others to rest. searchAhead
	// is how much of that may be owed. A person who searches now and then notices neither.
	searchParts, searchAhead = 8, 3 * time.Second
	// importRest is how long an import rests for the time that it worked, for each that its tenant has
	// under way, and importWork after how much work.
	importRest, importWork = 5, 20 * time.Millisecond
	// importPause is how long an import waits when the journal is slow, before it looks again.
	importPause = 200 * time.Millisecond
)

// others knows whether a tenant has the server to itself. Heavy requests rest in between only when
// it has not.
type others struct {
	mu sync.Mutex
	// last are the two tenants that asked last, and when.
	last [2]struct {
		tenant string
		at     time.Time
	}
	// rested is when a tenant's searches have rested for all that they took.
	rested map[string]time.Time
}

// saw notes that a tenant has asked for something.
func (o *others) saw(tenant string, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last[0].tenant != tenant {
		o.last[1] = o.last[0]
	}
	o.last[0].tenant, o.last[0].at = tenant, now
}

// there reports whether somebody of another tenant asked for something a moment ago.
func (o *others) there(tenant string, now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, l := range o.last {
		if l.tenant != tenant && !l.at.IsZero() && now.Sub(l.at) < othersFor {
			return true
		}
	}
	return false
}

// searched notes how long a tenant's search took.
func (o *others) searched(tenant string, now time.Time, took time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name, at := range o.rested {
		if at.Before(now) {
			delete(o.rested, name)
		}
	}
	from := now
	if at, ok := o.rested[tenant]; ok {
		from = at
	}
	if o.rested == nil {
		o.rested = map[string]time.Time{}
	}
	o.rested[tenant] = from.Add(searchParts * took)
}

// rest is how long a tenant's next search has to wait.
func (o *others) rest(tenant string, now time.Time) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	at, ok := o.rested[tenant]
	if !ok {
		return 0
	}
	return max(0, at.Sub(now)-searchAhead)
}

// Rester has a long command rest between its parts while other tenants are there, and wait while
// the journal is slow.
type Rester struct {
	gate   *gate
	tenant string
	began  time.Time
	sleep  func(ctx context.Context, pause time.Duration) error
}

// Rester is for the work of a tenant that begins now.
func (g *Guard) Rester(tenant string) *Rester {
	return &Rester{gate: g.gate, tenant: tenant, began: g.options.Now(), sleep: sleep}
}

// Rest is called between two parts. It fails if ctx ends.
func (r *Rester) Rest(ctx context.Context) error {
	now := r.gate.now()
	worked := now.Sub(r.began)
	if worked < importWork {
		return nil
	}
	pause := importRest * worked * r.gate.imports(r.tenant)
	if !r.gate.beside(r.tenant, now) {
		pause = 0
	}
	for r.gate.pressed != nil {
		if _, wait := r.gate.pressed(""); wait <= 0 {
			break
		}
		if err := r.sleep(ctx, importPause); err != nil {
			return err
		}
	}
	err := r.sleep(ctx, pause)
	r.began = r.gate.now()
	return err
}

// beside reports whether somebody of another tenant is there: they asked for something a moment
// ago, or have a stream open.
func (g *gate) beside(tenant string, now time.Time) bool {
	g.mu.Lock()
	streams := g.held[""] > g.held["tenant/"+tenant]
	g.mu.Unlock()
	return streams || g.others.there(tenant, now)
}

// imports is how many imports of a tenant are under way, at least one.
func (g *gate) imports(tenant string) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return time.Duration(max(1, g.held["upload/tenant/"+tenant]))
}

func sleep(ctx context.Context, pause time.Duration) error {
	if pause <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
