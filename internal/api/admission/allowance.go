package admission

import (
	"net/http"
	"sync"
	"time"
)

// allowance is how often each name may do something: so often in a second, and as much as comes to
// some seconds at once. Nil bounds nothing. It remembers mostAddresses names, and keeps them apart
// from what is known of credentials: a client with many addresses must not make a server forget
// those.
type allowance struct {
	every time.Duration
	// ahead is how far ahead of the clock a name may be.
	ahead time.Duration

	mu sync.Mutex
	// full is when a name has again all that it may do at once.
	full map[string]time.Time
}

// newAllowance makes one, nil for a rate of zero.
func newAllowance(perSecond, seconds float64) *allowance {
	if perSecond <= 0 {
		return nil
	}
	every := time.Duration(float64(time.Second) / perSecond)
	return &allowance{
		every: every, ahead: max(0, time.Duration(seconds*float64(time.Second))-every), full: map[string]time.Time{},
	}
}

// take counts one, or says how long to wait for it. A caller that is told to wait does not count.
func (a *allowance) take(name string, now time.Time) (wait time.Duration) {
	if a == nil {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	full, known := a.full[name]
	if full.Before(now) {
		full = now
	}
	if wait := full.Sub(now) - a.ahead; wait > 0 {
		return wait
	}
	if !known && len(a.full) >= mostAddresses {
		a.forget(now)
	}
	a.full[name] = full.Add(a.every)
	return 0
}

// forget makes room: of those that have all again, or else of any others.
func (a *allowance) forget(now time.Time) {
	for name, full := range a.full {
		if !full.After(now) {
			delete(a.full, name)
		}
	}
	for name := range a.full {
		if len(a.full) < mostAddresses*9/10 {
			return
		}
		delete(a.full, name)
	}
}

// knock refuses an address that asks too often, before anybody looks at what it asks.
func (g *Guard) knock(r *http.Request) error {
	if g.knocks == nil {
		return nil
	}
	wait := g.knocks.take(g.Address(r), g.options.Now())
	if wait <= 0 {
		return nil
	}
	return g.gate.refuse(RefusedAddress, &Problem{
		Code: "limit", Detail: "more was asked for than this server takes from one address", Wait: wait,
	})
}
