package live

import (
	"context"
	"sync/atomic"
)

// Local is the bus of a single process. A publisher hands its notices to the readers itself, so no
// queue can lose them and only the readers need closing.
type Local struct {
	hub           *Hub
	sent, refused atomic.Int64
}

// NewLocal makes a bus whose readers have a buffer of this many notices; zero means DefaultBuffer.
func NewLocal(buffer int) *Local {
	return &Local{hub: NewHub(HubOptions{Buffer: buffer})}
}

// Publish implements Bus.
func (l *Local) Publish(d Delta) {
	if d.Check() != nil {
		l.refused.Add(1)
		return
	}
	l.sent.Add(1)
	l.hub.Send(d.Topic, d)
}

// Announce implements Bus.
func (l *Local) Announce(p Appended) {
	if p.Check() != nil {
		l.refused.Add(1)
		return
	}
	l.sent.Add(1)
	l.hub.Send(p.Topic, p)
	l.hub.Send(p.Whole(), p)
}

// Subscribe implements Bus.
func (l *Local) Subscribe(_ context.Context, topic Topic) (*Reader, error) {
	return l.hub.Join(topic)
}

// Counts implements Bus.
func (l *Local) Counts() Counts {
	return Counts{Sent: l.sent.Load(), Refused: l.refused.Load(), Cut: l.hub.Cut()}
}

// Close implements Bus.
func (l *Local) Close() { l.hub.Close() }
