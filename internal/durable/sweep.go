package durable

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

const (
	// sweepMost is how many posts one sweep looks at, and sweepAtOnce how many conversations it serves at the same time.
	sweepMost, sweepAtOnce = 200, 8
)

// Sweep tells the engine of what it was not told at once. It returns how many posts it delivered. Tenants take turns, and
// one conversation that takes long does not hold up the others. Within a conversation the oldest post goes first.
func (c *Client) Sweep(ctx context.Context, age time.Duration) (int, error) {
	posts, err := c.Log.Pending(ctx, c.now().Add(-age), sweepMost)
	if err != nil {
		return 0, err
	}
	var places []journal.Place
	of := map[journal.Place][]journal.Post{}
	for _, p := range posts {
		if of[p.Place] == nil {
			places = append(places, p.Place)
		}
		of[p.Place] = append(of[p.Place], p)
	}
	var (
		mu       sync.Mutex
		done     int
		failures error
		all      sync.WaitGroup
		slots    = make(chan struct{}, sweepAtOnce)
	)
	for _, place := range places {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			n, err := c.redeliverAll(ctx, of[place])
			mu.Lock()
			defer mu.Unlock()
			done, failures = done+n, errors.Join(failures, err)
		})
	}
	all.Wait()
	return done, failures
}

// redeliverAll has the agents of one conversation look at mail that waits, and returns how many posts that is.
func (c *Client) redeliverAll(ctx context.Context, posts []journal.Post) (done int, failures error) {
	told := map[string]bool{}
	for _, p := range posts {
		if journal.Imported(p.Conversation) && p.Topic != topicErase {
			continue // it is being imported, and was read elsewhere
		}
		if p.To != "" && told[p.To] {
			done++
			continue
		}
		err := c.deliver(ctx, p)
		if errors.Is(err, errRunning) {
			continue // the next look may find that it has stopped
		}
		if err != nil && chat.CodeOf(err) != chat.CodeConflict {
			failures = errors.Join(failures, err)
			continue
		}
		told[p.To] = err == nil && p.To != ""
		done++
	}
	return done, failures
}
