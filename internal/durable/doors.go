package durable

import "sync"

// doors are those of the legs that run in this process, by whose they are. Mail for one of them need
// not wait for its next heartbeat: the workflow, if it runs here too, puts it through the door.
// It is a hint and no more. What is lost of it the leg learns from the engine, and what comes twice
// it takes in once.
type doors struct {
	mu   sync.Mutex
	open map[string]chan []Envelope
}

// doorDepth is how often mail may come before a leg has looked.
const doorDepth = 8

// enter opens a leg's door. It is shut by the function returned.
func (d *doors) enter(whose Whose) (mail <-chan []Envelope, leave func()) {
	key, door := deskKey(whose), make(chan []Envelope, doorDepth)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open == nil {
		d.open = map[string]chan []Envelope{}
	}
	d.open[key] = door
	return door, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.open[key] == door { // a later attempt may have come
			delete(d.open, key)
		}
	}
}

// slip puts mail through a door, if there is one.
func (d *doors) slip(whose Whose, mail []Envelope) {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case d.open[deskKey(whose)] <- mail:
	default:
	}
}
