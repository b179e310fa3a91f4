package model

import (
	"errors"
	"sync"
	"time"
)

// patience is how many idle times a provider may keep a connection alive without any content.
const patience = 4

// settling is how long a finished reply waits for the frames after it: the usage, the last frame.
const settling = 2 * time.Second

// lingering is how long the end of a response is waited for after its last frame.
const lingering = 100 * time.Millisecond

var (
	errIdle   = errors.New("the provider sent nothing for too long")
	errBarren = errors.New("the provider kept the connection alive but sent no content")
)

// watchdog gives up on a provider that has fallen silent. Any byte is a sign of life, but only
// content resets its patience: a stream of pings must end as well.
type watchdog struct {
	idle time.Duration
	bite func(error)

	mu      sync.Mutex
	timer   *time.Timer
	content time.Time
	bitten  error
}

// watch starts a watchdog. It bites at most once.
func watch(idle time.Duration, bite func(error)) *watchdog {
	w := &watchdog{idle: idle, bite: bite, content: time.Now()}
	w.timer = time.AfterFunc(idle, w.wake)
	return w
}

// heard takes note of bytes.
func (w *watchdog) heard() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer.Reset(w.rest())
}

// fed takes note of content.
func (w *watchdog) fed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.content = time.Now()
	w.timer.Reset(w.rest())
}

// hold makes it wait until it hears or is fed again.
func (w *watchdog) hold() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer.Stop()
}

// calm makes it wait no longer than d from now on.
func (w *watchdog) calm(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idle = min(w.idle, d)
	w.content = time.Now()
	w.timer.Reset(w.rest())
}

// stop ends it; it returns why it has bitten, or nil.
func (w *watchdog) stop() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer.Stop()
	return w.bitten
}

func (w *watchdog) rest() time.Duration {
	return max(0, min(w.idle, patience*w.idle-time.Since(w.content)))
}

func (w *watchdog) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bitten != nil {
		return
	}
	w.bitten = errIdle
	if time.Since(w.content) >= patience*w.idle {
		w.bitten = errBarren
	}
	w.bite(w.bitten)
}
