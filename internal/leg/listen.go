package leg

import (
	"context"
	"time"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/host"
)

// waits are the events that a listening leg waits for, beside the ends of its effects.
type waits struct {
	bell, called, quiet, drained, leaving <-chan struct{}
	poll, giveUp                          <-chan time.Time
	// pause is how long it is between two looks at the mailbox that nothing asked for.
	pause time.Duration
}

func (l *leg) waits(bell <-chan struct{}) *waits {
	w := &waits{
		bell: bell, called: l.family.watch.Called.Done(), quiet: l.family.quiet, drained: l.family.watch.Drained,
		leaving: l.family.leaving, pause: mailPoll,
	}
	if l.in.N < 0 {
		w.called = nil // the eldest is told
	}
	return w
}

// openly runs the task while it listens for mail.
func (l *leg) openly(ctx context.Context) error {
	bell, leave := l.listeners.register(l.in.Ref, l.in.Agent, l.rouse)
	defer leave()
	return l.carryOn(ctx, bell)
}

// carryOn completes the effects and handles their events, until nothing is under way.
func (l *leg) carryOn(ctx context.Context, bell <-chan struct{}) error {
	w := l.waits(bell)
	for {
		switch err := ctx.Err(); {
		case err != nil:
			return err
		case len(l.apart) > 0:
			if err := l.startApart(ctx); err != nil {
				return err
			}
			continue
		case l.unread:
			if err := l.readMail(ctx); err != nil {
				return err
			}
			continue
		case l.own() > 0:
		case len(l.running) == 0 && (l.in.N >= 0 || w.quiet == nil || l.position.State.Phase == agent.Done):
			return nil
		default:
			l.rest()
		}
		if over, err := l.await(ctx, w); over || err != nil {
			return err
		}
	}
}

// await handles the next event. It is over when the leg's work no longer counts.
func (l *leg) await(ctx context.Context, w *waits) (over bool, err error) {
	wake, stop := l.wake()
	defer stop()
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case <-w.quiet:
		w.quiet = nil
	case end := <-l.landed:
		return false, l.completeAll(ctx, end, w.bell)
	case <-wake:
		l.rouse()
		return false, l.take(ctx, completion{event: agent.Ticked{At: l.At()}})
	case <-l.family.watch.Gone.Done():
		return true, l.abandon(ctx, context.Cause(l.family.watch.Gone))
	case <-w.called:
		w.called, w.poll = nil, time.After(0)
	case <-w.bell:
		w.pause = mailPoll
		return false, l.look(ctx)
	case <-w.poll:
		w.pause = min(2*w.pause, mailSlow)
		w.poll = time.After(w.pause)
		return false, l.look(ctx)
	case <-w.drained:
		w.drained, l.yield = nil, true
		w.giveUp = time.After(DrainGrace)
	case <-w.leaving:
		w.leaving, l.yield = nil, true
		w.giveUp = time.After(DrainGrace)
	case <-w.giveUp:
		l.giveUp()
	}
	return false, nil
}

// giveUp cancels the effects that have not ended in time. The next leg begins them again.
func (l *leg) giveUp() {
	for key, f := range l.running {
		if _, child := f.effect.(agent.StartChild); child {
			continue // it gives up by itself
		}
		f.cancel(nil)
		delete(l.running, key)
		if f.effect != nil {
			l.todo = append(l.todo, f.effect)
		}
		l.dropped = true
	}
}

// completeAll handles the completed effects. The beginnings and ends of many children are recorded
// together.
func (l *leg) completeAll(ctx context.Context, end completion, bell <-chan struct{}) error {
	for {
		more := len(l.landed) > 0 && (end.key == "" || l.carries(end.key))
		l.hold = more
		if err := l.complete(ctx, end, bell); err != nil {
			return err
		}
		if !more {
			break
		}
		end = <-l.landed
	}
	if l.hold = false; len(l.kept) > 0 {
		return l.commit(ctx, nil)
	}
	return nil
}

// carries reports whether a flight is a child.
func (l *leg) carries(key string) bool {
	f, ok := l.running[key]
	if !ok {
		return false
	}
	_, child := f.effect.(agent.StartChild)
	return child
}

// complete handles the end of a local effect.
func (l *leg) complete(ctx context.Context, end completion, bell <-chan struct{}) error {
	f, flies := l.running[end.key]
	switch {
	case end.key == "": // a child has begun
		l.rouse()
		return l.take(ctx, end)
	case !flies:
		return nil // it was given up
	}
	delete(l.running, end.key)
	if _, child := f.effect.(agent.StartChild); child {
		l.takeOver()
		if err := l.readFirst(ctx, bell); err != nil {
			return err
		}
	}
	switch {
	case end.err != nil:
		if l.family.leaveTo(end.err) {
			return nil
		}
		return end.err
	case end.rests != nil:
		l.rests = append(l.rests, *end.rests)
		return nil
	case end.event == nil:
		return nil // the engine runs a child
	}
	l.unread = l.unread || l.held
	if err := l.take(ctx, end); err != nil {
		return err
	}
	if run, ok := f.effect.(agent.RunTool); ok && !run.Local() {
		l.point(host.PointOnceEnd)
	}
	return nil
}

// readFirst reads a child's mail before the child's return. The child has notified the leg by then.
func (l *leg) readFirst(ctx context.Context, bell <-chan struct{}) error {
	select {
	case <-bell:
		if err := l.look(ctx); err != nil {
			return err
		}
		return l.readMail(ctx)
	default:
		return nil
	}
}

// wake fires when the core wants to be woken.
func (l *leg) wake() (<-chan time.Time, func()) {
	at := l.position.State.Wake
	if at == 0 {
		return nil, func() {}
	}
	timer := time.NewTimer(max(time.UnixMilli(at).Sub(l.Now()), time.Millisecond))
	return timer.C, func() { timer.Stop() }
}
