package admission

import (
	"sync"
	"time"
)

const (
	// narrowest is how many commands are carried out at a time however long they take, narrower by how
	// much fewer are when they take too long, and narrowEvery how often at most.
	narrowest   = 4
	narrower    = 0.8
	narrowEvery = 200 * time.Millisecond
)

// concurrency is how many commands are carried out at a time. It grows by one while they are fast,
// once for each that there is room for, and shrinks by a part when they are slow: as much is taken
// on as what is behind the server can do, whatever that is today.
type concurrency struct {
	mu       sync.Mutex
	value    float64 // zero means the most
	narrowed time.Time
}

// now is the width.
func (w *concurrency) now(l Limits) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.value == 0 {
		return int64(l.Commands)
	}
	return int64(w.value)
}

// learn takes in how long a command took.
func (w *concurrency) learn(l Limits, now time.Time, took time.Duration) {
	if l.Commands <= 0 || l.Latency <= 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	most := float64(l.Commands)
	if w.value == 0 {
		w.value = most
	}
	switch {
	case took <= l.Latency:
		w.value = min(most, w.value+1/w.value)
	case now.Sub(w.narrowed) >= narrowEvery:
		w.value, w.narrowed = max(min(most, narrowest), w.value*narrower), now
	}
}
