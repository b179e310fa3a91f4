package journal

import (
	"context"
	"sync"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Combiner turns appends that come at the same time into one transaction. While one is under way
// the others of the same lane gather; when it is done, one of the waiting writers carries out all
// that have gathered. So a lane costs one commit at a time for any number of writers, and a lone
// writer does not wait.
type Combiner[Lane comparable] struct {
	// Commit writes batches to a lane in one transaction. It is never called twice at a time for
	// one lane. Its context outlives the callers'.
	Commit func(ctx context.Context, lane Lane, batches []*Batch) ([][]Written, error)

	mu    sync.Mutex
	lanes map[Lane][]*waiter
}

// combineLimit is how many batches go into one transaction.
const combineLimit = 128

type waiter struct {
	batch *Batch
	// lead tells the waiter to carry out what has gathered, itself included; done that somebody
	// else has.
	lead, done chan struct{}
	written    []Written
	err        error
}

// Append carries out one batch, alone or together with others.
func (c *Combiner[Lane]) Append(ctx context.Context, lane Lane, batch *Batch) ([]Written, error) {
	w := &waiter{batch: batch, lead: make(chan struct{}), done: make(chan struct{})}
	c.mu.Lock()
	if c.lanes == nil {
		c.lanes = map[Lane][]*waiter{}
	}
	queue, busy := c.lanes[lane]
	c.lanes[lane] = append(queue, w)
	c.mu.Unlock()
	if !busy {
		close(w.lead)
	}
	select {
	case <-w.done:
	case <-w.lead:
		c.carryOut(ctx, lane)
	case <-ctx.Done():
		if !c.leave(ctx, lane, w) {
			return nil, context.Cause(ctx)
		}
	}
	return w.written, w.err
}

// leave takes a waiter out of its lane. It reports whether the batch was carried out after all.
func (c *Combiner[Lane]) leave(ctx context.Context, lane Lane, w *waiter) bool {
	c.mu.Lock()
	queue := c.lanes[lane]
	for i, other := range queue {
		if other == w {
			c.lanes[lane] = append(queue[:i:i], queue[i+1:]...)
			break
		}
	}
	c.mu.Unlock()
	select {
	case <-w.done:
		return true
	case <-w.lead:
		// It was this one's turn: those behind it must not wait for ever.
		c.carryOut(ctx, lane)
	default:
	}
	return false
}

// carryOut commits what has gathered in a lane and wakes the next.
func (c *Combiner[Lane]) carryOut(ctx context.Context, lane Lane) {
	c.mu.Lock()
	queue := c.lanes[lane]
	group := queue[:min(len(queue), combineLimit)]
	c.lanes[lane] = queue[len(group):]
	c.mu.Unlock()
	if len(group) > 0 {
		c.commit(context.WithoutCancel(ctx), lane, group)
	}
	for _, w := range group {
		close(w.done)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if queue := c.lanes[lane]; len(queue) > 0 {
		close(queue[0].lead)
		return
	}
	delete(c.lanes, lane)
}

// commit writes a group. One refused batch must not take the others with it, so after a refusal
// each is tried alone.
func (c *Combiner[Lane]) commit(ctx context.Context, lane Lane, group []*waiter) {
	batches := make([]*Batch, len(group))
	for i, w := range group {
		batches[i] = w.batch
	}
	written, err := c.Commit(ctx, lane, batches)
	for i, w := range group {
		switch {
		case err == nil:
			w.written = written[i]
		case len(group) > 1 && chat.CodeOf(err) != chat.CodeUnavailable && chat.CodeOf(err) != chat.CodeInternal:
			c.commit(ctx, lane, group[i:i+1])
		default:
			w.err = err
		}
	}
}
