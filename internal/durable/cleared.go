package durable

import "github.com/retinue-dev/retinue/internal/agent"

// cleared is the desk of a leg that has ended, as the next leg of the same task finds it if it runs
// here and nobody else has carried the task on: what was on it is what the journal holds up to n.
type cleared struct {
	n    int
	desk desk
}

// What a host remembers of desks: so many, each with a transcript of so many bytes.
const (
	rememberedDesks = 256
	deskBytes       = 256 << 10
)

// resume takes up the desk that the last leg of the task left.
func (d *desk) resume(in LegInput) {
	h, key := d.leg.Host, deskKey(in.Whose)
	h.mu.Lock()
	defer h.mu.Unlock()
	old, ok := h.desks[key]
	delete(h.desks, key)
	if ok && old.n == in.N-len(in.Tail) {
		d.messages, d.read, d.task = old.desk.messages, old.desk.read, old.desk.task
	}
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
	if d.bytes() > deskBytes {
		d.messages, d.read = nil, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.desks) >= rememberedDesks {
		l.desks = map[string]cleared{}
	}
	l.desks[deskKey(l.in.Whose)] = cleared{n: l.course.N, desk: desk{messages: d.messages, read: d.read, task: d.task}}
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

func deskKey(w Whose) string { return WorkflowID(w.Place, w.Agent) + "#" + w.Task }
