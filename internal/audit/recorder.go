package audit

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Recorder is a trail that refusals go to as well, without letting a refused client fill it: of
// each tenant's refusals the first few of a minute get an entry each, and all others of that minute
// one together. Nobody waits for them.
type Recorder struct {
	*Trail
	clock func() time.Time
	wake  chan struct{}
	done  chan struct{}
	stop  context.CancelFunc

	mu      sync.Mutex
	tenants map[string]*refusals
	queue   []refusal
}

// refusals are those of one tenant in one window.
type refusals struct {
	until time.Time
	// written got an entry each, more did not.
	written, more int
}

type refusal struct {
	tenant string
	record Record
}

const (
	denialWindow = time.Minute
	// denialMost is how many refusals of a tenant get an entry of their own in a window.
	denialMost = 10
	// denialTenants bounds the memory; no more tenants of valid callers than this are refused at
	// once.
	denialTenants = 1000
)

// NewRecorder takes refusals for a trail until Close.
func NewRecorder(trail *Trail, now func() time.Time) *Recorder {
	ctx, stop := context.WithCancel(context.Background())
	d := &Recorder{
		Trail: trail, clock: now, wake: make(chan struct{}, 1), done: make(chan struct{}), stop: stop, tenants: map[string]*refusals{},
	}
	go d.run(ctx)
	return d
}

// Deny notes a refusal. It never waits.
func (d *Recorder) Deny(tenant string, by Actor, why string) {
	if tenant == "" {
		tenant = Installation
	}
	now := d.clock()
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.tenants[tenant]
	if w == nil && len(d.tenants) >= denialTenants {
		return
	}
	if w == nil || !now.Before(w.until) {
		d.summarise(tenant, w)
		w = &refusals{until: now.Add(denialWindow)}
		d.tenants[tenant] = w
	}
	if w.written >= denialMost {
		w.more++
		return
	}
	w.written++
	d.queue = append(d.queue, refusal{tenant: tenant, record: Record{Action: ActionDeny, Outcome: Denied, Actor: by, Detail: why}})
	d.nudge()
}

// summarise puts the refusals that got no entry of their own into one.
func (d *Recorder) summarise(tenant string, w *refusals) {
	if w == nil || w.more == 0 {
		return
	}
	d.queue = append(d.queue, refusal{tenant: tenant, record: Record{
		Action: ActionDeny, Outcome: Denied, Actor: Actor{Source: "api"}, Detail: fmt.Sprintf("and %d more within a minute", w.more),
	}})
	d.nudge()
}

func (d *Recorder) nudge() {
	select {
	case d.wake <- struct{}{}:
	default: // it is about to look
	}
}

// run writes the queued entries, and closes windows that have passed.
func (d *Recorder) run(ctx context.Context) {
	defer close(d.done)
	tick := time.NewTicker(denialWindow / 4)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			d.pass(time.Time{})
			d.flush()
			return
		case <-d.wake:
		case <-tick.C:
			d.pass(d.clock())
		}
		d.flush()
	}
}

// pass closes the windows that end before now, or all of them.
func (d *Recorder) pass(now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for tenant, w := range d.tenants {
		if now.IsZero() || !now.Before(w.until) {
			d.summarise(tenant, w)
			delete(d.tenants, tenant)
		}
	}
}

func (d *Recorder) flush() {
	d.mu.Lock()
	queue := d.queue
	d.queue = nil
	d.mu.Unlock()
	for _, r := range queue {
		ctx, cancel := context.WithTimeout(context.Background(), addTimeout)
		_ = d.Write(ctx, r.tenant, r.record) // a sample: entries that cannot be written are dropped
		cancel()
	}
}

// Close writes the remaining entries.
func (d *Recorder) Close() {
	d.stop()
	<-d.done
}
