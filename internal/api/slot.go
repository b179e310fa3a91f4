package api

import (
	"net/http"
	"sync"
	"time"
)

// uploadWait is how long to wait when too many uploads are under way.
const uploadWait = 10 * time.Second

// slot is one that something takes as long as it lasts.
type slot struct {
	name string
	// most is how many of the name there are; zero is no bound.
	most int
}

// streamSlot takes a place for a stream, of the server, the person, the tenant and the address.
func (g *gate) streamSlot(c Caller, address string) (func(), error) {
	return g.hold(RefusedStreams, Problem{Detail: "too many streams are open", Wait: streamWait, Next: "close one, then try again"},
		slot{"", g.limits.Streams},
		slot{"person/" + c.Tenant + "/" + c.User, g.limits.PersonStreams},
		slot{"tenant/" + c.Tenant, g.limits.TenantStreams},
		slot{"address/" + address, g.limits.AddressStreams})
}

// searchSlot takes a place for a search, of the tenant. While other tenants are there, its searches together may take an eighth
// of the time: a search is work of the database, and who searches without end would take all of it.
func (g *gate) searchSlot(c Caller) (func(), error) {
	began := g.now()
	if g.limits.TenantSearches > 0 && g.beside(c.Tenant, began) {
		if wait := g.others.rest(c.Tenant, began); wait > 0 {
			return nil, g.refuse(RefusedSearch, &Problem{Code: "limit", Detail: "the searches of your tenant took long", Wait: wait})
		}
	}
	leave, err := g.hold(RefusedSearch, Problem{Detail: "too many searches of your tenant are under way", Wait: fullWait},
		slot{"search", 0}, slot{"search/tenant/" + c.Tenant, g.limits.TenantSearches})
	if err != nil {
		return nil, err
	}
	return func() {
		leave()
		now := g.now()
		g.others.searched(c.Tenant, now, now.Sub(began))
	}, nil
}

// uploadSlot takes a place for an upload, of the server and the tenant. It is none of the places of
// commands: whoever sends slowly would keep others from theirs.
func (g *gate) uploadSlot(c Caller) (func(), error) {
	return g.hold(RefusedUploads, Problem{Detail: "too many uploads are under way", Wait: uploadWait},
		slot{"upload", g.limits.Uploads}, slot{"upload/tenant/" + c.Tenant, g.limits.TenantUploads})
}

// hold takes all places or none. The first is the server's own: who finds it taken did nothing wrong.
func (g *gate) hold(why Refusal, full Problem, places ...slot) (leave func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, p := range places {
		if p.most <= 0 || g.held[p.name] < p.most {
			continue
		}
		full.Code = "limit"
		if i == 0 {
			full.Code, full.Status, full.Next = "unavailable", http.StatusServiceUnavailable, ""
		}
		return nil, g.refuse(why, &full)
	}
	for _, p := range places {
		g.held[p.name]++
	}
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		for _, p := range places {
			if g.held[p.name]--; g.held[p.name] == 0 {
				delete(g.held, p.name)
			}
		}
	}), nil
}

// open is how many streams there are.
func (g *gate) open() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held[""]
}
