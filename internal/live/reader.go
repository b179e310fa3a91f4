package live

import "sync"

// Reader receives the notices of one conversation. It is made by a Hub.
type Reader struct {
	hub     *Hub
	topic   Topic
	notices chan Notice

	mu  sync.Mutex
	err error // why it ended; nil while it has not
}

// Notices is closed when the reader has ended and has received its waiting notices.
func (r *Reader) Notices() <-chan Notice { return r.notices }

// Err says why Notices was closed: ErrSlow or ErrClosed. It is nil while the reader is open.
func (r *Reader) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Close ends the reader. Closing it twice does no harm.
func (r *Reader) Close() {
	r.end(ErrClosed)
	r.hub.remove(r)
}

// offer hands over a notice if there is room, and otherwise cuts the reader off. It reports whether
// the reader took it.
func (r *Reader) offer(n Notice) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return false
	}
	select {
	case r.notices <- n:
		return true
	default:
		r.err = ErrSlow
		close(r.notices)
		return false
	}
}

func (r *Reader) end(why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = why
		close(r.notices)
	}
}
