package leg

import (
	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/host"
)

// cleared is the desk of a leg that has ended, as the next leg of the same task finds it if it runs
// here and nobody else has carried the task on: what was on it is what the journal holds up to the
// course's last step.
type cleared struct {
	course course
	todo   []agent.Effect
	base   int
	desk   desk
	bytes  int
}

// What a host remembers of desks: so many, with transcripts of so many bytes each and together.
const (
	rememberedDesks = 2048
	deskBytes       = 256 << 10
	allDesksBytes   = 64 << 20
)

// resume takes up the desk that the last leg of the task left, and reports whether it was there.
func (d *desk) resume(in Input) bool {
	h, key := d.leg.Carrier, deskKey(in.Whose)
	h.mu.Lock()
	defer h.mu.Unlock()
	old, ok := h.desks[key]
	h.forgetDesk(key)
	// Nobody knows how far a carried sub-agent has come elsewhere. One that has nothing left to do finds out with its next step, before
	// it begins anything.
	if !ok || in.N == 0 || in.N > 0 && old.course.N != in.N || in.N < 0 && len(old.todo) > 0 {
		return false
	}
	d.leg.course, d.leg.todo, d.leg.base = old.course, old.todo, old.base
	d.messages, d.read, d.task = old.desk.messages, old.desk.read, old.desk.task
	return true
}

// clear leaves the desk to the next leg of the task. All that was learnt is recorded by now.
func (d *desk) clear() {
	l := d.leg
	if l.course.State.Phase == agent.Done {
		return
	}
	if d.read {
		d.join()
	}
	size := d.bytes()
	if size > deskBytes {
		d.messages, d.read, size = nil, false, 0
	}
	key := deskKey(l.in.Whose)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgetDesk(key)
	for other := range l.desks { // any will do: what is forgotten is read again
		if len(l.desks) < rememberedDesks && l.deskBytes+size <= allDesksBytes {
			break
		}
		l.forgetDesk(other)
	}
	l.desks[key] = cleared{course: l.course, todo: l.todo, base: l.base, desk: desk{messages: d.messages, read: d.read, task: d.task}, bytes: size}
	l.deskBytes += size
}

// forgetDesk takes a desk away; the host is locked.
func (c *Carrier) forgetDesk(key string) {
	c.deskBytes -= c.desks[key].bytes
	delete(c.desks, key)
}

// bytes is about how much the transcript takes.
func (d *desk) bytes() int {
	n := 0
	for _, m := range d.messages {
		for _, p := range m.Parts {
			n += len(p.Text) + len(p.Args) + 100
		}
	}
	return n
}

func deskKey(w host.Whose) string { return host.RunID(w.Place, w.Agent) + "#" + w.Task }
