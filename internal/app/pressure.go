package app

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/journal"
)

const (
	// backlogEvery is the time between two counts of the mail that the engine has not heard of. Mail
	// younger than backlogAge does not count: it is on its way.
	backlogEvery = time.Second
	backlogAge   = 5 * time.Second
	// slowWait and behindWait are how long to wait when the journal is slow, and when the engine is
	// behind.
	slowWait   = 2 * time.Second
	behindWait = 5 * time.Second
	// standstill is how many times longer than it should another tenant's append must take before the
	// journal counts as slow for everybody.
	standstill = 5
)

// pressure knows how much more can be written: how long the oldest append has been under way, and
// how much waits for the engine. It knows whose they are: what one tenant does must not keep out
// another.
type pressure struct {
	limits config.ServeLimits
	// told is called with every append that ended; nil means nobody is.
	told func(took time.Duration, err error)

	mu    sync.Mutex
	under *list.List // of appending, the oldest first
	// posts wait for the engine, the first of them since oldest, and of counts them by tenant.
	posts  int
	of     map[string]int
	oldest time.Time
}

// appending is an append that is under way: whose, and since when.
type appending struct {
	tenant string
	began  time.Time
}

func newPressure(limits config.ServeLimits) *pressure {
	return &pressure{limits: limits, under: list.New()}
}

// begin notes that an append is under way; the returned func notes its end.
func (p *pressure) begin(tenant string) func(error) {
	began := time.Now()
	p.mu.Lock()
	at := p.under.PushBack(appending{tenant, began})
	p.mu.Unlock()
	return func(err error) {
		p.mu.Lock()
		p.under.Remove(at)
		told := p.told
		p.mu.Unlock()
		if told != nil {
			told(time.Since(began), err)
		}
	}
}

// tell names who is called with every append.
func (p *pressure) tell(told func(time.Duration, error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = told
}

// slowest is how long the oldest append of a tenant has been under way; no name means any tenant.
func (p *pressure) slowest(tenant string) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	for at := p.under.Front(); at != nil; at = at.Next() {
		if a, _ := at.Value.(appending); tenant == "" || a.tenant == tenant {
			return time.Since(a.began)
		}
	}
	return 0
}

// waiting is how many posts wait for the engine, and for how long the oldest has.
func (p *pressure) waiting() (int, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.posts == 0 {
		return 0, 0
	}
	return p.posts, time.Since(p.oldest)
}

// pressed says why nothing more is taken on from a tenant just now, and how long that may last. No
// name means any tenant.
func (p *pressure) pressed(tenant string) (string, time.Duration) {
	most := time.Duration(p.limits.Delay) * time.Millisecond
	if most > 0 && (p.slowest(tenant) > most || p.slowest("") > standstill*most) {
		return "the journal takes long to write", slowWait
	}
	if p.behind(tenant) {
		return "much that was said before still waits for the engine", behindWait
	}
	return "", 0
}

// behind reports whether too much waits for the engine, and a tenant has its share in that.
func (p *pressure) behind(tenant string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.limits.Backlog <= 0 || p.posts < min(p.limits.Backlog, journal.PageMaxLimit) {
		return false
	}
	return tenant == "" || p.of[tenant]*len(p.of) >= p.posts
}

// watch looks how much waits for the engine, until ctx ends.
func (p *pressure) watch(ctx context.Context, log journal.Lists) {
	ticker := time.NewTicker(backlogEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		posts, err := log.Pending(ctx, time.Now().Add(-backlogAge), journal.PageMaxLimit)
		if err != nil {
			continue // readiness tells of it, and so does the next append
		}
		p.count(posts)
	}
}

// count takes in what waits for the engine.
func (p *pressure) count(posts []journal.Post) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.posts, p.of = len(posts), map[string]int{}
	for _, post := range posts {
		p.of[post.Tenant]++
	}
	if p.posts > 0 {
		p.oldest = posts[0].At
	}
}
