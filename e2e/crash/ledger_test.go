//go:build services

package crash

import (
	"strings"
	"sync"
	"time"
)

// ledger is what clients were promised: jobs that were asked for and those whose call has returned.
type ledger struct {
	mu sync.Mutex
	// open are jobs that nobody has acknowledged, and done those that somebody has.
	open  map[string]job
	done  map[string]job
	acked map[string]chan struct{}
	// oks and errors are the times at which calls returned.
	oks, errors []time.Time
}

func newLedger() *ledger {
	return &ledger{open: map[string]job{}, done: map[string]job{}, acked: map[string]chan struct{}{}}
}

// ask enters a job and returns what is closed when it is acknowledged.
func (l *ledger) ask(j job) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[j.ID] = j
	l.acked[j.ID] = make(chan struct{})
	return l.acked[j.ID]
}

// heard takes in what a client says.
func (l *ledger) heard(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	what, rest, _ := strings.Cut(line, " ")
	id, _, _ := strings.Cut(rest, " ")
	switch what {
	case "error":
		l.errors = append(l.errors, time.Now())
	case "acked":
		l.oks = append(l.oks, time.Now())
		if j, ok := l.open[id]; ok {
			delete(l.open, id)
			l.done[id] = j
			close(l.acked[id])
		}
	}
}

// tail counts the calls that returned after a time.
func (l *ledger) tail(after time.Time) (oks, errors int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, at := range l.oks {
		if at.After(after) {
			oks++
		}
	}
	for _, at := range l.errors {
		if at.After(after) {
			errors++
		}
	}
	return oks, errors
}
