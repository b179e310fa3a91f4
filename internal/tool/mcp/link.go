package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/retinue-dev/retinue/internal/chat"
)

const (
	// startTime is how long a server may take until it has listed its tools.
	startTime = 30 * time.Second
	// pingTime is how long a server may take to show that it is alive after it let a call wait.
	pingTime = 5 * time.Second
	// firstPause is how long a server that died is left alone; it doubles up to longestPause for one
	// that dies again within steadyLife.
	firstPause   = 250 * time.Millisecond
	longestPause = time.Minute
	steadyLife   = time.Minute
	// patience is how long a call waits for such a pause to be over.
	patience = 5 * time.Second
	// idleLife is how long a server is kept that nobody calls.
	idleLife = 10 * time.Minute
)

// link is the connection to one server, made when it is needed.
type link struct {
	entry   Entry
	options Options
	// changed is called when the server's tools may have changed.
	changed func()

	mu       sync.Mutex
	now      *session
	dialing  chan struct{}
	giveUp   context.CancelFunc // ends the attempt that is under way
	problem  error
	failures int
	resume   time.Time
	listed   []Offer // nil until it has been seen once
	omitted  int
	closed   bool
}

// connect gives the session, and starts the server if it does not run.
func (l *link) connect(ctx context.Context) (*session, error) {
	for {
		l.mu.Lock()
		switch {
		case l.closed:
			l.mu.Unlock()
			return nil, &chat.Error{Code: chat.CodeUnavailable, Message: "server " + l.entry.Name + " is not in use any more"}
		case l.now != nil && l.now.over():
			l.drop(l.now) // its watcher has not come to it yet
		}
		if s := l.now; s != nil {
			l.mu.Unlock()
			return s, nil
		}
		pause := time.Until(l.resume)
		if l.dialing == nil && pause <= 0 {
			var ctx context.Context
			ctx, l.giveUp = context.WithTimeout(context.Background(), l.options.start)
			l.dialing = make(chan struct{})
			go l.dial(ctx, l.dialing)
		}
		attempt, problem := l.dialing, l.problem
		l.mu.Unlock()
		if attempt == nil && pause > patience {
			return nil, &chat.Error{Code: chat.CodeUnavailable, Message: fmt.Sprintf(
				"server %s keeps failing and is left alone for %s: %s", l.entry.Name, pause.Round(time.Second), words(problem))}
		}
		if attempt == nil {
			if err := sleep(ctx, pause); err != nil {
				return nil, err
			}
			continue
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-attempt:
		}
		l.mu.Lock()
		problem, up := l.problem, l.now != nil
		l.mu.Unlock()
		if !up && problem != nil {
			return nil, problem
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// words is an error as a model or a person reads it.
func words(err error) string {
	if own, ok := errors.AsType[*chat.Error](err); ok {
		return own.Message
	}
	if err == nil {
		return "it died"
	}
	return err.Error()
}

// dial starts the server and lists its tools. It continues if the call that wanted it is given up.
func (l *link) dial(ctx context.Context, done chan struct{}) {
	s, list, omitted, err := l.open(ctx)
	l.mu.Lock()
	l.giveUp()
	l.dialing = nil
	if err == nil && l.closed {
		err = &chat.Error{Code: chat.CodeUnavailable, Message: "server " + l.entry.Name + " is not in use any more"}
	}
	if err != nil {
		l.problem = err
		l.failed()
	} else {
		l.now, l.problem, l.listed, l.omitted = s, nil, list, omitted
		close(s.ready)
		go l.watch(s)
	}
	l.mu.Unlock()
	if err != nil && s != nil {
		s.end()
	}
	close(done)
	l.changed()
}

// failed counts a failure. The lock is held.
func (l *link) failed() {
	pause := longestPause
	if l.failures < 8 {
		pause = min(pause, firstPause<<l.failures)
	}
	l.failures++
	l.resume = time.Now().Add(pause)
}

// open makes a session. One that comes back with an error has to be ended.
func (l *link) open(ctx context.Context) (*session, []Offer, int, error) {
	peer, err := l.options.reach(l.entry)
	if err != nil {
		return nil, nil, 0, &chat.Error{Code: chat.CodeUnavailable, Message: "server " + l.entry.Name + " cannot be started: " + words(err)}
	}
	s := &session{peer: peer, began: time.Now(), ready: make(chan struct{}), gone: make(chan struct{})}
	client := sdk.NewClient(&sdk.Implementation{Name: "retinue", Version: l.options.Version}, &sdk.ClientOptions{
		Capabilities:           &sdk.ClientCapabilities{},
		MultiRoundTrip:         &sdk.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { go l.relist(s) },
	})
	// The client may wait for a server that does not read; we do not wait for the client.
	type result struct {
		client *sdk.ClientSession
		err    error
	}
	connected := make(chan result, 1)
	go func() {
		c, err := client.Connect(ctx, peer.transport, nil)
		connected <- result{c, err}
	}()
	select {
	case r := <-connected:
		s.client, err = r.client, r.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return s, nil, 0, l.explain(s, "does not answer as an MCP server", err)
	}
	list, omitted, err := s.list(ctx, l.entry)
	if err != nil {
		return s, nil, 0, l.explain(s, "does not list its tools", err)
	}
	return s, list, omitted, nil
}

// explain makes an error of a server that is of no use, and ends it.
func (l *link) explain(s *session, what string, err error) error {
	reason := s.farewell(err, l.options.own)
	if errors.Is(err, context.DeadlineExceeded) && l.entry.URL == "" && len(l.entry.Hosts) == 0 {
		reason += " (it has no network: if it needs one, name its hosts; if it has to be installed first, do that)"
	}
	return &chat.Error{Code: chat.CodeUnavailable, Message: "server " + l.entry.Name + " " + what + ": " + reason}
}

// relist reads the tools again, because the server says that they have changed. If it says so
// during the first list, relist waits for that list, which would otherwise replace the newer one.
func (l *link) relist(s *session) {
	s.mu.Lock()
	waiting := s.stale
	s.stale = true
	s.mu.Unlock()
	if waiting {
		return // somebody is about to
	}
	select {
	case <-s.ready:
	case <-s.gone:
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.options.start)
	defer cancel()
	_ = l.fresh(ctx, s) // the caller of a tool finds out
}

// fresh makes sure that the list of tools is not one that the server has taken back.
func (l *link) fresh(ctx context.Context, s *session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stale {
		return nil
	}
	s.stale = false
	list, omitted, err := s.list(ctx, l.entry)
	if err != nil {
		s.stale = true
		return err
	}
	l.mu.Lock()
	l.listed, l.omitted = list, omitted
	l.mu.Unlock()
	l.changed()
	return nil
}

// watch waits for the end of a session, however it comes, and makes room for the next.
func (l *link) watch(s *session) {
	ended := make(chan struct{})
	go func() {
		_ = s.client.Wait() // only its end matters
		close(ended)
	}()
	select {
	case <-ended:
		s.await(l.options.own) // it may still tell why
	case <-s.gone:
	}
	s.end()
	l.mu.Lock()
	l.drop(s)
	l.mu.Unlock()
}

// drop makes room for the session after s. The lock is held.
func (l *link) drop(s *session) {
	if l.now != s {
		return
	}
	l.now = nil
	if time.Since(s.began) > steadyLife {
		l.failures = 0
	}
	l.failed()
}

// close ends the server for good. Nothing is started for it any more when it returns.
func (l *link) close() {
	l.mu.Lock()
	l.closed = true
	s, dialing := l.now, l.dialing
	l.now = nil
	if dialing != nil {
		l.giveUp()
	}
	l.mu.Unlock()
	if s != nil {
		s.end()
	}
	if dialing != nil {
		select {
		case <-dialing:
		case <-time.After(2 * forcedEnd):
		}
	}
}
