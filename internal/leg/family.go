package leg

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
)

// family is the shared state of an agent's leg and those of the sub-agents in it. All of them run
// in one activity, each with its own steps and its own fence.
type family struct {
	watch Watch
	// again means that another leg may have begun what this one is to do.
	again bool

	// began is when the eldest began.
	began time.Time

	mu sync.Mutex
	// working counts those that have something under way. When nobody has, quiet is closed, and all
	// leave: the people that they wait for may take long.
	working int
	still   bool
	quiet   chan struct{}
	size    int
	// newer is the error of an agent that met a row which only a newer build can read, and leaving
	// is closed then.
	newer   error
	leaving chan struct{}
}

func newFamily(began time.Time, watch Watch, again bool) *family {
	return &family{
		began: began, watch: watch, again: again, working: 1, quiet: make(chan struct{}), leaving: make(chan struct{}),
	}
}

// join takes one more in, which is at work. It is false if there are enough.
func (f *family) join(most int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.size >= most {
		return false
	}
	f.size++
	f.working++
	return true
}

// rest says that a leg has nothing under way, and wake that it has.
func (l *leg) rest() {
	f := l.family
	f.mu.Lock()
	defer f.mu.Unlock()
	if l.resting {
		return
	}
	l.resting = true
	f.working--
	if f.working == 0 && !f.still {
		f.still = true
		close(f.quiet)
	}
}

func (l *leg) rouse() {
	f := l.family
	f.mu.Lock()
	defer f.mu.Unlock()
	if l.resting {
		l.resting = false
		f.working++
	}
}

// takeOver puts the leg to work in the place of a child that has returned.
func (l *leg) takeOver() {
	f := l.family
	f.mu.Lock()
	defer f.mu.Unlock()
	f.size--
	if l.resting {
		l.resting = false // the child's place among those at work is the leg's
		return
	}
	f.working--
}

// leaves reports whether nobody has anything under way any more, so that nothing new is begun.
func (f *family) leaves() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.still
}

// leaveTo makes the whole family leave for a newer build, which alone can read the row: no agent
// begins anything more, and effects under way end first, so that nothing is cut off. It is false
// for any other error.
func (f *family) leaveTo(why error) bool {
	if !errors.Is(why, errNewer) {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.newer == nil {
		f.newer = why
		close(f.leaving)
	}
	return true
}

// leftTo is the reason to leave the family to a newer build, nil if it stays.
func (f *family) leftTo() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.newer
}

// look has the leg read its mail, and those of its family theirs.
func (l *leg) look(ctx context.Context) error {
	l.rouse()
	l.unread = true
	return l.alert(ctx)
}

// errKilled says that a child whose books are closed did not stop in time.
var errKilled = errors.New("it did not stop in time")

// mayCarry reports whether the leg may carry a child itself: one that does not outlive the turn.
func (l *leg) mayCarry(e agent.StartChild) bool {
	return !e.Background && l.in.Effects == 0 && l.Family > 0
}

// carried are the children that run without a run of their own. The leg has to run them.
func (l *leg) carried() (out []agent.StartChild) {
	s := &l.position.State
	for i := range s.Children {
		if c := s.Children[i]; c.State == agent.ChildRunning && !c.Apart {
			out = append(out, l.startOf(c))
		}
	}
	return out
}

// prepareChild has the leg carry a child. One that it cannot carry gets a run of its own.
func (l *leg) prepareChild(ctx context.Context, e agent.StartChild) func() {
	return func() {
		runs := l.position.State.Runs(e.Task) // a leg before carried it
		most := l.Family
		if runs {
			most = math.MaxInt
		}
		if !runs && !l.mayCarry(e) || !l.family.join(most) {
			l.apart = append(l.apart, e)
			return
		}
		stage := host.StageLater
		if !l.family.again && !l.position.State.Runs(e.Task) {
			stage = host.StageFirst
		}
		c := l.newChild(e)
		_, c.fresh = l.cache.rows[journal.TaskAssigned{In: journal.In{Task: e.Task}}.Key()]
		c.fresh = c.fresh && stage == host.StageFirst
		if !runs {
			c.begunHook = func() { l.hand(ctx, completion{event: agent.ChildStarted{At: c.At(), Task: e.Task}}) }
		}
		l.launch(ctx, e, func(ctx context.Context) completion { return c.carryFor(ctx, stage) })()
	}
}

// newChild is the leg of a child that this one carries.
func (l *leg) newChild(e agent.StartChild) *leg {
	in := Input{
		RunRef: l.in.RunRef, Parent: l.in.Agent, Slots: e.Slots, Time: e.Time, Mode: l.in.Mode, N: -1, Check: l.in.Check,
		Queue: l.in.Queue, Tick: l.in.Tick,
	}
	in.Agent, in.Task = e.Agent, e.Task
	c := l.newLeg(in)
	c.family, c.yield = l.family, l.yield
	return c
}

// carryFor runs a child for its parent until it has ended, or until the family has nothing to do.
// It runs beside the parent's own loop and does not touch the parent.
func (l *leg) carryFor(ctx context.Context, stage host.Stage) completion {
	ctx, stop := context.WithCancel(ctx)
	defer l.settle(stop)
	task := l.in.Task
	work, ended := l.Observer.Leg(ctx, l.in.RunRef, stage)
	err := l.carry(work)
	l.telling.Wait()
	ended(l.position.State.Brief.Role, err)
	l.rouse() // its place is the parent's now
	switch {
	case errors.Is(context.Cause(ctx), errKilled):
		return completion{rests: &Result{}}
	case err == nil:
		l.clearTree(work)
		l.cache.park()
		if l.position.State.Phase != agent.Done {
			out := l.result()
			return completion{rests: &out}
		}
		end, err := l.endOf(work, task)
		return completion{event: end, err: err}
	case ctx.Err() != nil || !host.Refused(err):
		return completion{err: err}
	}
	l.Logger.ErrorContext(ctx, "a sub-agent cannot continue", "agent", l.in.Agent, "error", err)
	end, err := l.closeBooks(work, l.in.RunRef, lostOutcome())
	return completion{event: end, err: err}
}

// alert rings at those of the family that have mail.
func (l *leg) alert(ctx context.Context) error {
	if l.in.N < 0 || len(l.running) == l.own() {
		return nil
	}
	var agents []string
	err := l.Patiently(ctx, func() (err error) { agents, err = l.Log.Mailboxes(ctx, l.in.Ref); return err })
	for _, id := range agents {
		if id != l.in.Agent {
			l.listeners.notify(l.in.Ref, id)
		}
	}
	return err
}

// own is how many of the effects under way are the agent's own.
func (l *leg) own() (n int) {
	for _, f := range l.running {
		if _, child := f.effect.(agent.StartChild); !child {
			n++
		}
	}
	return n
}

// merge sums up the resting children for the workflow.
func (l *leg) merge(out *Result) {
	if len(l.carried()) > len(l.rests) {
		out.Next = NextLeg // this one has left some of them alone
	}
	for _, r := range l.rests {
		if r.Next == NextLeg {
			out.Next = NextLeg
		}
		if r.Wake != 0 && (out.Wake == 0 || r.Wake < out.Wake) {
			out.Wake = r.Wake
		}
		if r.Await != 0 && (out.Await == 0 || r.Await < out.Await) {
			out.Await = r.Await
		}
		out.Dropped = out.Dropped || r.Dropped
	}
}
