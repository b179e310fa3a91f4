package leg

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
)

// startOf is the order to start an open child.
func (l *leg) startOf(c *agent.Child) agent.StartChild {
	e := agent.StartChild{Task: l.in.Agent + "/" + c.ID, Background: c.Background, Slots: c.Slots, Time: c.Time}
	e.Agent = l.child(e.Task).Agent
	return e
}

// startApart gives a child a run of its own. That it has one is on record before the engine hears
// of it, so that no later leg carries the child too. From then on the order is owed: a leg that
// cannot know whether it was carried out repeats it.
func (l *leg) startApart(ctx context.Context) error {
	e := l.apart[0]
	l.apart = l.apart[1:]
	if err := l.take(ctx, completion{event: agent.ChildStarted{At: l.At(), Task: e.Task, Apart: true}}); err != nil {
		return err
	}
	if l.position.State.Runs(e.Task) { // else it has been stopped meanwhile
		l.orderRun(ctx, e)
	}
	return nil
}

// ensureApart has the engine run the children that have runs of their own and have not ended.
func (l *leg) ensureApart(ctx context.Context) {
	s := &l.position.State
	for i := range s.Children {
		if c := s.Children[i]; c.State == agent.ChildRunning && c.Apart {
			l.orderRun(ctx, l.startOf(c))
		}
	}
}

// orderRun has the engine run a child, unless it does. The leg lasts until the engine has said so.
func (l *leg) orderRun(ctx context.Context, e agent.StartChild) {
	in := Begin{
		RunRef: l.child(e.Task), Parent: l.in.Agent, Background: e.Background, Slots: e.Slots, Time: e.Time, LegEffects: l.in.Effects,
	}
	l.inBackground(ctx, "run/"+e.Task, nil, func(ctx context.Context) completion { return completion{err: l.run(ctx, in)} })
}

// run has the engine run an agent, again and again until it does or the leg gives up. A refusal for
// good ends the task.
func (l *leg) run(ctx context.Context, in Begin) error {
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := l.order(ctx, in)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, ErrInvalidRun):
			l.Logger.ErrorContext(ctx, "the engine does not take a sub-agent", "agent", in.Agent, "error", err)
			return l.sendEnd(ctx, BrokenRun{RunRef: in.RunRef, Parent: in.Parent, Background: in.Background}, lostOutcome())
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("start the run of %s: %w", in.Agent, errors.Join(err, ctx.Err()))
		case <-time.After(pause):
		}
	}
}

// order tells the engine once to run an agent. A family of a thousand leaves the engine room for
// others.
func (l *leg) order(ctx context.Context, in Begin) error {
	select {
	case l.orders <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-l.orders }()
	l.point(host.PointStartChild)
	return l.Engine.Start(ctx, in, l.in.Queue)
}

// sendEnd closes the books of a task that cannot continue, and tells the parent by mail.
func (c *Carrier) sendEnd(ctx context.Context, in BrokenRun, o agent.Outcome) error {
	rows, err := c.closedTree(ctx, in.RunRef, o)
	if err != nil {
		return err
	}
	for _, row := range rows {
		end, ok := row.(journal.TaskEnded)
		if !ok || end.Task != in.Task {
			continue
		}
		told, err := childEnded(end, c.At())
		if err != nil {
			return err
		}
		body, err := agent.MarshalEvent(told)
		if err != nil {
			return err
		}
		rows = append(rows, endPost(in.Task, in.Parent, body))
		break
	}
	if _, err := c.Log.Append(ctx, in.Ref, c.Now(), rows...); err != nil {
		return err
	}
	c.tellEngine(ctx, in.Ref, in.Parent, SignalLook)
	return nil
}

// endPost tells a parent of the end of a child with a run of its own. There is one for each task.
func endPost(task, parent string, event []byte) journal.MailPosted {
	return journal.MailPosted{ID: task + "#" + agent.Finish{}.Key(), Topic: TopicAgent, To: parent, Event: event}
}

// lostOutcome is the outcome of a task that cannot continue.
func lostOutcome() agent.Outcome {
	kind := chat.KindInternal
	return agent.Outcome{Status: kind.Status(), Kind: kind, Reason: "lost"}
}
