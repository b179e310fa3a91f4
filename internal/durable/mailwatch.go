package durable

import (
	"context"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/leg"
)

const (
	// watchEvery is how often a worker with legs looks for mail that has just come, and watchAge how
	// old such mail may be: the clocks of the machines that post it differ.
	watchEvery, watchAge = 250 * time.Millisecond, 30 * time.Second
	// watchMost is how many posts it looks at.
	watchMost = 500
)

// mailWatch makes the legs of this process look at mail that came through another process. A
// workflow notifies a leg in its own process, and asks the engine to tell other legs. The engine
// tells those with their next heartbeat, which may be much later.
type mailWatch struct {
	log journal.Lists
	now func() time.Time
	// tell has a leg of an agent look, and reports whether there is one here.
	tell func(journal.Ref, string) bool
	// told are the posts that a leg was told of, and when they came.
	told map[postKey]time.Time
}

func newMailWatch(log journal.Lists, carrier *leg.Carrier) *mailWatch {
	return &mailWatch{log: log, now: carrier.Now, tell: carrier.Notify, told: map[postKey]time.Time{}}
}

// look tells legs of mail that has come since the last look. It reads again from a journal that
// cannot be read; a leg reads its mail by itself when it begins.
func (w *mailWatch) look(ctx context.Context) {
	since := w.now().Add(-watchAge)
	posts, err := w.log.Arrived(ctx, since, watchMost)
	if err != nil {
		return
	}
	for key, at := range w.told {
		if at.Before(since) {
			delete(w.told, key)
		}
	}
	for _, p := range posts {
		if _, done := w.told[keyOf(p)]; !done && w.deliver(p) {
			w.told[keyOf(p)] = p.At
		}
	}
}

// deliver tells the leg of the agent that a post is for, or of the nearest one above it that has
// one here.
func (w *mailWatch) deliver(p journal.Post) bool {
	for to := p.To; to != ""; to = string(chat.AgentPath(to).Parent()) {
		if w.tell(p.Ref, to) {
			return true
		}
	}
	return false
}
