package leg

import (
	"sync"

	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
)

// listeners are how the legs of this process hear of mail, by agent. The leg that posts mail for
// one of them notifies it, and does not have to ask the engine.
type listeners struct {
	mu   sync.Mutex
	open map[string]*listener
}

// listener is the one of one leg.
type listener struct {
	bell chan struct{}
	// rouse is called with each notification.
	rouse func()
}

// register has a leg listen until the returned function is called. If it was notified before that,
// the leg looks at its mail once more afterwards.
func (d *listeners) register(ref journal.Ref, agent string, rouse func()) (bell <-chan struct{}, leave func()) {
	key, own := host.RunID(ref, agent), &listener{bell: make(chan struct{}, 1), rouse: rouse}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open == nil {
		d.open = map[string]*listener{}
	}
	d.open[key] = own
	return own.bell, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.open[key] == own { // a later attempt may have come
			delete(d.open, key)
		}
	}
}

// Notify tells a leg in this process to look at an agent's mail, and reports whether it found one.
func (c *Carrier) Notify(ref journal.Ref, agent string) bool { return c.listeners.notify(ref, agent) }

// notify tells an agent's leg to look at its mail, and reports whether it found one.
func (d *listeners) notify(ref journal.Ref, agent string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	listener, ok := d.open[host.RunID(ref, agent)]
	if !ok {
		return false
	}
	listener.rouse()
	select {
	case listener.bell <- struct{}{}:
	default: // it was notified already
	}
	return true
}
