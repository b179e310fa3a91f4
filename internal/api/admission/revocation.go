package admission

import (
	"context"
	"errors"
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
	// recheckEvery is how long a request goes on without being looked at again although no change was
	// heard of, when nothing else is said.
	recheckEvery = time.Minute
	// lookups is how many credentials are looked up again at a time.
	lookups = 4
)

// revocation ends a request whose caller has lost what let it in, such as a stream that was opened
// with a key which is revoked.
type revocation struct {
	end     context.CancelCauseFunc
	request *http.Request
	access  Access
	caller  Caller
	// seen is the last change that was known before the caller was looked up, and looked when that was.
	seen   int64
	looked time.Time
}

type revocationKey struct{}

// ErrRevoked ends a request whose caller would not be admitted any more.
var ErrRevoked = errors.New("what let the request in is gone")

// revocations are all requests under way that showed a credential.
type revocations struct {
	mu   sync.Mutex
	held map[*revocation]struct{}
	// seen is the last change that is known of.
	seen atomic.Int64
}

// tie makes a request one that can be ended. The returned function ends it.
func (l *revocations) tie(r *http.Request) (*http.Request, func()) {
	ctx, end := context.WithCancelCause(r.Context())
	t := &revocation{end: end}
	r = r.WithContext(context.WithValue(ctx, revocationKey{}, t))
	return r, func() {
		l.mu.Lock()
		delete(l.held, t)
		l.mu.Unlock()
		end(nil)
	}
}

// hold notes who a request is from, and what was known before that was found out. It is called once
// for each request, so that what it notes can be read without the lock.
func (l *revocations) hold(r *http.Request, found revocation) {
	t, ok := r.Context().Value(revocationKey{}).(*revocation)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	found.end, found.request = t.end, r
	*t = found
	l.held[t] = struct{}{}
}

// all are the requests under way.
func (l *revocations) all() []*revocation {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]*revocation, 0, len(l.held))
	for t := range l.held {
		out = append(out, t)
	}
	return out
}

// watch looks again at everyone who is there whenever somebody may have lost what they had, on
// whichever server that was, at those whose credential ends by itself, and at all of them now and
// then: changes cannot be heard of while the table that tells of them cannot be read.
func (g *Guard) watch(authenticators people.Credentials) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-g.closing:
			return
		case <-ticker.C:
		}
		ctx, cancel := context.WithTimeout(context.Background(), lookTime)
		n, err := authenticators.Changes(ctx)
		cancel()
		if err == nil {
			g.revocations.seen.Store(n)
		}
		g.recheck(g.revocations.seen.Load(), g.options.Now())
	}
}

// sight is what a request shows of who it is from.
type sight struct{ header, cookie string }

// recheck ends requests that would not be admitted now. Each credential is looked up once, and
// several at a time.
func (g *Guard) recheck(n int64, now time.Time) {
	due := map[sight][]*revocation{}
	for _, t := range g.revocations.all() {
		if g.due(t, n, now) {
			at := sight{t.request.Header.Get("Authorization"), t.request.Header.Get("Cookie")}
			due[at] = append(due[at], t)
		}
	}
	var all sync.WaitGroup
	places := make(chan struct{}, lookups)
	for _, same := range due {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			g.lookAgain(same, n, now)
		})
	}
	all.Wait()
}

// due reports whether a caller has to be looked up again.
func (g *Guard) due(t *revocation, n int64, now time.Time) bool {
	return t.seen != n || now.Sub(t.looked) >= g.options.Recheck || (!t.caller.Until.IsZero() && t.caller.Until.Before(now))
}

// lookAgain looks up the credential of admitted requests and ends those that would not be admitted
// now. A look-up that fails ends nothing and is tried again.
func (g *Guard) lookAgain(same []*revocation, n int64, now time.Time) {
	r := same[0].request
	caller, err := g.whoIs(r.WithContext(context.WithoutCancel(r.Context())))
	if err != nil && ProblemOf(err).Status >= http.StatusInternalServerError {
		return
	}
	for _, t := range same {
		t.seen, t.looked = n, now
		if err != nil || t.access.Allows(caller) != nil || caller.Tenant != t.caller.Tenant {
			t.end(ErrRevoked)
		}
	}
}
