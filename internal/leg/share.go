package leg

import (
	"context"
	"sync"
	"time"
)

// shares bounds how many legs of one tenant a worker runs at the same time, so that a tenant with
// hundreds of slow turns leaves room for others. The engine's fairness orders the tasks that wait
// for a worker; it does not free a taken slot.
//
// A leg over the bound waits a moment for one of its tenant's to end. Then it gives its slot back
// and is tried again later. Few may wait, because they hold slots meanwhile.
type shares struct {
	// most is the bound; zero means none.
	most int

	mu      sync.Mutex
	running map[string]int
	waiting map[string][]chan struct{}
	// next is when the last leg of a tenant that gave its slot back is tried again.
	next map[string]time.Time
}

func newShares(most int) *shares {
	return &shares{most: most, running: map[string]int{}, waiting: map[string][]chan struct{}{}, next: map[string]time.Time{}}
}

const (
	// shareWait is how long a leg waits for a place.
	shareWait = 2 * time.Second
	// shareLater is the shortest time before a leg is tried again, and sharePace the time between
	// the retries of one tenant's legs. A free slot is soon found, and the engine's cost is the
	// same for any number of waiting legs.
	shareLater, sharePace = time.Second, 200 * time.Millisecond
	// shareQueue is how many legs of a tenant may wait, as a part of those that may run.
	shareQueue = 2
)

// enter takes a place for a leg of a tenant. It is false if there is none.
func (s *shares) enter(ctx context.Context, tenant string, wait time.Duration) (leave func(), ok bool) {
	leave = sync.OnceFunc(func() { s.leave(tenant) })
	s.mu.Lock()
	if s.most == 0 || s.running[tenant] < s.most {
		s.running[tenant]++
		s.mu.Unlock()
		return leave, true
	}
	if len(s.waiting[tenant]) >= max(1, s.most/shareQueue) {
		s.mu.Unlock()
		return nil, false
	}
	turn := make(chan struct{})
	s.waiting[tenant] = append(s.waiting[tenant], turn)
	s.mu.Unlock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-turn:
		return leave, true
	case <-timer.C:
	case <-ctx.Done():
	}
	if s.giveUp(tenant, turn) {
		return nil, false
	}
	return leave, true // its turn came just now
}

// giveUp stops waiting. It is false for one whose turn has come.
func (s *shares) giveUp(tenant string, turn chan struct{}) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, other := range s.waiting[tenant] {
		if other == turn {
			s.waiting[tenant] = append(s.waiting[tenant][:i:i], s.waiting[tenant][i+1:]...)
			s.tidy(tenant)
			return true
		}
	}
	return false
}

// leave hands the place to the leg that has waited longest.
func (s *shares) leave(tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if list := s.waiting[tenant]; len(list) > 0 {
		s.waiting[tenant] = list[1:]
		close(list[0])
	} else {
		s.running[tenant]--
	}
	s.tidy(tenant)
}

// tidy forgets a tenant without running or waiting legs. The caller holds the lock.
func (s *shares) tidy(tenant string) {
	if s.running[tenant] == 0 {
		delete(s.running, tenant)
	}
	if len(s.waiting[tenant]) == 0 {
		delete(s.waiting, tenant)
	}
}

// later is when a leg of a tenant is to be tried again.
func (s *shares) later(tenant string, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, at := range s.next {
		if at.Before(now) {
			delete(s.next, name)
		}
	}
	at := now.Add(shareLater)
	if last, ok := s.next[tenant]; ok && last.Add(sharePace).After(at) {
		at = last.Add(sharePace)
	}
	s.next[tenant] = at
	return at.Sub(now)
}

// Busy is how a leg ends whose tenant has too many under way here.
type Busy struct {
	// Later is when it is to be tried again.
	Later time.Duration
}

// Error implements error.
func (*Busy) Error() string {
	return "the tenant has as many turns under way as one may have here: this one waits"
}

// takeSlot takes a place for the leg, or says when to try again. One that is called back while it
// waits needs none: it begins nothing.
func (l *leg) takeSlot(ctx context.Context) (leave func(), err error) {
	leave, ok := l.shares.enter(ctx, l.in.Ref.Tenant, shareWait)
	if ok {
		return leave, nil
	}
	if ctx.Err() != nil {
		l.yield = true
		return func() {}, nil
	}
	return nil, &Busy{Later: l.shares.later(l.in.Ref.Tenant, l.Now())}
}
