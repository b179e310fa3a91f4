package leg

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
)

// runs have one leg after another carry each task that was started, as an engine does.
type runs struct {
	mu sync.Mutex
	// skipped is how far the clock has jumped.
	skipped time.Duration
	all     []*run
	later   []event
	// news gets a value when a leg has ended or an agent was told something.
	news chan struct{}
}

// run is one task's.
type run struct {
	begin       Begin
	last        Result
	mode        Mode
	tick        int64
	attempts    int
	began, over bool
	look, check bool
	ended       int
	// stop ends the leg under way, nil if there is none.
	stop context.CancelFunc
	err  error
}

// event is what the person does at some time.
type event struct {
	at time.Time
	do func()
}

// now is the time on the stage.
func (r *runs) now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().Add(r.skipped)
}

// after has the person do something after a while.
func (r *runs) after(wait time.Duration, do func()) {
	r.later = append(r.later, event{r.now().Add(wait), do})
	slices.SortStableFunc(r.later, func(a, b event) int { return a.at.Compare(b.at) })
}

// tell has the loop look again.
func (r *runs) tell() {
	select {
	case r.news <- struct{}{}:
	default:
	}
}

// of is the run of a task that has not ended, nil if there is none.
func (r *runs) of(task string) *run {
	i := slices.IndexFunc(r.all, func(one *run) bool { return one.begin.Task == task && !one.over })
	if i < 0 {
		return nil
	}
	return r.all[i]
}

// Start implements Engine.
func (s *stage) Start(_ context.Context, in Begin, _ string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of(in.Task) == nil {
		s.all = append(s.all, &run{begin: in})
	}
	s.tell()
	return nil
}

// Signal implements Engine.
func (s *stage) Signal(_ context.Context, _ journal.Ref, task string, signal Signal) error {
	s.mu.Lock()
	one := s.of(task)
	if one == nil {
		s.mu.Unlock()
		return fmt.Errorf("tell %s: %w", task, ErrNoRun)
	}
	switch signal {
	case SignalLook:
		one.look = true
	case SignalEnded:
		one.ended++
	case SignalCheck:
		one.check = true
	}
	s.tell()
	s.mu.Unlock()
	if signal != SignalCheck {
		s.carrier.Notify(s.ref, one.begin.Agent)
	}
	return nil
}

// End implements Engine.
func (s *stage) End(_ context.Context, _ journal.Ref, task string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.of(task)
	if one == nil {
		return ErrNoRun
	}
	one.over = true
	if one.stop != nil {
		one.stop()
	}
	return nil
}

// checkEvery is how often a run looks after children with runs of their own.
const checkEvery = time.Minute

// wakes is when a run has something to do by itself, zero if it waits for others.
func (r *run) wakes(now time.Time) (at time.Time) {
	if r.last.Wake != 0 {
		at = time.UnixMilli(r.last.Wake)
	}
	if check := now.Add(checkEvery); r.last.Await > 0 && (at.IsZero() || check.Before(at)) {
		at = check
	}
	return at
}

// due reports whether there is something to do for a leg.
func (r *run) due() bool {
	return !r.began || r.mode != ModeNext || r.look || r.check || r.tick != 0 || r.last.Next == NextLeg ||
		r.ended > 0 && r.ended >= r.last.Await
}

// carry has legs carry everybody until the orchestrator's run has ended, and returns how.
func (s *stage) carry() error {
	s.news = make(chan struct{}, 1)
	for root := s.of(host.Root); ; {
		working := s.startLegs()
		s.mu.Lock()
		over := root.over
		s.mu.Unlock()
		switch {
		case working:
			select {
			case <-s.news:
			case <-time.After(time.Minute):
				s.Fatal("a leg does not come to its end")
			}
		case over:
			return root.err
		default:
			s.jump()
		}
	}
}

// startLegs starts the legs that are due, and reports whether any agent works.
func (s *stage) startLegs() (working bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.all {
		if !one.over && one.stop == nil && one.due() {
			s.startLeg(one)
		}
		working = working || one.stop != nil
	}
	return working
}

// startLeg starts a leg for a run; the stage is locked.
func (s *stage) startLeg(one *run) {
	in := Input{
		RunRef: one.begin.RunRef, Parent: one.begin.Parent, Background: one.begin.Background, Slots: one.begin.Slots, Time: one.begin.Time,
		Mode: one.mode, N: one.last.N, Base: one.last.Base, Check: one.check, Tick: one.tick,
	}
	one.began, one.look, one.check, one.tick, one.ended = true, false, false, 0, 0
	one.attempts++
	ctx, stop := context.WithCancel(s.Context())
	one.stop = stop
	watch := Watch{Called: context.Background(), Gone: context.Background(), Name: fmt.Sprint("leg.", one.attempts)}
	go func() {
		out, err := s.leg(ctx, in, watch)
		s.mu.Lock()
		defer s.mu.Unlock()
		stop()
		one.stop = nil
		s.legDone(one, in, out, err)
		s.tell()
	}()
}

// leg runs one. A leg that is lost ends with an error.
func (s *stage) leg(ctx context.Context, in Input, watch Watch) (out Result, err error) {
	defer func() {
		if lost := recover(); lost != nil {
			err = fmt.Errorf("the worker was lost: %v", lost)
		}
	}()
	return s.carrier.Leg(ctx, in, watch)
}

// legDone handles the result of a leg. A lost leg is run again; the stage is locked.
func (s *stage) legDone(one *run, in Input, out Result, err error) {
	switch {
	case one.over:
	case err != nil && host.Refused(err):
		one.over, one.err = true, err
		broken := BrokenRun{RunRef: one.begin.RunRef, Parent: one.begin.Parent, Background: one.begin.Background, N: one.last.N}
		s.mu.Unlock()
		err := s.carrier.RecordBroken(s.Context(), broken)
		s.mu.Lock()
		one.err = errors.Join(one.err, err)
	case err != nil:
		one.mode, one.check, one.tick = ModeAgain, one.check || in.Check, max(one.tick, in.Tick)
	default:
		one.last, one.mode, one.over = out, ModeNext, out.Next == NextEnd && !one.look
		if out.Dropped {
			one.mode = ModeAgain
		}
	}
}

// jump has the clock go to the next thing that happens by itself, and lets it happen.
func (s *stage) jump() {
	now := s.now()
	s.mu.Lock()
	var next time.Time
	if len(s.later) > 0 {
		next = s.later[0].at
	}
	var woken *run
	for _, one := range s.all {
		if at := one.wakes(now); !one.over && !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next, woken = at, one
		}
	}
	if next.IsZero() {
		s.mu.Unlock()
		s.Fatal("nobody has anything to do, and the orchestrator's run has not ended")
	}
	s.skipped += max(0, next.Sub(now))
	if woken != nil {
		woken.check = woken.last.Await > 0
		if woken.last.Wake != 0 && woken.last.Wake <= next.UnixMilli() {
			woken.tick = woken.last.Wake
		}
		s.mu.Unlock()
		return
	}
	do := s.later[0].do
	s.later = s.later[1:]
	s.mu.Unlock()
	do()
}
