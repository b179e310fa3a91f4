package audit

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Store keeps chains. It never changes what it has.
type Store interface {
	Reader
	// Add puts records at the end of a tenant's chain, in order and in one transaction, except
	// those whose key exists. Other processes may add at the same time: the chain stays one.
	Add(ctx context.Context, tenant string, at time.Time, records []Record) error
	// Last is the end of a tenant's chain as it is stored.
	Last(ctx context.Context, tenant string) (Head, error)
	// Find is the record that a tenant's chain has under a key.
	Find(ctx context.Context, tenant, key string) (r Record, found bool, err error)
	// Tenants are those that have a chain.
	Tenants(ctx context.Context) ([]string, error)
}

// Trail writes to a store. Records of one tenant that arrive at the same time are added together,
// so that any number of writers of a chain cost one commit at a time.
type Trail struct {
	Store
	now func() time.Time

	mu    sync.Mutex
	lanes map[string]*lane
}

// lane holds the records that wait for one tenant's chain.
type lane struct {
	busy    bool
	waiting []*waiting
}

type waiting struct {
	record Record
	done   chan error
}

const (
	// addTimeout is how long an addition may take once it is begun.
	addTimeout = 15 * time.Second
	// addMost is how many records go in together.
	addMost = 200
)

// NewTrail writes to a store. Now is the clock.
func NewTrail(store Store, now func() time.Time) *Trail {
	return &Trail{Store: store, now: now, lanes: map[string]*lane{}}
}

// Write adds a record and returns when it is durable. The context names the actor, unless the
// record does. After an error the record may or may not exist; with a key it may be written again.
func (t *Trail) Write(ctx context.Context, tenant string, r Record) error {
	r, err := r.clean(ActorOf(ctx))
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	w := &waiting{record: r, done: make(chan error, 1)}
	t.mu.Lock()
	l := t.lanes[tenant]
	if l == nil {
		l = &lane{}
		t.lanes[tenant] = l
	}
	l.waiting = append(l.waiting, w)
	leads := !l.busy
	l.busy = true
	t.mu.Unlock()
	if leads {
		go t.run(context.WithoutCancel(ctx), tenant, l)
	}
	select {
	case err = <-w.done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("write to the audit trail: %w", err)
	}
	return nil
}

// run adds what waits until nothing does.
func (t *Trail) run(ctx context.Context, tenant string, l *lane) {
	for {
		t.mu.Lock()
		n := min(len(l.waiting), addMost)
		batch := l.waiting[:n:n]
		l.waiting = l.waiting[n:]
		if n == 0 {
			delete(t.lanes, tenant)
			t.mu.Unlock()
			return
		}
		t.mu.Unlock()
		records := make([]Record, n)
		for i, w := range batch {
			records[i] = w.record
		}
		err := t.add(ctx, tenant, records)
		for _, w := range batch {
			w.done <- err
		}
	}
}

func (t *Trail) add(ctx context.Context, tenant string, records []Record) error {
	ctx, cancel := context.WithTimeout(ctx, addTimeout)
	defer cancel()
	return t.Add(ctx, tenant, t.now(), records)
}
