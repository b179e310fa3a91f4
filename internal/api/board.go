package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/live"
)

const (
	// boardWait is how long changes are gathered before they are told, and boardRetry how long is waited
	// when they could not be read.
	boardWait, boardRetry = 200 * time.Millisecond, time.Second
	// boardPolls is how many polls go by before a list is looked at without a notice.
	boardPolls = 8
	// boardMost is how many things a board remembers for those who come back.
	boardMost = 5000
	// boardPage is how much of a list is looked at without a notice, and boardInbox how much of an inbox
	// is watched.
	boardPage, boardInbox = 100, 1000
)

// board watches the list and the inbox of one tenant for all its people who want to.
//
// It tells states, not what happened: who misses two changes of a conversation is told the second. Each
// thing's last state is kept under the number of its telling, so that who comes back is told what has
// another state by now. Numbers mean something on one board only, which its epoch names: who comes from
// another is sent to the lists themselves.
type board struct {
	hub    *hub
	tenant string
	stop   context.CancelFunc
	begun  chan struct{}

	// known, waiting and dirty belong to the goroutine that reads: how far conversations go, what waits,
	// and what has to be told.
	known   map[string]int64
	waiting map[string]journal.Waiting
	dirty   map[string]bool

	mu      sync.Mutex
	err     error
	epoch   string
	n       int64
	latest  map[string]piece
	readers readers
}

// arrival is one who has begun to watch a list.
type arrival struct {
	*reader
	// id is where the reader is now, and missed what has another state than when they left; known is
	// false when that cannot be told.
	id     string
	missed [][]byte
	known  bool
}

// joinBoard begins to watch a tenant's list.
func (h *hub) joinBoard(ctx context.Context, tenant, last string) (arrival, func(), error) {
	r := newReader(func(string) bool { return false })
	b := h.boardOf(tenant, r)
	leave := func() { h.leaveBoard(b, r) }
	select {
	case <-b.begun:
	case <-ctx.Done():
		leave()
		return arrival{}, nil, ctx.Err()
	}
	in, err := b.arrive(r, last)
	if err != nil {
		leave()
	}
	return in, leave, err
}

// boardOf adds a reader to the board of a tenant, which it makes if there is none.
func (h *hub) boardOf(tenant string, r *reader) *board {
	h.mu.Lock()
	defer h.mu.Unlock()
	b, ok := h.boards[tenant]
	if !ok {
		run, stop := context.WithCancel(context.Background())
		b = &board{
			hub: h, tenant: tenant, stop: stop, begun: make(chan struct{}), known: map[string]int64{},
			waiting: map[string]journal.Waiting{}, dirty: map[string]bool{}, epoch: rand.Text(), latest: map[string]piece{},
			readers: readers{},
		}
		h.boards[tenant] = b
		go b.begin(run)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.readers[r] = struct{}{}
	return b
}

// leaveBoard ends a reader, and its board when it was the last.
func (h *hub) leaveBoard(b *board, r *reader) {
	h.mu.Lock()
	defer h.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.readers, r)
	if len(b.readers) > 0 {
		return
	}
	if h.boards[b.tenant] == b {
		delete(h.boards, b.tenant)
	}
	b.stop()
}

// arrive finds out what a reader missed that was here before.
func (b *board) arrive(r *reader, last string) (arrival, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return arrival{}, b.err
	}
	r.from = b.n
	in := arrival{reader: r, id: b.id(b.n)}
	epoch, number, _ := strings.Cut(last, ".")
	n, err := strconv.ParseInt(number, 10, 64)
	if in.known = err == nil && epoch == b.epoch && n <= b.n; !in.known {
		return in, nil
	}
	pieces := slices.SortedFunc(maps.Values(b.latest), func(x, y piece) int { return cmp.Compare(x.seq, y.seq) })
	for _, p := range pieces {
		if p.seq > n {
			in.missed = append(in.missed, p.bytes)
		}
	}
	return in, nil
}

// id names a number on this board.
func (b *board) id(n int64) string { return b.epoch + "." + strconv.FormatInt(n, 10) }

// begin reads what the board compares with later.
func (b *board) begin(ctx context.Context) {
	notices, failed := b.hub.bus.Subscribe(ctx, live.Topic{Tenant: b.tenant})
	err := b.baseline(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	defer close(b.begun)
	if err == nil {
		go b.run(ctx, notices)
		return
	}
	b.err = err
	if failed == nil {
		notices.Close()
	}
}

// run watches until nobody does any more. The notices are nil if the bus refused.
func (b *board) run(ctx context.Context, notices *live.Reader) {
	poll := time.NewTicker(boardPolls * b.hub.poll)
	defer poll.Stop()
	for {
		b.follow(ctx, notices, poll.C)
		if notices != nil {
			notices.Close()
		}
		if ctx.Err() != nil {
			return
		}
		var err error
		if notices, err = b.hub.bus.Subscribe(ctx, live.Topic{Tenant: b.tenant}); err != nil {
			notices = nil
		}
		b.look(ctx)
	}
}

// follow watches until ctx or the notices end.
func (b *board) follow(ctx context.Context, notices *live.Reader, poll <-chan time.Time) {
	var come <-chan live.Notice
	var again, tell <-chan time.Time
	if notices != nil {
		come = notices.Notices()
	} else {
		again = time.After(subscribeTime)
	}
	if len(b.dirty) > 0 {
		tell = time.After(boardWait)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-again:
			return
		case <-poll:
			b.look(ctx)
		case <-tell:
			tell = nil
			if b.flush(ctx) != nil {
				tell = time.After(boardRetry)
			}
		case notice, ok := <-come:
			if !ok {
				return
			}
			switch n := notice.(type) {
			case live.Poke:
				b.dirty[n.Conversation] = true
			case live.Resync:
				b.look(ctx)
			case live.Delta: // they are not for lists
			}
		}
		if tell == nil && len(b.dirty) > 0 {
			tell = time.After(boardWait)
		}
	}
}

// tell hands out the new state of a thing.
func (b *board) tell(thing string, name EventType, data any) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.latest) >= boardMost {
		b.epoch, b.latest = rand.Text(), map[string]piece{}
	}
	bytes, err := sent(b.id(b.n+1), name, data)
	if err != nil {
		return err
	}
	b.n++
	p := piece{seq: b.n, bytes: bytes}
	b.latest[thing] = p
	b.readers.send(&frame{pieces: []piece{p}, size: len(bytes)})
	return nil
}
