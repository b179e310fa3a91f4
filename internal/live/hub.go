package live

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
)

// Hub fans notices out to the readers of this process. A bus is a hub and a way to reach it.
type Hub struct {
	options HubOptions
	cut     atomic.Int64

	mu      sync.RWMutex
	readers map[Topic][]*Reader
	closed  bool
}

// HubOptions are the settings of a Hub.
type HubOptions struct {
	// Buffer is how many notices wait for a reader; zero means DefaultBuffer.
	Buffer int
	// First is called before a topic gets its first reader and Last after it lost its last one,
	// strictly in turn, so that a bus can open and close what feeds the topic. They may be nil, and
	// must not call the hub.
	First func(Topic) error
	Last  func(Topic)
}

// NewHub makes a hub without readers.
func NewHub(options HubOptions) *Hub {
	if options.Buffer <= 0 {
		options.Buffer = DefaultBuffer
	}
	if options.First == nil {
		options.First = func(Topic) error { return nil }
	}
	if options.Last == nil {
		options.Last = func(Topic) {}
	}
	return &Hub{options: options, readers: map[Topic][]*Reader{}}
}

// Join adds a reader to a topic.
func (h *Hub) Join(topic Topic) (*Reader, error) {
	if err := topic.CheckReader(); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	if len(h.readers[topic]) == 0 {
		if err := h.options.First(topic); err != nil {
			return nil, err
		}
	}
	r := &Reader{hub: h, topic: topic, notices: make(chan Notice, h.options.Buffer)}
	h.readers[topic] = append(h.readers[topic], r)
	return r, nil
}

// Send hands a notice to the readers of a topic and cuts off those that have no room for it.
func (h *Hub) Send(topic Topic, n Notice) {
	h.mu.RLock()
	slow := offer(h.readers[topic], n)
	h.mu.RUnlock()
	h.drop(slow)
}

// Broadcast hands a notice to all readers.
func (h *Hub) Broadcast(n Notice) {
	h.mu.RLock()
	var slow []*Reader
	for _, readers := range h.readers {
		slow = append(slow, offer(readers, n)...)
	}
	h.mu.RUnlock()
	h.drop(slow)
}

// Cut counts the readers that were cut off.
func (h *Hub) Cut() int64 { return h.cut.Load() }

// Close ends all readers. A closed hub takes no new ones.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for topic, readers := range h.readers {
		for _, r := range readers {
			r.end(ErrClosed)
		}
		h.options.Last(topic)
	}
	clear(h.readers)
}

// offer tries all readers, and returns those that did not take the notice.
func offer(readers []*Reader, n Notice) (over []*Reader) {
	for _, r := range readers {
		if !r.offer(n) {
			over = append(over, r)
		}
	}
	return over
}

// drop removes readers that are over.
func (h *Hub) drop(over []*Reader) {
	for _, r := range over {
		h.remove(r)
	}
}

func (h *Hub) remove(r *Reader) {
	h.mu.Lock()
	defer h.mu.Unlock()
	readers := h.readers[r.topic]
	i := slices.Index(readers, r)
	if i < 0 {
		return
	}
	if errors.Is(r.Err(), ErrSlow) {
		h.cut.Add(1)
	}
	if len(readers) > 1 {
		h.readers[r.topic] = slices.Delete(readers, i, i+1)
		return
	}
	delete(h.readers, r.topic)
	h.options.Last(r.topic)
}
