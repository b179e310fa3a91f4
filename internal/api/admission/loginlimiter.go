package admission

import (
	"context"
	"crypto/sha256"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// LoginLimits limits how often an address may show a credential that is not known. The zero value
// means the defaults.
type LoginLimits struct {
	// Burst is how many may fail at once, and Every how long it takes until one more may.
	Burst int
	Every time.Duration
	// Proxies are the networks of load balancers, which are believed when they say whom they stand for.
	Proxies []netip.Prefix
}

const (
	guessBurst = 20
	guessEvery = time.Second
	// mostAddresses is how many addresses are remembered.
	mostAddresses = 10_000
	// mostDoubted is how many lookups there are at a time for all addresses that have guessed too
	// often, and doubtWait how long one of them waits for its turn.
	mostDoubted = 4
	doubtWait   = time.Second
)

// LoginLimiter counts credentials that were not known, by the address they came from. It is a
// budget per address that fills again; a full one is forgotten. The same credential over and over
// is one guess: a page whose session has ended asks for many things before it notices.
type LoginLimiter struct {
	burst   int
	every   time.Duration
	proxies []netip.Prefix
	// doubted are the lookups under way for addresses that have guessed too often.
	doubted chan struct{}

	mu      sync.Mutex
	budgets map[string]budget
}

// budget is what is known of an address.
type budget struct {
	// full is when it will be full again.
	full time.Time
	// last is the hash of the last credential that was not known.
	last [sha256.Size]byte
}

// NewLoginLimiter makes one with nothing counted.
func NewLoginLimiter(g LoginLimits) *LoginLimiter {
	if g.Burst == 0 {
		g.Burst = guessBurst
	}
	if g.Every == 0 {
		g.Every = guessEvery
	}
	return &LoginLimiter{
		burst: g.Burst, every: g.Every, proxies: g.Proxies, doubted: make(chan struct{}, mostDoubted), budgets: map[string]budget{},
	}
}

// line lets a request of an address that has guessed too often wait for its turn: those behind the
// same address who guess nothing must get in, and those who guess must not keep the database busy.
func (g *LoginLimiter) line(ctx context.Context) (leave func(), ok bool) {
	turn, cancel := context.WithTimeout(ctx, doubtWait)
	defer cancel()
	select {
	case g.doubted <- struct{}{}:
		return func() { <-g.doubted }, true
	case <-turn.Done():
		return nil, false
	}
}

// Check complains about an address that has guessed too often.
func (g *LoginLimiter) Check(address string, now time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	b, known := g.budgets[address]
	if !known {
		return nil
	}
	wait := b.full.Sub(now) - time.Duration(g.burst-1)*g.every
	if wait <= 0 {
		return nil
	}
	return &Problem{Code: "limit", Detail: "too many credentials from this address were not valid", Wait: wait}
}

// Failed counts a credential that was not known.
func (g *LoginLimiter) Failed(address, credential string, now time.Time) {
	hash := sha256.Sum256([]byte(credential))
	g.mu.Lock()
	defer g.mu.Unlock()
	b, known := g.budgets[address]
	if known && b.last == hash {
		return
	}
	if !known && len(g.budgets) >= mostAddresses {
		g.forget(now)
	}
	if b.full.Before(now) {
		b.full = now
	}
	g.budgets[address] = budget{full: b.full.Add(g.every), last: hash}
}

// forget makes room: for those that are full, or else for any others.
func (g *LoginLimiter) forget(now time.Time) {
	for address, b := range g.budgets {
		if b.full.Before(now) {
			delete(g.budgets, address)
		}
	}
	for address := range g.budgets {
		if len(g.budgets) < mostAddresses*9/10 {
			return
		}
		delete(g.budgets, address)
	}
}

// address is where a request comes from, as guesses are counted. Of the newer kind of address a
// whole network is one, because who has one of it has them all.
func (g *LoginLimiter) address(r *http.Request) string {
	ip := g.origin(r)
	if !ip.IsValid() {
		return r.RemoteAddr
	}
	if ip.Is4() {
		return ip.String()
	}
	network, err := ip.WithZone("").Prefix(64)
	if err != nil {
		return ip.String()
	}
	return network.String()
}

// origin is where a request comes from: the last address on its way that is no proxy of ours. It is
// not valid where there are no addresses, such as on a socket.
func (g *LoginLimiter) origin(r *http.Request) netip.Addr {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	ip := from.Addr().Unmap()
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		before, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil || !slices.ContainsFunc(g.proxies, func(p netip.Prefix) bool { return p.Contains(ip) }) {
			break
		}
		ip = before.Unmap()
	}
	return ip
}
