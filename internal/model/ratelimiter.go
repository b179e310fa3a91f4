package model

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
)

// RateLimiter stands between callers and the one client of a key, and is a Client itself. It keeps
// the key's limits: the requests at once, the requests per second, and the pauses that the provider
// asked for. A call that must wait joins a queue, which can be listed.
//
// Retries: the rate limiter absorbs rate_limit and nothing else. A request to slow down concerns
// the key, not one call: all callers of the key must obey it at once, and only the rate limiter
// knows them all. So the request goes back to its place in the queue, and the agent's clock does
// not count the time (Reply.Waited). Every other failure is about a request or about the provider's
// health, and goes to the core, which has the retry limit, the budget and a durable timer. A wait
// that would outlast Patience goes to the core as well, with the time to wait, since a timer there
// survives a restart and a queue here does not.
//
// The rate limiter does for the core's own retries what they cannot, being without chance: after
// server errors it lets requests out one by one, at random distances, and after several in a row
// only one at a time until one succeeds.
type RateLimiter struct {
	client  Client
	options RateLimiterOptions

	mu      sync.Mutex
	pace    pace
	queue   []*waiter
	serial  int64
	turns   map[fairKey]turns
	tenants tenants
	timer   *time.Timer
}

// RateLimiterOptions are the settings of a RateLimiter; the zero value means the defaults.
type RateLimiterOptions struct {
	// Concurrency is how many requests may be under way at once; zero means 16.
	Concurrency int
	// Shared says that several tenants use the key. Then one of them may use three quarters of the
	// Concurrency, so that another tenant's request need not wait for a long reply to end.
	Shared bool
	// Rate is how many requests a second the key allows; zero means that nobody knows. It is learned
	// in either case: halved when the provider says rate_limit, raised again little by little.
	Rate float64
	// Attempts is how often one request is sent before a rate_limit goes to the core; zero means
	// 20.
	Attempts int
	// Patience is how long a request may stand in the queue; zero means ten minutes.
	Patience time.Duration
	// Age is by how much background requests give way: one that has waited this much longer than
	// an interactive one goes first. Zero means 30 seconds.
	Age time.Duration
	// Failures is how many server errors in a row it takes until only one request at a time is let
	// through; zero means 5.
	Failures int
	// Chance is the source of jitter; nil means a random seed.
	Chance *rand.Rand
}

func (o RateLimiterOptions) withDefaults() RateLimiterOptions {
	o.Concurrency = orDefault(o.Concurrency, 16)
	o.Attempts = orDefault(o.Attempts, 20)
	o.Patience = orDefault(o.Patience, 10*time.Minute)
	o.Age = orDefault(o.Age, 30*time.Second)
	o.Failures = orDefault(o.Failures, 5)
	if o.Chance == nil {
		o.Chance = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	return o
}

// share is how many requests of one tenant may be under way; zero means any number.
func (o RateLimiterOptions) share() int {
	if !o.Shared {
		return 0
	}
	return max(1, o.Concurrency-max(1, o.Concurrency/4))
}

func orDefault[T int | time.Duration](value, otherwise T) T {
	if value <= 0 {
		return otherwise
	}
	return value
}

// NewRateLimiter limits the requests to a client.
func NewRateLimiter(client Client, options RateLimiterOptions) *RateLimiter {
	options = options.withDefaults()
	return &RateLimiter{
		client:  client,
		options: options,
		pace:    newPace(options),
		turns:   map[fairKey]turns{},
		tenants: tenants{most: options.share(), known: map[string]tenant{}},
	}
}

// Generate implements Client.
func (g *RateLimiter) Generate(ctx context.Context, req Request, told func(Delta)) (Reply, error) {
	w := &waiter{caller: req.Caller, model: req.Model}
	out := attempts{told: told}
	for {
		if err := g.wait(ctx, w); err != nil {
			return Reply{}, err
		}
		reply, err := g.send(ctx, req, out.tell, w)
		if err == nil {
			reply.Waited, reply.Tries = w.waited, append(w.tries, reply.Tries...)
			return reply, nil
		}
		var failure *Error
		if !errors.As(err, &failure) {
			return Reply{}, err
		}
		if failure.Kind != chat.KindRateLimit || w.attempts >= g.options.Attempts {
			return Reply{}, w.finish(failure)
		}
		w.last = failure
		out.again()
	}
}

// send sends a request that was let out, and learns from its end.
func (g *RateLimiter) send(
	ctx context.Context, req Request, told func(Delta), w *waiter,
) (reply Reply, err error) {
	defer func() { g.settle(w, err) }()
	return g.client.Generate(ctx, req, told)
}

// settle frees the place of a request and lets out who may go now.
func (g *RateLimiter) settle(w *waiter, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pace.settle(time.Now(), w.epoch, err, len(g.queue) > 0)
	g.tenants.count(w.caller.Tenant, 0, -1)
	g.pump()
}

// finish completes the error that goes to the caller.
func (w *waiter) finish(failure *Error) *Error {
	end := *failure
	end.Waited, end.Tries = w.waited, append(w.tries, failure.Tries...)
	return &end
}
