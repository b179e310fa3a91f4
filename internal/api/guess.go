package api

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// Guesses limits how often an address may show a credential that is not known. The zero value means
// the defaults.
type Guesses struct {
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
)

// guesses counts credentials that were not known, by the address they came from. It is a bucket per
// address that fills again; a full one is forgotten.
type guesses struct {
	burst   int
	every   time.Duration
	proxies []netip.Prefix

	mu    sync.Mutex
	empty map[string]time.Time // when the bucket of an address will be full again
}

func newGuesses(g Guesses) *guesses {
	if g.Burst == 0 {
		g.Burst = guessBurst
	}
	if g.Every == 0 {
		g.Every = guessEvery
	}
	return &guesses{burst: g.Burst, every: g.Every, proxies: g.Proxies, empty: map[string]time.Time{}}
}

// check refuses an address that has guessed too often.
func (g *guesses) check(address string, now time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	full, known := g.empty[address]
	if !known {
		return nil
	}
	wait := full.Sub(now) - time.Duration(g.burst-1)*g.every
	if wait <= 0 {
		return nil
	}
	return &Problem{Code: "limit", Detail: "too many credentials from this address were not valid", Wait: wait}
}

// failed counts one more.
func (g *guesses) failed(address string, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, known := g.empty[address]; !known && len(g.empty) >= mostAddresses {
		g.forget(now)
	}
	full := g.empty[address]
	if full.Before(now) {
		full = now
	}
	g.empty[address] = full.Add(g.every)
}

// forget makes room: for those that are full, or else for whoever comes to hand.
func (g *guesses) forget(now time.Time) {
	for address, full := range g.empty {
		if full.Before(now) {
			delete(g.empty, address)
		}
	}
	for address := range g.empty {
		if len(g.empty) < mostAddresses {
			return
		}
		delete(g.empty, address)
	}
}

// address is where a request comes from: the last one on its way that is no proxy of ours. Of the
// newer kind of address a whole network is one, because who has one of it has them all.
func (g *guesses) address(r *http.Request) string {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
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
	if ip.Is4() {
		return ip.String()
	}
	network, err := ip.WithZone("").Prefix(64)
	if err != nil {
		return ip.String()
	}
	return network.String()
}
