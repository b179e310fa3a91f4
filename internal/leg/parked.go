package leg

import (
	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/host"
)

// parked is the cache of a leg that has ended. The next leg of the same task uses it if it runs
// here and no other worker has continued the task. It holds what the journal holds up to the last
// step of its position.
type parked struct {
	position position
	todo     []agent.Effect
	base     int
	cache    cache
	bytes    int
}

// The caches that a carrier remembers: so many, with transcripts of so many bytes each and
// together.
const (
	rememberedCaches = 2048
	cacheBytes       = 256 << 10
	allCachesBytes   = 64 << 20
)

// resume takes the cache that the last leg of the task left, and reports whether it found one.
func (d *cache) resume(in Input) bool {
	h, key := d.leg.Carrier, cacheKey(in.RunRef)
	h.mu.Lock()
	defer h.mu.Unlock()
	old, ok := h.parked[key]
	h.forgetCache(key)
	// Nobody knows how far a carried sub-agent has come elsewhere. One that has nothing left to do
	// finds out with its next step, before it begins anything.
	if !ok || in.N == 0 || in.N > 0 && old.position.N != in.N || in.N < 0 && len(old.todo) > 0 {
		return false
	}
	d.leg.position, d.leg.todo, d.leg.base = old.position, old.todo, old.base
	d.messages, d.read, d.task = old.cache.messages, old.cache.read, old.cache.task
	return true
}

// park leaves the cache to the next leg of the task. All that was learnt is recorded by now.
func (d *cache) park() {
	l := d.leg
	if l.position.State.Phase == agent.Done {
		return
	}
	if d.read {
		d.join()
	}
	size := d.bytes()
	if size > cacheBytes {
		d.messages, d.read, size = nil, false, 0
	}
	key := cacheKey(l.in.RunRef)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgetCache(key)
	for other := range l.parked { // any will do: a forgotten cache is read again
		if len(l.parked) < rememberedCaches && l.cacheBytes+size <= allCachesBytes {
			break
		}
		l.forgetCache(other)
	}
	l.parked[key] = parked{position: l.position, todo: l.todo, base: l.base, cache: cache{messages: d.messages, read: d.read, task: d.task}, bytes: size}
	l.cacheBytes += size
}

// forgetCache takes a cache away; the host is locked.
func (c *Carrier) forgetCache(key string) {
	c.cacheBytes -= c.parked[key].bytes
	delete(c.parked, key)
}

// bytes is about how much the transcript takes.
func (d *cache) bytes() int {
	n := 0
	for _, m := range d.messages {
		for _, p := range m.Parts {
			n += len(p.Text) + len(p.Args) + 100
		}
	}
	return n
}

func cacheKey(w host.RunRef) string { return host.RunID(w.Ref, w.Agent) + "#" + w.Task }
