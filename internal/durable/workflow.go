package durable

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/leg"
)

// How a run is carried out by the engine.
const (
	// rollOverAt is the number of history events from which an idle run starts a new history.
	rollOverAt = 1500
	// historyEnd is the number of events at which a turn is stopped before the engine ends the run.
	historyEnd = 40_000
	// legTimeout bounds one leg. A leg ends long before that, unless a single call takes so long.
	legTimeout = 2 * time.Hour
	// taskTimeout is how long a worker may take to answer for a run before another is asked.
	taskTimeout = 2 * time.Second
	// choreTimeout bounds the short activities of the host itself.
	choreTimeout = 30 * time.Second
	// checkEvery is how often a run that waits for children with runs of their own has a leg check
	// whether the engine runs them.
	checkEvery = time.Minute
)

// run is one agent's workflow. It supervises: it waits for a look, a timer or the end of a leg, and
// starts legs. It knows ids and numbers, and nothing of the agent's work.
type run struct {
	in   leg.Begin
	last leg.Result
	mode leg.Mode
	leg  *legRun

	// began means that a leg has run in this history, look that mail was announced, and check that
	// children with runs of their own may be lost.
	began, look, check bool
	// ended counts the children that say that they have ended.
	ended int
	// tick is when the core wanted to be woken, if that time has come.
	tick int64
	// long means that the agent was told to stop, since the history is too long.
	long bool
	// wake is when the timer fires, in milliseconds since 1970.
	wake int64

	selector workflow.Selector
	broken   error
	fault    host.Fault
	// ring has a leg look at its mail that may run in this very process.
	ring func(journal.Ref, string) bool
}

// legRun is a leg under way.
type legRun struct {
	in      leg.Input
	flag    workflow.CancelFunc
	flagged bool
}

// Agent is the workflow of one agent, apart from any host.
func Agent(ctx workflow.Context, in leg.Begin) error { return carry(ctx, in, nil, nil) }

// carry takes one agent from its first leg to its last.
func carry(ctx workflow.Context, in leg.Begin, fault host.Fault, ring func(journal.Ref, string) bool) error {
	r := &run{in: in, selector: workflow.NewSelector(ctx), fault: fault, ring: ring}
	if in.Last != nil {
		r.last = *in.Last
	}
	r.selector.AddReceive(workflow.GetSignalChannel(ctx, signalLook), func(c workflow.ReceiveChannel, _ bool) {
		c.ReceiveAsync(nil)
		r.look = true
		r.flagLeg(ctx)
	})
	r.selector.AddReceive(workflow.GetSignalChannel(ctx, signalEnded), func(c workflow.ReceiveChannel, _ bool) {
		c.ReceiveAsync(nil)
		r.ended++
		r.flagLeg(ctx)
	})
	r.selector.AddReceive(workflow.GetSignalChannel(ctx, signalCheck), func(c workflow.ReceiveChannel, _ bool) {
		c.ReceiveAsync(nil)
		r.check = true
	})
	for {
		for r.selector.HasPending() {
			r.selector.Select(ctx)
		}
		switch {
		case r.broken != nil:
			r.recordBroken(ctx)
			return r.broken
		case r.leg != nil:
		case r.rollsOver(ctx):
			// A new history is the time to go over to a newer build, if runs are kept to theirs.
			return workflow.NewContinueAsNewErrorWithOptions(ctx, workflow.ContinueAsNewErrorOptions{
				InitialVersioningBehavior: workflow.ContinueAsNewVersioningBehaviorAutoUpgrade,
			}, workflowAgent, r.next())
		case r.due(ctx):
			r.startLeg(ctx)
		case r.last.Next == leg.NextEnd:
			r.point(host.PointEnded)
			return nil
		}
		r.setTimer(ctx)
		r.selector.Select(ctx)
	}
}

// due reports whether there is something to do for a leg.
func (r *run) due(ctx workflow.Context) bool {
	switch {
	case !r.began, r.mode != leg.ModeNext, r.look, r.check, r.tick != 0, r.last.Next == leg.NextLeg:
		return true
	case r.ended > 0 && r.ended >= r.last.Await:
		return true
	}
	return r.tooLong(ctx)
}

// recordBroken records that a run cannot continue, so that nobody waits for it.
func (r *run) recordBroken(ctx workflow.Context) {
	chore := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: choreTimeout})
	c := leg.BrokenRun{RunRef: r.in.RunRef, Parent: r.in.Parent, Background: r.in.Background, N: r.last.N}
	if err := workflow.ExecuteActivity(chore, activityRecordBroken, c).Get(ctx, nil); err != nil {
		workflow.GetLogger(ctx).Error("cannot record that a run broke", "error", err)
	}
}

// setTimer wakes the run at the core's wake-up time, and when it is time to check children. A timer
// that comes too early does no harm, so one that is set is never taken back.
func (r *run) setTimer(ctx workflow.Context) {
	if r.leg != nil {
		return
	}
	want := r.last.Wake
	if r.last.Await > 0 {
		if next := workflow.Now(ctx).Add(checkEvery).UnixMilli(); want == 0 || next < want {
			want = next
		}
	}
	if want == 0 || r.wake != 0 && r.wake <= want {
		return
	}
	r.wake = want
	delay := max(time.UnixMilli(want).Sub(workflow.Now(ctx)), time.Millisecond)
	r.selector.AddFuture(workflow.NewTimer(ctx, delay), func(f workflow.Future) {
		if f.Get(ctx, nil) != nil || r.wake != want {
			return
		}
		r.wake = 0
		if r.leg != nil {
			return
		}
		if r.last.Wake != 0 && r.last.Wake <= want {
			r.tick = want
		}
		r.check = r.check || r.last.Await > 0
	})
}

// tooLong reports whether the engine's history is about to grow past its limit within a turn.
func (r *run) tooLong(ctx workflow.Context) bool {
	return !r.long && r.last.Next != leg.NextIdle && r.last.Next != leg.NextEnd && workflow.GetInfo(ctx).GetCurrentHistoryLength() > historyEnd
}

// rollsOver reports whether to begin a new history now: nothing is under way, and the sub-agents
// run on their own. A long history ends when a message arrives. At the end of a turn the next
// message may be about to come, and the engine refuses to begin a history while a signal arrives; a
// person who has just written waits for the answer. A newer build takes over at once, since others
// wait for that.
func (r *run) rollsOver(ctx workflow.Context) bool {
	if r.last.Next != leg.NextIdle || !r.began || r.mode != leg.ModeNext || r.check || r.ended > 0 {
		return false
	}
	info := workflow.GetInfo(ctx)
	if !r.look {
		return info.GetTargetWorkerDeploymentVersionChanged()
	}
	return info.GetCurrentHistoryLength() > rollOverAt || info.GetContinueAsNewSuggested() || info.GetTargetWorkerDeploymentVersionChanged()
}

// next is the input of the new history. Its first leg looks at the mail.
func (r *run) next() leg.Begin {
	in := r.in
	in.Last = &r.last
	return in
}

// flagLeg tells a leg of mail. A leg that is told once looks for more by itself.
func (r *run) flagLeg(ctx workflow.Context) {
	if r.leg == nil {
		return
	}
	if !r.leg.flagged {
		r.leg.flagged = true
		r.leg.flag()
	}
	if r.ring != nil && !workflow.IsReplaying(ctx) {
		r.ring(r.in.Ref, r.in.Agent)
		r.point(host.PointMailFlagged)
	}
}

// startLeg starts a leg that runs the agent.
func (r *run) startLeg(ctx workflow.Context) {
	in := leg.Input{
		RunRef: r.in.RunRef, Parent: r.in.Parent, Background: r.in.Background, Slots: r.in.Slots, Time: r.in.Time, Mode: r.mode,
		N: r.last.N, Base: r.last.Base, Check: r.check, Queue: workflow.GetInfo(ctx).TaskQueueName, Tick: r.tick, Long: r.tooLong(ctx),
		Effects: r.in.LegEffects,
	}
	r.began, r.look, r.check, r.tick, r.ended, r.long = true, false, false, 0, 0, r.long || in.Long
	queue := queueOf(r.in.At())
	if in.Mode == leg.ModeDetour {
		queue = in.Queue
	}
	legCtx, flag := workflow.WithCancel(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: queue, StartToCloseTimeout: legTimeout, HeartbeatTimeout: legSilence,
		WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 5 * time.Second,
		},
	}))
	r.point(host.PointLegStart)
	r.leg = &legRun{in: in, flag: flag}
	r.selector.AddFuture(workflow.ExecuteActivity(legCtx, activityLeg, in), func(f workflow.Future) {
		var out leg.Result
		err := f.Get(ctx, &out)
		r.point(host.PointLegDone)
		r.legDone(out, err)
	})
}

// legDone handles the result of a leg. A lost leg is run again: it finds the records of the lost
// one.
func (r *run) legDone(out leg.Result, err error) {
	in := r.leg.in
	r.leg = nil
	var final *temporal.ApplicationError
	switch {
	case errors.As(err, &final) && final.NonRetryable() && final.Type() != errorLost:
		r.broken = err
		return
	case err != nil:
		r.mode = leg.ModeAgain
		if temporal.IsCanceledError(err) {
			// No worker has the leg now: none has taken it yet, or the one that had it is lost. If
			// no worker serves the workspace, mail must not wait for one to come.
			r.mode = leg.ModeDetour
		}
		r.check = r.check || in.Check
		r.tick, r.long = max(r.tick, in.Tick), r.long && !in.Long
		return
	}
	r.last, r.mode = out, leg.ModeNext
	if out.Dropped {
		r.mode = leg.ModeAgain
	}
}

func (r *run) point(p host.Point) { r.fault.At(p, r.in.Ref, r.in.Task) }
