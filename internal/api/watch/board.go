package watch

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

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/wire"
)

const (
	// boardWait is how long the server gathers changes before it sends them, and boardRetry the wait
	// after a read that failed.
	boardWait, boardRetry = 200 * time.Millisecond, time.Second
	// boardPolls is how many polls go by before the server reads a list without a notice.
	boardPolls = 8
	// boardMost is how many things a board remembers for those who come back, and boardBytes how much.
	boardMost, boardBytes = 5000, 4 << 20
	// boardPage is how much of a list the server reads at a time without a notice, boardPages how many
	// such pages, and boardInbox how much of an inbox it watches.
	boardPage, boardPages, boardInbox = 100, 10, 1000
	// boardTold is how much the server sends at a time. A client that has more to hear reads the lists,
	// which is faster.
	boardTold = readerBytes / 2
)

// board watches the list and the inbox of one tenant for all its people who want to.
//
// It tells states, not what happened: who misses two changes of a conversation is told the second.
// Each thing's last state is kept under the number of its telling, so that who comes back is told
// what has another state by now. Numbers mean something on one board only, which its epoch names:
// who comes from another is sent to the lists themselves.
type board struct {
	hub    *Hub
	tenant string
	stop   context.CancelFunc
	begun  chan struct{}

	// known, private, waiting and dirty belong to the goroutine that reads: how far conversations go,
	// whom the private ones are for, what waits, and what has to be told.
	known   map[string]int64
	private map[string]string
	waiting map[string]journal.Waiting
	dirty   map[string]bool

	mu      sync.Mutex
	err     error
	epoch   string
	n       int64
	latest  map[string]piece
	held    int // bytes of latest
	told    []*frame
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

// joinBoard begins to watch a tenant's list, for one of its people.
func (h *Hub) joinBoard(ctx context.Context, caller admission.Caller, last string) (arrival, func(), error) {
	r := newReader(func(string) bool { return false })
	r.viewer = caller.User
	b := h.boardOf(caller.Tenant, r)
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
func (h *Hub) boardOf(tenant string, r *reader) *board {
	h.mu.Lock()
	defer h.mu.Unlock()
	b, ok := h.boards[tenant]
	if !ok {
		run, stop := context.WithCancel(journal.ForReading(context.Background()))
		b = &board{
			hub: h, tenant: tenant, stop: stop, begun: make(chan struct{}), known: map[string]int64{}, private: map[string]string{},
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
func (h *Hub) leaveBoard(b *board, r *reader) {
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
		if p.seq > n && p.isFor(r.viewer) {
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

// run watches until nobody does any more.
func (b *board) run(ctx context.Context, notices *live.Reader) {
	poll := time.NewTicker(boardPolls * b.hub.poll)
	defer poll.Stop()
	follow := func(ctx context.Context, notices *live.Reader) { b.follow(ctx, notices, poll.C) }
	b.hub.keep(ctx, live.Topic{Tenant: b.tenant}, notices, follow, b.look)
}

// follow watches until ctx or the notices end.
func (b *board) follow(ctx context.Context, notices *live.Reader, poll <-chan time.Time) {
	come, again := coming(notices)
	var tell <-chan time.Time
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
			if err := b.flush(ctx); err != nil {
				b.waits(ctx, err)
				tell = time.After(boardRetry)
			}
		case notice, ok := <-come:
			if !ok {
				return
			}
			switch n := notice.(type) {
			case live.Appended:
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

// tell notes the new state of a thing, which publish hands out to one person or, if it names none,
// to everybody.
func (b *board) tell(thing, only string, name wire.EventType, data any) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.latest) >= boardMost || b.held > boardBytes {
		b.turn()
	}
	bytes, err := sent(b.id(b.n+1), name, data)
	if err != nil {
		return err
	}
	b.n++
	p := piece{seq: b.n, bytes: bytes, only: only}
	b.held += len(bytes) - len(b.latest[thing].bytes)
	b.latest[thing] = p
	b.told = pack(b.told, p)
	return nil
}

// turn begins an epoch: who comes back from another is sent to the lists. The caller holds the
// lock.
func (b *board) turn() { b.epoch, b.latest, b.held = rand.Text(), map[string]piece{}, 0 }

// publish hands out what was told, in few frames so that nobody counts as slow who is not, or sends
// everyone to the lists when it is much.
func (b *board) publish() {
	b.mu.Lock()
	defer b.mu.Unlock()
	frames, size := b.told, 0
	b.told = nil
	for _, f := range frames {
		size += f.size
	}
	if len(frames) > 1 && size > boardTold {
		b.resync()
		return
	}
	for _, f := range frames {
		b.readers.send(f)
	}
}

// resync sends everyone to the lists. The caller holds the lock.
func (b *board) resync() {
	b.turn()
	b.told = nil
	bytes, err := sent(b.id(b.n), wire.Resynced, wire.Resync{Type: wire.Resynced, Seq: b.n})
	if err != nil {
		b.readers.end(cutSlow) // who comes back is sent to the lists
		return
	}
	b.readers.send(&frame{pieces: []piece{{bytes: bytes}}, size: len(bytes)})
}
