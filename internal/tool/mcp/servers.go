package mcp

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/retinue-dev/retinue/internal/egress"
	"github.com/retinue-dev/retinue/internal/sandbox"
	"github.com/retinue-dev/retinue/internal/tool"
)

// Options are what the servers of a workspace need.
type Options struct {
	// Workspace is the folder that programs work in.
	Workspace string
	// Box gives the sandbox that programs run in. It is asked when the first one is started.
	Box func(context.Context) (*sandbox.Box, error)
	// Pins are people's approvals.
	Pins *Pins
	// Version is our version, as sent to servers.
	Version string
	Logger  *slog.Logger
	// Resolver finds the addresses of names; the machine's own when nil.
	Resolver egress.Resolver
	// HostBytes is what one server may exchange with a host while it runs; unlimited when 0.
	HostBytes int64
	// Leaks looks up the values that must not leave, except the server's own; see egress.Leaks. Nil
	// means that everything may leave.
	Leaks func(given []string) (egress.Leaks, error)

	// start, ping and own are others in tests: startTime, pingTime and ownEnd.
	start, ping, own time.Duration
	// running are the programs that have not ended.
	running *sync.WaitGroup
}

// Servers are the MCP servers of one workspace. They are safe for concurrent use.
type Servers struct {
	options Options

	mu         sync.Mutex
	links      map[string]*link // by name
	generation uint64
	leaving    sync.WaitGroup
}

// New makes servers ready; none is started. Use tells which there are.
func New(o Options) *Servers {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	o.running = &sync.WaitGroup{}
	if o.start == 0 {
		o.start, o.ping, o.own = startTime, pingTime, ownEnd
	}
	return &Servers{options: o, links: map[string]*link{}}
}

// Use sets the servers. Unchanged ones keep running.
func (s *Servers) Use(entries []Entry) {
	s.mu.Lock()
	var ended []*link
	links := map[string]*link{}
	for _, e := range entries {
		if old, ok := s.links[e.Name]; ok && old.entry.Scope == e.Scope && old.entry.Identity() == e.Identity() {
			links[e.Name] = old
			continue
		}
		links[e.Name] = &link{entry: e, options: s.options, changed: s.touch}
	}
	for name, old := range s.links {
		if links[name] != old {
			ended = append(ended, old)
		}
	}
	if len(ended) > 0 || len(links) != len(s.links) {
		s.generation++
	}
	s.links = links
	s.mu.Unlock()
	for _, l := range ended {
		s.leaving.Go(l.close)
	}
}

func (s *Servers) touch() {
	s.mu.Lock()
	s.generation++
	s.mu.Unlock()
}

func (s *Servers) all() []*link {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*link
	for _, l := range s.links {
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b *link) int { return strings.Compare(a.entry.Name, b.entry.Name) })
	return out
}

// Generation is another number when the tools may be others.
func (s *Servers) Generation() uint64 {
	version, err := s.options.Pins.current()
	if err != nil {
		s.options.Logger.Warn("read the approvals of mcp servers", "error", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.generation + version
}

// Tools are the tools that were approved and have not changed, as far as is known. Nothing is
// started for it.
func (s *Servers) Tools() []tool.Tool {
	var out []tool.Tool
	taken := map[string]bool{}
	for _, l := range s.all() {
		approved, err := s.options.Pins.find(l.entry)
		if err != nil {
			continue // Generation has complained of it
		}
		for _, pin := range approved.Tools {
			if r := (&remote{link: l, pin: pin}); l.holds(pin) == nil && r.sound() && !taken[pin.Tool] {
				taken[pin.Tool] = true
				out = append(out, r)
			}
		}
	}
	return out
}

// sound reports whether a pin belongs to this server and its hash fits: the entry may have changed,
// and the file may have been written by hand.
func (r *remote) sound() bool {
	if r.pin.Hash != digest(r.link.entry.Identity(), r.pin.Name, r.pin.Description, string(r.pin.Schema)) {
		return false
	}
	_, err := tool.NewSet(tool.Options{}, r)
	return err == nil
}

// Close ends all servers and waits until they are gone, for a while: a sandbox puts the workspace
// back when its last program is.
func (s *Servers) Close() {
	for _, l := range s.all() {
		s.leaving.Go(l.close)
	}
	s.leaving.Wait()
	gone := make(chan struct{})
	go func() {
		s.options.running.Wait()
		close(gone)
	}()
	select {
	case <-gone:
	case <-time.After(forcedEnd):
	}
}
