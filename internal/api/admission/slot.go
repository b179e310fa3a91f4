package admission

import (
	"net/http"
	"sync"
	"time"
)

// uploadWait is how long to wait when too many uploads are under way.
const uploadWait = 10 * time.Second

// slot is what a stream, a search or an upload takes and holds until it ends.
type slot struct {
	name string
	// most is how many slots of this name there are; zero means no limit.
	most int
}

// streamSlot takes a slot for a stream: of the server, the person, the tenant and the address.
func (g *gate) streamSlot(c Caller, address string) (func(), error) {
	return g.hold(RefusedStreams, Problem{Detail: "too many streams are open", Wait: streamWait, Next: "close one, then try again"},
		slot{"", g.limits.Streams},
		slot{"person/" + c.Tenant + "/" + c.User, g.limits.PersonStreams},
		slot{"tenant/" + c.Tenant, g.limits.TenantStreams},
		slot{"address/" + address, g.limits.AddressStreams})
}

// searchSlot takes a slot of the tenant for a search. While other tenants send requests, its
// searches may together take an eighth of the time: the database does the searching, and one tenant
// could take all of it.
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

// uploadSlot takes a slot of the server and the tenant for an upload. Commands have slots of their
// own: a slow sender would keep them waiting.
func (g *gate) uploadSlot(c Caller) (func(), error) {
	return g.hold(RefusedUploads, Problem{Detail: "too many uploads are under way", Wait: uploadWait},
		slot{"upload", g.limits.Uploads}, slot{"upload/tenant/" + c.Tenant, g.limits.TenantUploads})
}

// hold takes all slots or none. The first is the server's own: a caller that finds it taken did
// nothing wrong.
func (g *gate) hold(why Refusal, full Problem, slots ...slot) (leave func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, p := range slots {
		if p.most <= 0 || g.held[p.name] < p.most {
			continue
		}
		full.Code = "limit"
		if i == 0 {
			full.Code, full.Status, full.Next = "unavailable", http.StatusServiceUnavailable, ""
		}
		return nil, g.refuse(why, &full)
	}
	for _, p := range slots {
		g.held[p.name]++
	}
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		for _, p := range slots {
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
