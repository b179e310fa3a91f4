package leg

import (
	"sync"

	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
)

// doors are those of the legs that run in this process, by agent. Who has mail for one of them rings, and need not ask the engine
// to have the agent look.
type doors struct {
	mu   sync.Mutex
	open map[string]*door
}

// door is that of one leg.
type door struct {
	bell chan struct{}
	// rouse is called when somebody rings.
	rouse func()
}

// enter opens a leg's door. It is shut by the function returned. Whoever has rung before that can rely on the leg to look at its
// mail once more after it.
func (d *doors) enter(place journal.Place, agent string, rouse func()) (bell <-chan struct{}, leave func()) {
	key, own := host.RunID(place, agent), &door{bell: make(chan struct{}, 1), rouse: rouse}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open == nil {
		d.open = map[string]*door{}
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

// Ring has a leg that runs in this process look at the mail of an agent, and reports whether there is one.
func (c *Carrier) Ring(place journal.Place, agent string) bool { return c.doors.ring(place, agent) }

// ring has a leg of an agent look at its mail, and reports whether there is one.
func (d *doors) ring(place journal.Place, agent string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	door, ok := d.open[host.RunID(place, agent)]
	if !ok {
		return false
	}
	door.rouse()
	select {
	case door.bell <- struct{}{}:
	default: // it has been rung already
	}
	return true
}
