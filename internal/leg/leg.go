package leg

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/internal/model"
)

const (
	// DrainGrace is how long a worker that stops waits for what its legs have under way.
	DrainGrace = 10 * time.Second
	// legSpan is how long a leg begins new things.
	legSpan = 30 * time.Minute
	// settleGrace is how long a leg that ends waits for its cancelled effects.
	settleGrace = 2 * time.Second
)

// leg hosts the core for a while.
type leg struct {
	*Carrier
	in       Input
	position position
	// todo are the effects that have not begun, base the last step that has a state.
	todo    []agent.Effect
	base    int
	running map[string]*effectRun
	landed  chan completion
	// doubtful are the effects that another leg may have begun.
	doubtful map[string]bool
	begun    int
	// yield means that nothing more is begun, and dropped that something was begun and given up.
	yield, dropped bool
	// hold means that more events are about to be handled, before which nothing is begun. Kept are
	// the rows of the events handled meanwhile: they are recorded together with those of the last.
	hold bool
	kept []journal.Row
	// first means that the first step of the task is among them.
	first bool
	// fresh means that this very leg recorded the task: nobody has begun it.
	fresh bool
	// apart are the children to be given runs of their own, because this leg cannot carry them.
	apart []agent.StartChild
	// family is shared with the legs of the children that this one carries, rests are those that have
	// come back and have not ended.
	family  *family
	resting bool
	rests   []Result
	// begunHook is called when it is known that the first step of the task is on record; nil if nobody
	// waits for that.
	begunHook func()
	// unread means that there may be mail, and held that there is some which the core does not take
	// yet.
	unread, held bool

	// telling are the calls that make others look at their mail, and flying the effects under way.
	telling, flying sync.WaitGroup

	cache cache
	// tasks are those of the conversation while the records of a step are made, nil if nobody has read
	// them.
	tasks []journal.Task
	// images are those that the leg has read, by hash.
	images map[string]model.Image
	// pays is for the last model call.
	pays *callBudget
}

// effectRun is a local effect under way.
type effectRun struct {
	// effect is nil for what no effect orders.
	effect agent.Effect
	began  time.Time
	cancel context.CancelCauseFunc
}

// completion is the end of a local effect, or something that has arrived: an event, and the facts
// to record with it.
type completion struct {
	key   string
	event agent.Event
	rows  []journal.Row
	// mail is the post that brought it, nil for all else.
	mail *journal.MailPosted
	// rests is the state of a child that has returned and has not ended.
	rests *Result
	// err says why the effect could not be carried out by this leg.
	err error
}

// Leg runs a task until a leg can do nothing more. It lasts as long as ctx, unless the watch says
// that it is of no use.
func (c *Carrier) Leg(ctx context.Context, in Input, watch Watch) (Result, error) {
	if err := c.Known(in.RunRef); err != nil && in.Mode != ModeDetour { // a detour reads no files
		return Result{}, err
	}
	work, stop := context.WithCancel(ctx)
	l := c.newLeg(in)
	defer l.settle(stop)
	free, err := l.takeSlot(watch.Called)
	if err != nil {
		return Result{}, err
	}
	defer free()
	l.point(host.PointLegBegin)
	again := in.Mode != ModeNext || watch.Again
	stage := host.StageLater
	if !again && in.N == 0 {
		stage = host.StageFirst
	}
	work, ended := c.Observer.Leg(work, in.RunRef, stage)
	l.family = newFamily(c.Now(), watch, again)
	err = cmp.Or(l.carry(work), l.family.leftTo())
	l.telling.Wait()
	ended(l.position.State.Brief.Role, err)
	if err != nil {
		return Result{}, err
	}
	l.clearTree(work)
	l.point(host.PointLegEnd)
	l.cache.park()
	return l.result(), nil
}

// settle cancels the effects under way when a leg ends, and waits for their end: the next leg
// begins the same effects again.
func (l *leg) settle(stop func()) {
	stop()
	ended := make(chan struct{})
	go func() {
		l.flying.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(settleGrace):
	}
}

func (c *Carrier) newLeg(in Input) *leg {
	l := &leg{
		Carrier: c, in: in, running: map[string]*effectRun{}, landed: make(chan completion, 64), doubtful: map[string]bool{}, yield: in.Mode == ModeDetour,
	}
	l.cache = cache{leg: l, rows: map[string]journal.Row{}}
	return l
}

// carry takes the task from where it is to where nothing more can be done.
func (l *leg) carry(ctx context.Context) error {
	known := max(0, l.in.N)
	if !l.family.again && l.cache.resume(l.in) {
		known = l.position.N
	}
	if !l.fresh {
		if err := l.fold(ctx); err != nil {
			return err
		}
	}
	// A leg that was further than this one knew may have begun the next effects.
	doubt := l.family.again || l.position.N > known
	l.dropped = l.in.Mode == ModeDetour && len(l.todo) > 0 // nobody has begun the effects ordered from here on
	for _, e := range l.todo {
		l.doubtful[e.Key()] = doubt
	}
	l.point(host.PointLegFolded)
	if l.position.N > 0 && l.begunHook != nil {
		l.begunHook() // the leg that had it recorded may have been lost before its parent knew
	}
	if err := l.start(ctx, doubt); err != nil {
		return err
	}
	for {
		if err := l.openly(ctx); err != nil {
			return err
		}
		// A notification that came before the leg stopped listening relies on this look.
		if err := l.readMail(ctx); err != nil || len(l.running)+len(l.apart) == 0 && !l.unread {
			return err
		}
	}
}

// start begins an agent that has not begun, and handles its mail before it begins anything else. In
// doubt it is unknown whether the children that need runs of their own have them.
func (l *leg) start(ctx context.Context, doubt bool) error {
	var arrived []completion
	if l.position.State.Phase == agent.Unborn {
		begun, err := l.begin(ctx)
		if err != nil {
			return err
		}
		arrived = append(arrived, completion{event: begun})
	}
	var mail []completion
	if l.unread = l.fresh; !l.unread { // it is about to listen, and looks then
		var err error
		if mail, err = l.mail(ctx); err != nil {
			return err
		}
	}
	if err := l.takeAll(ctx, slices.Concat(arrived, mail, l.told())); err != nil || l.yield {
		return err
	}
	for _, e := range l.carried() {
		if l.running[e.Key()] == nil {
			l.prepareChild(ctx, e)()
		}
	}
	if doubt || l.in.Check {
		l.ensureApart(ctx)
	}
	return nil
}

// result is the leg's result for the workflow.
func (l *leg) result() Result {
	s := &l.position.State
	out := Result{N: l.position.N, Base: l.base, Wake: s.Wake, Dropped: l.dropped}
	switch {
	case s.Phase == agent.Done:
		out.Next = NextEnd
		return out
	case len(l.todo) > 0:
		out.Next = NextLeg
	case s.Phase == agent.Idle:
		out.Next = NextIdle
	}
	for i := range s.Children {
		if c := s.Children[i]; c.Apart && !c.Background && c.Waiting == "" {
			out.Await++
		}
	}
	if slices.ContainsFunc(s.Children, func(c *agent.Child) bool { return c.State == agent.ChildQueued }) {
		out.Await = min(out.Await, 1) // each that ends makes room for another
	}
	l.merge(&out)
	return out
}

func (l *leg) point(p host.Point) { l.Fault.At(p, l.in.Ref, l.in.Task) }

func (l *leg) moved(m StatusChange) journal.Row {
	return journal.StatusChanged{In: l.in.In(), Serial: m.N, Status: m.Status, Reason: m.Reason}
}

func topic(p journal.Ref) live.Topic {
	return live.Topic{Tenant: p.Tenant, Conversation: p.Conversation}
}
