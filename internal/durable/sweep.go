package durable

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/leg"
)

const (
	// sweepMost is how many posts one sweep looks at, beside those that it waits for, and sweepAtOnce
	// how many conversations it serves at the same time.
	sweepMost, sweepAtOnce = 200, 8
	// sweepSlow is the longest pause between two times that an agent is told of the same mail. It
	// doubles each time.
	sweepSlow = time.Minute
	// stuckAfter is how often an agent is told of mail before the log says that it does not read.
	stuckAfter = 8
)

// Sweeper tells the engine of mail that waits: the engine was not told at once, or forgot. Each
// telling is an event in the engine's history, so an agent that does not read is told less and less
// often.
type Sweeper struct {
	Client *Client
	// Age is how long mail waits before the sweeper delivers it.
	Age time.Duration

	// tried are the posts that agents were told of and that still wait.
	tried map[postKey]retry
}

// postKey names a post among all.
type postKey struct {
	journal.Ref
	id string
}

func keyOf(p journal.Post) postKey { return postKey{Ref: p.Ref, id: p.ID} }

// Pass handles the waiting mail once. It returns how many posts agents were told of. Tenants take
// turns, and one conversation that takes long does not hold up the others. Within a conversation
// the oldest post goes first.
func (s *Sweeper) Pass(ctx context.Context) (int, error) {
	now := s.Client.now()
	limit := sweepMost + len(s.tried)
	posts, err := s.Client.Log.Pending(ctx, now.Add(-s.Age), limit)
	if err != nil {
		return 0, err
	}
	var places []journal.Ref
	of, tried := map[journal.Ref][]journal.Post{}, map[postKey]retry{}
	for _, p := range posts {
		last, again := s.tried[keyOf(p)]
		if again {
			tried[keyOf(p)] = last
		}
		if now.Before(last.next) {
			continue
		}
		if of[p.Ref] == nil {
			places = append(places, p.Ref)
		}
		of[p.Ref] = append(of[p.Ref], p)
	}
	s.tried = tried // mail that is off the list was read
	var (
		mu       sync.Mutex
		done     int
		failures error
		all      sync.WaitGroup
		slots    = make(chan struct{}, sweepAtOnce)
	)
	for _, ref := range places {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			told, err := s.Client.redeliver(ctx, of[ref])
			mu.Lock()
			defer mu.Unlock()
			for _, p := range told {
				s.count(ctx, p, now)
			}
			done, failures = done+len(told), errors.Join(failures, err)
		})
	}
	all.Wait()
	return done, failures
}

// count remembers that an agent was told of a post.
func (s *Sweeper) count(ctx context.Context, p journal.Post, now time.Time) {
	times := s.tried[keyOf(p)].times + 1
	s.tried[keyOf(p)] = retry{times: times, next: now.Add(min(time.Second<<min(times, 10), sweepSlow))}
	if times == stuckAfter {
		s.Client.Logger.ErrorContext(ctx, "mail waits although its agent was told again and again: see whether its workers run",
			"tenant", p.Tenant, "conversation", p.Conversation, "agent", p.To, "mail", p.ID, "told", times)
	}
}

// redeliver makes the agents of one conversation look at waiting mail, and returns the posts that
// they were told of.
func (c *Client) redeliver(ctx context.Context, posts []journal.Post) (done []journal.Post, failures error) {
	told := map[string]bool{}
	for _, p := range posts {
		if journal.Imported(p.Conversation) && p.Topic != leg.TopicErase {
			continue // it is being imported, and was read elsewhere
		}
		if p.To != "" && told[p.To] {
			done = append(done, p)
			continue
		}
		err := c.deliver(ctx, p)
		if errors.Is(err, errRunning) {
			failures = errors.Join(failures, c.releaseAbsent(ctx, p))
			continue // the next look may find that it has stopped
		}
		if err != nil && chat.CodeOf(err) != chat.CodeConflict {
			failures = errors.Join(failures, err)
			continue
		}
		told[p.To] = err == nil && p.To != ""
		done = append(done, p)
		failures = errors.Join(failures, c.releaseAbsent(ctx, p))
	}
	return done, failures
}
