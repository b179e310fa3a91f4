package watch

import "sync/atomic"

// The most that waits for a reader before it counts as slow: so many frames, and so many bytes of
// them.
const (
	readerFrames = 64
	readerBytes  = 1 << 20
)

// Why a stream is cut.
const (
	cutSlow    = "slow"
	cutClosing = "closing"
	cutDeleted = "deleted"
	cutRefused = "refused"
)

// reader is one who watches.
type reader struct {
	// frames is closed when the reader is cut off. Why says why.
	frames chan *frame
	why    string
	// deltas says of which agents deltas are wanted.
	deltas func(agent string) bool
	// viewer is the person's id.
	viewer string
	// from is how far things had gone when the reader joined: what comes through frames is later.
	from   int64
	queued atomic.Int64
}

func newReader(deltas func(string) bool) *reader {
	return &reader{frames: make(chan *frame, readerFrames), deltas: deltas}
}

// offer hands a frame over, unless it is a delta that the reader does not want or has no time for.
// It is false for a reader that does not keep up.
func (r *reader) offer(f *frame) bool {
	if f.agent != "" && (!r.deltas(f.agent) || len(r.frames) > readerFrames/2) {
		return true // deltas may be lost; what is recorded may not
	}
	if waits := r.queued.Load(); waits > 0 && waits+int64(f.size) > readerBytes {
		return false
	}
	select {
	case r.frames <- f:
		r.queued.Add(int64(f.size))
		return true
	default:
		return false
	}
}

// took notes that a frame no longer waits.
func (r *reader) took(f *frame) { r.queued.Add(-int64(f.size)) }

// end cuts the reader off. It still receives the frames that wait for it.
func (r *reader) end(why string) {
	r.why = why
	close(r.frames)
}

// readers are those who watch the same thing. The owner's lock guards it.
type readers map[*reader]struct{}

// send hands a frame to everyone and cuts off who has no room for it.
func (l readers) send(f *frame) {
	for r := range l {
		if !r.offer(f) {
			delete(l, r)
			r.end(cutSlow)
		}
	}
}

// end cuts everyone off.
func (l readers) end(why string) {
	for r := range l {
		delete(l, r)
		r.end(why)
	}
}
