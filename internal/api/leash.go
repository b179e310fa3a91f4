package api

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/retinue-dev/retinue/internal/people"
)

const (
	// lookEvery is how often a server asks whether somebody may have lost what they had.
	lookEvery = 250 * time.Millisecond
	// lookTime is how long finding out may take.
	lookTime = 5 * time.Second
)

// leash ends a request whose caller has lost what let it in, such as a stream that was opened with a
// key which is revoked.
type leash struct {
	end     context.CancelFunc
	request *http.Request
	access  Access
	caller  Caller
	// seen is the last change that was known before the caller was looked up.
	seen int64
}

type leashKey struct{}

// leashes are all requests under way that showed a credential.
type leashes struct {
	mu   sync.Mutex
	held map[*leash]struct{}
	// seen is the last change that is known of.
	seen atomic.Int64
}

// tie makes a request one that can be ended. The returned function ends it.
func (l *leashes) tie(r *http.Request) (*http.Request, func()) {
	ctx, end := context.WithCancel(r.Context())
	t := &leash{end: end}
	r = r.WithContext(context.WithValue(ctx, leashKey{}, t))
	return r, func() {
		l.mu.Lock()
		delete(l.held, t)
		l.mu.Unlock()
		end()
	}
}

// hold notes who a request is from, and what was known before that was found out.
func (l *leashes) hold(r *http.Request, access Access, caller Caller, seen int64) {
	t, ok := r.Context().Value(leashKey{}).(*leash)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t.request, t.access, t.caller, t.seen = r, access, caller, seen
	l.held[t] = struct{}{}
}

// all are the requests under way.
func (l *leashes) all() []*leash {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]*leash, 0, len(l.held))
	for t := range l.held {
		out = append(out, t)
	}
	return out
}

// watch looks again at everyone who is there whenever somebody may have lost what they had, on
// whichever server that was, and at those whose credential ends by itself.
func (s *Server) watch(doors people.Doors) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-s.closing:
			return
		case <-ticker.C:
		}
		ctx, cancel := context.WithTimeout(context.Background(), lookTime)
		n, err := doors.Changes(ctx)
		cancel()
		if err != nil {
			continue // who asks anew is looked up anyway
		}
		s.leashes.seen.Store(n)
		s.recheck(n, s.options.Now())
	}
}

// recheck ends requests that would not be let in now. Each credential is looked up once.
func (s *Server) recheck(n int64, now time.Time) {
	type sight struct {
		header, cookie string
		access         Access
	}
	gone := map[sight]bool{}
	for _, t := range s.leashes.all() {
		ended := !t.caller.Until.IsZero() && t.caller.Until.Before(now)
		if t.seen == n && !ended {
			continue
		}
		t.seen = n
		at := sight{t.request.Header.Get("Authorization"), t.request.Header.Get("Cookie"), t.access}
		lost, known := gone[at]
		if !known {
			lost = s.lost(t)
			gone[at] = lost
		}
		if lost {
			t.end()
		}
	}
}

// lost reports whether a request would not be let in now. What cannot be found out loses nothing.
func (s *Server) lost(t *leash) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.request.Context()), lookTime)
	defer cancel()
	caller, err := s.options.Door.Identify(t.request.WithContext(ctx))
	if err == nil {
		err = t.access.allows(caller)
	}
	return err != nil && problemOf(err).Status < http.StatusInternalServerError
}
