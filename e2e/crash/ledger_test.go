//go:build services

package crash

import (
	"strconv"
	"strings"
	"sync"
	"time"
)

// ledger holds the promises to clients: jobs that were requested and those whose call has returned.
type ledger struct {
	mu sync.Mutex
	// open are unacknowledged jobs, and done acknowledged ones.
	open  map[string]job
	done  map[string]job
	acked map[string]chan struct{}
	// made is what a job made, by the server's name for it, and order the jobs as they were done.
	made  map[string]string
	order []string
	// asked is how many jobs were done when one was asked for: those are the ones it comes after.
	asked map[string]int
	// wrong is what should not have been answered.
	wrong []string
	// ambiguous counts the requests that were sent and not answered.
	ambiguous int
	// checked counts the answers that callers checked against the document.
	checked int
	// oks and errors are the times at which calls returned.
	oks, errors []time.Time
}

func newLedger() *ledger {
	return &ledger{
		open: map[string]job{}, done: map[string]job{}, acked: map[string]chan struct{}{},
		made: map[string]string{}, asked: map[string]int{},
	}
}

// ask enters a job and returns a channel that is closed when it is acknowledged.
func (l *ledger) ask(j job) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[j.ID] = j
	l.asked[j.ID] = len(l.order)
	l.acked[j.ID] = make(chan struct{})
	return l.acked[j.ID]
}

// heard handles a client's message.
func (l *ledger) heard(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	what, rest, _ := strings.Cut(line, " ")
	id, rest, _ := strings.Cut(rest, " ")
	switch what {
	case "ambiguous": // nearly all of them are the proxies' doing
		l.ambiguous++
	case "checked":
		n, _ := strconv.Atoi(id)
		l.checked += n
	case "error":
		l.errors = append(l.errors, time.Now())
	case "wrong":
		l.wrong = append(l.wrong, line)
	case "acked":
		l.oks = append(l.oks, time.Now())
		if j, ok := l.open[id]; ok {
			delete(l.open, id)
			l.done[id], l.made[id] = j, rest
			l.order = append(l.order, id)
			close(l.acked[id])
		} else if l.made[id] != rest {
			l.wrong = append(l.wrong, "job "+id+" made "+l.made[id]+", and then "+rest)
		}
	}
}

// complain enters what should not be.
func (l *ledger) complain(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrong = append(l.wrong, what)
}

// makes is what a job made.
func (l *ledger) makes(id string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.made[id]
}

// answers counts the questions of a conversation that were answered.
func (l *ledger) answers(conv string) (n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, j := range l.done {
		if j.Conv == conv && j.Do == "answer" {
			n++
		}
	}
	return n
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
