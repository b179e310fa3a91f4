package postgres

import (
	"slices"
	"sync"

	"github.com/retinue-dev/retinue/internal/journal"
)

// memory remembers the conversations that a program writes to, so that it can plan an append
// without a read: the end of the list, the tasks, the open model calls. A plan made from memory is
// a guess. The database checks it (the function expect) in the same round trip. If somebody else
// has written meanwhile, or a key exists, nothing is written and the append reads first.
type memory struct {
	mu     sync.Mutex
	places map[journal.Ref]*recollection
}

// look is the last read of a conversation: its id, the end of its list, and the numbers of the keys
// that were looked up.
type look struct {
	birth string
	tail  journal.Tail
	known map[string]journal.Written
}

// recollection is the memory of one conversation.
type recollection struct {
	look
	// rest is how many appends look first, and doubt how many will after the next wrong guess.
	rest, doubt int
}

// The most that is remembered: conversations, keys of one, and appends of doubt.
const (
	maxPlaces = 4096
	maxKnown  = 4096
	maxDoubt  = 64
)

// guess is a plan made without a read, and further keys that must not exist for it to hold. A row's
// own key is checked when the row is written.
type guess struct {
	birth  string
	tail   journal.Tail
	plan   journal.Plan
	absent []string
}

// guess plans batches from memory. It cannot if it does not remember the rows that they follow.
func (m *memory) guess(ref journal.Ref, batches []*journal.Batch) (guess, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.places[ref]
	if !ok {
		return guess{}, false
	}
	if r.rest > 0 {
		r.rest--
		return guess{}, false
	}
	g := guess{birth: r.birth, tail: r.tail}
	known := map[string]journal.Written{}
	for _, key := range journal.LookUp(batches) {
		if w, ok := r.known[key]; ok {
			known[key] = w
		} else if !writes(batches, key) {
			g.absent = append(g.absent, key)
		}
	}
	plan, err := journal.NewPlan(r.tail, known, batches)
	if err != nil || !journal.Settles(batches, known) {
		return guess{}, false
	}
	g.plan = plan
	return g, true
}

// writes reports whether a row of the batches has a key.
func writes(batches []*journal.Batch, key string) bool {
	return slices.ContainsFunc(batches, func(b *journal.Batch) bool {
		return slices.ContainsFunc(b.Encoded, func(e journal.Encoded) bool { return e.Key == key })
	})
}

// learn remembers the state after a commit. Found is the state that was read before it, nil for a
// guess.
func (m *memory) learn(ref journal.Ref, plan journal.Plan, found *look) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.places[ref]
	switch {
	case found == nil && !ok:
		return // Others crowded it out meanwhile.
	case found == nil:
		r.doubt = 0
	case !ok || r.birth != found.birth || len(r.known) > maxKnown:
		if m.places == nil || len(m.places) >= maxPlaces {
			m.places = map[journal.Ref]*recollection{}
		}
		r = &recollection{look: look{birth: found.birth, known: map[string]journal.Written{}}}
		m.places[ref] = r
	}
	r.tail = plan.Tail
	if found != nil {
		for key, w := range found.known {
			if journal.Lasting(key) {
				r.known[key] = w
			}
		}
	}
	for _, n := range plan.Insert {
		if journal.Lasting(n.Key) {
			r.known[n.Key] = journal.Written{Seq: n.Seq, Existed: true}
		}
		if done, ok := n.Row.(journal.ModelReplied); ok {
			delete(r.known, journal.ModelCalled{In: done.In, Call: done.Call}.Key())
		}
	}
}

// doubt remembers that a guess was wrong: the next appends look first, more of them each time.
func (m *memory) doubt(ref journal.Ref) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, ok := m.places[ref]; ok {
		r.doubt = min(max(1, 2*r.doubt), maxDoubt)
		r.rest = r.doubt
	}
}

// forget drops the memory when it is unknown whether rows were written.
func (m *memory) forget(ref journal.Ref) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.places, ref)
}
