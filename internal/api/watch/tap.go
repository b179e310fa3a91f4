package watch

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/wire"
)

const (
	// tapPage is how many entries are read at a time.
	tapPage = 200
	// readTime is how long one read of the journal may take.
	readTime = 10 * time.Second
	// subscribeTime is the wait before the server asks a bus again that refused.
	subscribeTime = time.Second
)

// watched is what a hub reads. Lists has the ends of all that is watched in one answer.
type watched interface {
	journal.Reader
	journal.Lists
}

// Options are what watching takes.
type Options struct {
	Log watched
	Bus live.Bus
	// Poll is how often a watched conversation is looked at without being told to; zero means often
	// enough where the bus brings notices.
	Poll   time.Duration
	Logger *slog.Logger
	// Closing is closed when all streams end.
	Closing <-chan struct{}
}

// defaultPoll is how often a watched conversation is looked at although no notice came.
const defaultPoll = 2 * time.Second

// Hub reads each conversation that somebody watches once, however many watch it.
//
// A tap is woken by a notice of the bus, or by the one look that the hub takes at all of them every
// poll: whatever a notice was lost for is found then, at the price of one statement for each
// tenant.
type Hub struct {
	log     watched
	bus     live.Bus
	poll    time.Duration
	logger  *slog.Logger
	closing <-chan struct{}
	// soon asks for a look before its time.
	soon chan struct{}

	cuts, resyncs atomic.Int64

	mu     sync.Mutex
	taps   map[journal.Ref]*tap
	boards map[string]*board

	looking bool
}

// New makes a hub that watches nothing yet.
func New(o Options) *Hub {
	if o.Poll == 0 {
		o.Poll = defaultPoll
	}
	return &Hub{
		log: o.Log, bus: o.Bus, poll: o.Poll, logger: o.Logger, closing: o.Closing, soon: make(chan struct{}, 1), taps: map[journal.Ref]*tap{},
		boards: map[string]*board{},
	}
}

// Routes adds the streams.
func (h *Hub) Routes(t *route.Table) {
	h.streamRoutes(t)
	h.historyRoutes(t)
	h.listStreamRoutes(t)
}

// Taps is how many conversations are watched.
func (h *Hub) Taps() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.taps)
}

// Cut is how many streams ended because their reader was slow.
func (h *Hub) Cut() int64 { return h.cuts.Load() }

// Resyncs is how many readers were too far behind.
func (h *Hub) Resyncs() int64 { return h.resyncs.Load() }

// tap reads one conversation for all who watch it.
type tap struct {
	hub   *Hub
	ref   journal.Ref
	stop  context.CancelFunc
	woken chan struct{}
	// begun is closed when it is known how far the conversation goes, or why not.
	begun chan struct{}

	mu      sync.Mutex
	err     error
	started bool
	seq     int64 // all up to here has been handed out
	readers readers
}

// join begins to watch a conversation: what comes after the reader's from comes through the reader,
// and what came before is the caller's to read. No lock is held while the journal is asked.
func (h *Hub) join(ctx context.Context, ref journal.Ref, deltas func(string) bool) (*reader, func(), error) {
	r := newReader(deltas)
	t := h.tapOf(ref, r)
	leave := func() { h.leave(t, r) }
	select {
	case <-t.begun:
	case <-ctx.Done():
		leave()
		return nil, nil, ctx.Err()
	}
	t.mu.Lock()
	err := t.err
	t.mu.Unlock()
	if err != nil {
		leave()
		return nil, nil, err
	}
	return r, leave, nil
}

// tapOf adds a reader to the tap of a conversation, which it makes if there is none.
func (h *Hub) tapOf(ref journal.Ref, r *reader) *tap {
	h.mu.Lock()
	defer h.mu.Unlock()
	t, ok := h.taps[ref]
	if !ok {
		run, stop := context.WithCancel(journal.ForReading(context.Background()))
		t = &tap{
			hub: h, ref: ref, stop: stop, woken: make(chan struct{}, 1), begun: make(chan struct{}), readers: readers{},
		}
		h.taps[ref] = t
		if !h.looking {
			h.looking = true
			go h.watch()
		}
		go t.begin(run)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	r.from = t.seq // begin sets it for those who come before
	t.readers[r] = struct{}{}
	return t
}

// leave ends a reader, and its tap when it was the last.
func (h *Hub) leave(t *tap, r *reader) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.readers, r)
	if len(t.readers) == 0 {
		h.forget(t)
	}
}

// end cuts all readers of a tap off. A reader that comes later gets another tap.
func (h *Hub) end(t *tap, why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.readers.end(why)
	h.forget(t)
}

// forget stops a tap. The caller holds the locks.
func (h *Hub) forget(t *tap) {
	if h.taps[t.ref] == t {
		delete(h.taps, t.ref)
	}
	t.stop()
}

// begin subscribes and finds out how far the conversation goes, in this order so that nothing is
// missed in between. A goroutine of its own reads on, because it lasts and its stack is small.
func (t *tap) begin(ctx context.Context) {
	notices, failed := t.hub.bus.Subscribe(ctx, live.Topic(t.ref))
	seq, err := t.tail(ctx)
	h := t.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	defer close(t.begun)
	if err != nil {
		if failed == nil {
			notices.Close()
		}
		t.err = err
		h.forget(t)
		return
	}
	t.started, t.seq = true, seq
	for r := range t.readers {
		r.from = seq
	}
	go t.run(ctx, notices)
}

// tail is how far the conversation goes.
func (t *tap) tail(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	tails, err := t.hub.log.Tails(ctx, t.ref.Tenant, t.ref.Conversation)
	tail, ok := tails[t.ref.Conversation]
	if err == nil && !ok {
		err = journal.NotFound()
	}
	return tail.Seq, err
}

// run reads until nobody watches any more.
func (t *tap) run(ctx context.Context, notices *live.Reader) {
	t.hub.keep(ctx, live.Topic(t.ref), notices, t.follow, func(ctx context.Context) { t.catchUp(ctx, 0) })
}

// keep follows a topic until ctx ends: when its notices do, it subscribes again and looks at what
// was missed meanwhile. The notices are nil if the bus refused.
func (h *Hub) keep(
	ctx context.Context, topic live.Topic, notices *live.Reader, follow func(context.Context, *live.Reader), look func(context.Context),
) {
	for {
		follow(ctx, notices)
		if notices != nil {
			notices.Close()
		}
		if ctx.Err() != nil {
			return
		}
		var err error
		if notices, err = h.bus.Subscribe(ctx, topic); err != nil {
			notices = nil
		}
		look(ctx)
	}
}

// coming is where notices come, and where there are none, when to ask the bus again.
func coming(notices *live.Reader) (come <-chan live.Notice, again <-chan time.Time) {
	if notices == nil {
		return nil, time.After(subscribeTime)
	}
	return notices.Notices(), nil
}

// at is how far the tap is, once it has begun.
func (t *tap) at() (int64, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seq, t.started
}

// wake lets the conversation be read.
func (t *tap) wake() {
	select {
	case t.woken <- struct{}{}:
	default: // it is about to look
	}
}

// follow reads until ctx or the notices end.
func (t *tap) follow(ctx context.Context, notices *live.Reader) {
	come, again := coming(notices)
	for {
		select {
		case <-ctx.Done():
			return
		case <-again:
			return
		case <-t.woken:
			t.catchUp(ctx, 0)
		case notice, ok := <-come:
			if !ok {
				return
			}
			t.notice(ctx, notice)
		}
	}
}

func (t *tap) notice(ctx context.Context, notice live.Notice) {
	switch n := notice.(type) {
	case live.Appended:
		if n.Seq == 0 || n.Seq > t.seq { // only this goroutine moves it
			t.catchUp(ctx, n.Seq)
		}
	case live.Resync:
		t.hub.lookSoon()
	case live.Delta:
		if bytes, err := sent("", wire.MessageDelta, deltaOf(n)); err == nil {
			t.send([]*frame{{agent: n.Agent, pieces: []piece{{bytes: bytes}}, size: len(bytes)}}, 0)
		}
	}
}

// catchUp hands out all that is recorded, which is known to go as far as seq; zero means that
// nothing is known. Entries that cannot be read now are read after the next look.
func (t *tap) catchUp(ctx context.Context, seq int64) {
	for ctx.Err() == nil {
		read, cancel := context.WithTimeout(ctx, readTime)
		entries, err := t.hub.log.Entries(read, t.ref, t.seq, tapPage)
		cancel()
		if chat.CodeOf(err) == chat.CodeNotFound {
			t.hub.end(t, cutDeleted)
			return
		}
		var frames []*frame
		if err == nil {
			frames, err = framesOf(t.ref.Conversation, entries)
		}
		if err != nil && ctx.Err() == nil {
			t.hub.logger.WarnContext(ctx, "a stream waits for the journal", "conversation", t.ref.Conversation, "error", err)
		}
		if err != nil || len(entries) == 0 {
			return
		}
		t.send(frames, entries[len(entries)-1].Seq)
		if seq > 0 && t.seq >= seq && len(entries) < tapPage {
			return
		}
	}
}

// send hands frames to everyone. A seq says how far the conversation has been handed out.
func (t *tap) send(frames []*frame, seq int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seq = max(t.seq, seq)
	for _, f := range frames {
		t.readers.send(f)
	}
}
