package api

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"time"

	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/live"
)

const (
	// tapPage is how many entries are read at a time.
	tapPage = 500
	// streamBuffer is how many frames wait for a reader before it counts as slow.
	streamBuffer = 256
)

// frame is a piece of a stream, as it is sent. The same bytes go to all readers.
type frame struct {
	// seq is zero for what is not recorded.
	seq int64
	// agent is whose delta it is.
	agent string
	bytes []byte
}

// recorded is the frame of an event.
func recorded(e Event) (frame, error) {
	data, err := json.Marshal(e)
	if err != nil {
		return frame{}, err
	}
	out := make([]byte, 0, len(data)+64)
	out = append(out, "id: "...)
	out = strconv.AppendInt(out, e.Seq, 10)
	out = append(out, "\nevent: "...)
	out = append(out, e.Type...)
	out = append(out, "\ndata: "...)
	out = append(out, data...)
	return frame{seq: e.Seq, bytes: append(out, "\n\n"...)}, nil
}

// passing is the frame of something that is not recorded.
func passing(name string, data any) (frame, error) {
	body, err := json.Marshal(data)
	if err != nil {
		return frame{}, err
	}
	return frame{bytes: []byte("event: " + name + "\ndata: " + string(body) + "\n\n")}, nil
}

// hub reads each conversation that somebody watches once, however many watch it.
type hub struct {
	log  journal.Reader
	bus  live.Bus
	poll time.Duration

	mu   sync.Mutex
	taps map[journal.Place]*tap
}

// tap reads one conversation for all who watch it.
type tap struct {
	hub   *hub
	place journal.Place
	stop  context.CancelFunc
	woken chan struct{}

	mu      sync.Mutex
	seq     int64 // all up to here has been handed out
	readers map[*reader]struct{}
}

// reader is one who watches. Frames is closed when the reader is cut off.
type reader struct {
	frames chan frame
	// deltas says of which agents deltas are wanted.
	deltas func(agent string) bool
	slow   bool
}

// join begins to watch a conversation. What comes after the returned seq comes through the reader;
// what came before is the caller's to read.
func (h *hub) join(ctx context.Context, place journal.Place, deltas func(string) bool) (*reader, int64, func(), error) {
	r := &reader{frames: make(chan frame, streamBuffer), deltas: deltas}
	h.mu.Lock()
	defer h.mu.Unlock()
	t, ok := h.taps[place]
	if !ok {
		seq, err := lastSeq(ctx, h.log, place)
		if err != nil {
			return nil, 0, nil, err
		}
		run, stop := context.WithCancel(context.Background())
		t = &tap{hub: h, place: place, seq: seq, stop: stop, woken: make(chan struct{}, 1), readers: map[*reader]struct{}{}}
		h.taps[place] = t
		go t.run(run)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.readers[r] = struct{}{}
	return r, t.seq, func() { h.leave(t, r) }, nil
}

// lastSeq is how far a conversation goes.
func lastSeq(ctx context.Context, log journal.Reader, place journal.Place) (int64, error) {
	state, err := log.Snapshot(ctx, place)
	return state.Conversation.Seq, err
}

// leave ends a reader, and its tap when it was the last.
func (h *hub) leave(t *tap, r *reader) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.readers, r)
	if len(t.readers) == 0 && h.taps[t.place] == t {
		delete(h.taps, t.place)
		t.stop()
	}
}

// wake lets a conversation be read at once, because this server has just written to it.
func (h *hub) wake(place journal.Place) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t, ok := h.taps[place]; ok {
		select {
		case t.woken <- struct{}{}:
		default: // it is about to look
		}
	}
}

// run reads until nobody watches any more.
func (t *tap) run(ctx context.Context) {
	poll := time.NewTicker(t.hub.poll)
	defer poll.Stop()
	for ctx.Err() == nil {
		notices, err := t.hub.bus.Subscribe(ctx, live.Topic(t.place))
		t.follow(ctx, notices, poll.C)
		if err == nil {
			notices.Close()
		}
	}
}

// follow reads until ctx or the notices end.
func (t *tap) follow(ctx context.Context, notices *live.Reader, poll <-chan time.Time) {
	var come <-chan live.Notice
	if notices != nil {
		come = notices.Notices()
	}
	t.catchUp(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.woken:
			t.catchUp(ctx)
		case <-poll:
			t.catchUp(ctx)
			if come == nil {
				return // perhaps it can be subscribed to again
			}
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
	case live.Poke:
		if n.Seq > t.seq { // only this goroutine moves it
			t.catchUp(ctx)
		}
	case live.Resync:
		t.catchUp(ctx)
	case live.Delta:
		if f, err := passing(string(eventDelta), deltaOf(n)); err == nil {
			f.agent = n.Agent
			t.send([]frame{f}, 0)
		}
	}
}

// catchUp hands out all that is recorded. What cannot be read now is read at the next look.
func (t *tap) catchUp(ctx context.Context) {
	for ctx.Err() == nil {
		entries, err := t.hub.log.Entries(ctx, t.place, t.seq, tapPage)
		if err != nil || len(entries) == 0 {
			return
		}
		t.send(framesOf(t.place.Conversation, entries), entries[len(entries)-1].Seq)
		if len(entries) < tapPage {
			return
		}
	}
}

// framesOf are the frames of entries.
func framesOf(conversation string, entries []journal.Entry) []frame {
	out := make([]frame, 0, len(entries))
	for _, entry := range entries {
		e, ok := eventOf(conversation, entry)
		if !ok {
			continue
		}
		if f, err := recorded(e); err == nil {
			out = append(out, f)
		}
	}
	return out
}

// send hands frames to everyone and cuts off who has no room for them. A seq says how far the
// conversation has been handed out.
func (t *tap) send(frames []frame, seq int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seq = max(t.seq, seq)
	for r := range t.readers {
		for _, f := range frames {
			if f.seq == 0 && (!r.deltas(f.agent) || len(r.frames) > streamBuffer/2) {
				continue // deltas may be lost; what is recorded may not
			}
			select {
			case r.frames <- f:
				continue
			default:
			}
			r.slow = true
			delete(t.readers, r)
			close(r.frames)
			break
		}
	}
}
