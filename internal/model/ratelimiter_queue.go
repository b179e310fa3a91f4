package model

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Why is what a request in a rate limiter's queue waits for.
type Why string

// The reasons to wait.
const (
	// WhySlot waits for another request to end, WhyTenant for another one of the same tenant.
	WhySlot   Why = "slot"
	WhyTenant Why = "tenant"
	// WhyRate keeps the key's rate.
	WhyRate Why = "rate"
	// WhyAsked keeps the quiet that the provider asked for, WhyBackoff the one we chose.
	WhyAsked   Why = "asked"
	WhyBackoff Why = "backoff"
	// WhyProbe waits for the one request that tries whether the provider answers again.
	WhyProbe Why = "probe"
)

// Waiting is one request in the queue.
type Waiting struct {
	Caller Caller
	Model  string
	// Since is when it came, and Attempts how often it has been sent.
	Since    time.Time
	Attempts int
	// Until is when it may go at the earliest, zero when nobody can say.
	Until time.Time
	Why   Why
}

// waiter is a request in the queue, or on its way through it.
type waiter struct {
	caller Caller
	model  string
	since  time.Time
	// rank is its place: the lowest goes first. It is the time of its arrival, later by Age for
	// background requests and by a share for each other request of its conversation. So a call that
	// arrives after that time comes later, and none starves.
	rank     time.Time
	serial   int64
	attempts int
	// ready is closed when it is let out, with the epoch it goes in, or refused.
	ready   chan struct{}
	epoch   int
	refused *Error

	// joined is when it last joined the queue, and waited its waiting time before that; last is the
	// reason for its return, and tries are its earlier sendings.
	joined time.Time
	waited time.Duration
	last   *Error
	tries  []Try
}

// share is how far the requests of one conversation stand apart in the queue while they wait, so
// that a conversation with many sub-agents does not shut out one with few.
const share = time.Second

// fairKey is what shares are counted by.
type fairKey struct{ tenant, conversation string }

// turns is what a conversation has in the queue: how many requests, and the rank of the last.
type turns struct {
	waiting int
	last    time.Time
}

func (w *waiter) key() fairKey { return fairKey{w.caller.Tenant, w.caller.Conversation} }

// Queue lists the waiting requests, in the order in which they go if none comes or ends.
func (g *RateLimiter) Queue() []Waiting {
	g.mu.Lock()
	defer g.mu.Unlock()
	at, why := g.pace.next(time.Now())
	left := slices.Clone(g.queue)
	sim := tenants{most: g.tenants.most, turn: g.tenants.turn, known: maps.Clone(g.tenants.known)}
	list := make([]Waiting, 0, len(left))
	for len(left) > 0 {
		until, why := at, why
		if !at.IsZero() {
			until = at.Add(time.Duration(float64(len(list)) / g.pace.rate * float64(time.Second)))
		}
		i := sim.first(left)
		if i < 0 {
			i, until, why = 0, time.Time{}, WhyTenant
		}
		w := left[i]
		left = slices.Delete(left, i, i+1)
		sim.count(w.caller.Tenant, -1, 1)
		list = append(list, Waiting{
			Caller: w.caller, Model: w.model, Since: w.since, Attempts: w.attempts, Until: until,
			Why: why,
		})
	}
	return list
}

// wait stands in the queue until the request is let out. The error is why it was not.
func (g *RateLimiter) wait(ctx context.Context, w *waiter) error {
	g.join(w)
	impatient := time.NewTimer(w.since.Add(g.options.Patience).Sub(w.joined))
	defer impatient.Stop()
	var why *Error
	select {
	case <-w.ready:
		why = w.refused
	case <-ctx.Done():
		why = cancelled(ctx)
	case <-impatient.C:
		why = g.refusal()
	}
	w.waited += time.Since(w.joined)
	if why == nil {
		return nil
	}
	g.leave(w)
	return w.finish(why)
}

// join puts a request into the queue; one that was sent before gets its old place back.
func (g *RateLimiter) join(w *waiter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w.joined = time.Now()
	w.ready = make(chan struct{})
	if w.last != nil {
		w.tries = append(w.tries, Try{
			Kind: w.last.Kind, Usage: w.last.Usage, Unmetered: w.last.Unmetered,
		})
	}
	t := g.turns[w.key()]
	if w.since.IsZero() {
		g.serial++
		w.since, w.serial, w.rank = w.joined, g.serial, w.joined
		if t.waiting > 0 && t.last.Add(share).After(w.rank) {
			w.rank = t.last.Add(share)
		}
		t.last = w.rank
		if w.caller.Background {
			w.rank = w.rank.Add(g.options.Age)
		}
	}
	t.waiting++
	g.turns[w.key()] = t
	g.tenants.count(w.caller.Tenant, 1, 0)
	i, _ := slices.BinarySearchFunc(g.queue, w, func(a, b *waiter) int {
		return cmp.Or(a.rank.Compare(b.rank), cmp.Compare(a.serial, b.serial))
	})
	g.queue = slices.Insert(g.queue, i, w)
	g.pump()
}

// leave takes a request out of the queue, or gives back the place it got in the same moment.
func (g *RateLimiter) leave(w *waiter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.queue, w); i >= 0 {
		g.queue = slices.Delete(g.queue, i, i+1)
		g.forget(w)
	} else if w.refused == nil {
		g.pace.settle(time.Now(), w.epoch, context.Canceled, false)
		g.tenants.count(w.caller.Tenant, 0, -1)
	}
	g.pump()
}

// forget counts a request out of the queue.
func (g *RateLimiter) forget(w *waiter) {
	g.tenants.count(w.caller.Tenant, -1, 0)
	t := g.turns[w.key()]
	if t.waiting--; t.waiting == 0 {
		delete(g.turns, w.key())
		return
	}
	g.turns[w.key()] = t
}

// pump starts the requests that may go, refuses those that would wait too long, and sets the timer
// for the next.
func (g *RateLimiter) pump() {
	if g.timer != nil {
		g.timer.Stop()
		g.timer = nil
	}
	now := time.Now()
	g.refuse(now)
	for len(g.queue) > 0 {
		at, why := g.pace.next(now)
		if why != "" {
			if !at.IsZero() {
				g.timer = time.AfterFunc(at.Sub(now), g.wake)
			}
			return
		}
		i := g.tenants.first(g.queue)
		if i < 0 {
			return
		}
		w := g.queue[i]
		g.queue = slices.Delete(g.queue, i, i+1)
		g.tenants.count(w.caller.Tenant, 0, 1)
		g.forget(w)
		w.attempts++
		w.epoch = g.pace.send(now)
		close(w.ready)
	}
}

// refuse sends away whose patience ends before the pause does.
func (g *RateLimiter) refuse(now time.Time) {
	g.queue = slices.DeleteFunc(g.queue, func(w *waiter) bool {
		if !g.pace.pause.After(w.since.Add(g.options.Patience)) {
			return false
		}
		g.forget(w)
		w.refused = g.pace.refusal(now)
		close(w.ready)
		return true
	})
}

func (g *RateLimiter) wake() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pump()
}

// refusal is the end of a request whose patience is over.
func (g *RateLimiter) refusal() *Error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.pace.refusal(time.Now())
}

func cancelled(ctx context.Context) *Error {
	kind := chat.KindCancelled
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		kind = chat.KindTimedOut
	}
	return &Error{Kind: kind, Message: "given up while it waited", Cause: context.Cause(ctx)}
}
