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
	// backlogEvery is how often is looked how much waits for the engine, and backlogAge how long a post
	// must have waited to count: younger ones are on their way.
	backlogEvery = time.Second
	backlogAge   = 5 * time.Second
	// slowWait and behindWait are how long to wait when the journal is slow, and when the engine is
	// behind.
	slowWait   = 2 * time.Second
	behindWait = 5 * time.Second
)

// pressure knows how much more can be written: how long the oldest append has been under way, and how
// much waits for the engine.
type pressure struct {
	limits config.ServeLimits
	// told is called with every append that ended; nil means nobody is.
	told func(took time.Duration, err error)

	mu    sync.Mutex
	under *list.List // when each append began, the oldest first
	// posts wait for the engine, the first of them since oldest.
	posts  int
	oldest time.Time
}

func newPressure(limits config.ServeLimits) *pressure {
	return &pressure{limits: limits, under: list.New()}
}

// begin notes that an append is under way; the returned func notes its end.
func (p *pressure) begin() func(error) {
	began := time.Now()
	p.mu.Lock()
	at := p.under.PushBack(began)
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

// slowest is how long the oldest append has been under way.
func (p *pressure) slowest() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := p.under.Front()
	if first == nil {
		return 0
	}
	began, _ := first.Value.(time.Time)
	return time.Since(began)
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

// pressed says why nothing more is taken on just now, and how long that may last.
func (p *pressure) pressed() (string, time.Duration) {
	if most := time.Duration(p.limits.Delay) * time.Millisecond; most > 0 && p.slowest() > most {
		return "the journal takes long to write", slowWait
	}
	if posts, _ := p.waiting(); p.limits.Backlog > 0 && posts >= min(p.limits.Backlog, journal.PageMaxLimit) {
		return "much that was said before still waits for the engine", behindWait
	}
	return "", 0
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
		p.mu.Lock()
		if p.posts = len(posts); p.posts > 0 {
			p.oldest = posts[0].At
		}
		p.mu.Unlock()
	}
}
