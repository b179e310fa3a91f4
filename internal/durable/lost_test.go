package durable

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/leg"
)

// two is an orchestrator who answers two messages.
const two = `
name: two
rules:
  - {name: second, when: {text: 'two'}, reply: {text: 'Second.'}}
  - {name: first, reply: {text: 'First.'}}
`

// TestACancelledLegMayHaveBegun has a worker die when it has taken a message in, and the engine
// cancel the leg before it tries again. Another worker has the cache of the leg before. It must not
// treat that as complete: the message is answered.
func TestACancelledLegMayHaveBegun(t *testing.T) {
	t.Parallel()
	s := newStage(t, two, nil)
	other := leg.New(s.carrier.Options)
	other.Fault = func(p host.Point, _ journal.Ref, _ string) {
		if p == host.PointLegAppended {
			panic(errLost{})
		}
	}
	var said bool
	var modes []leg.Mode // of the legs since the second message
	s.env.RegisterActivityWithOptions(func(ctx context.Context, in leg.Input) (out leg.Result, err error) {
		if said {
			modes = append(modes, in.Mode)
		}
		if len(modes) != 1 {
			return s.does.leg(ctx, in)
		}
		defer func() {
			if recover() != nil {
				err = temporal.NewCanceledError()
			}
		}()
		return (&activities{engine: s.does.engine, carrier: other}).leg(ctx, in)
	}, activity.RegisterOptions{Name: activityLeg, DisableAlreadyRegisteredCheck: true})
	s.play("one", map[time.Duration]func(){time.Minute: func() {
		said = true
		s.say("m2", "two", "")
	}})
	s.says("First.", "Second.")
	if want := []leg.Mode{leg.ModeNext, leg.ModeDetour, leg.ModeAgain}; len(modes) < 3 || !slices.Equal(modes[:3], want) {
		t.Errorf("legs of the modes %q, want %q", modes, want)
	}
}

// refusing is a journal that refuses to give the steps of one task, the first time.
type refusing struct {
	journal.Log
	task  string
	asked atomic.Int64
}

func (r *refusing) Steps(ctx context.Context, ref journal.Ref, task string, after int) ([]journal.Stepped, error) {
	if task == r.task && r.asked.Add(1) == 1 {
		return nil, &chat.Error{Code: chat.CodeInvalid, Message: "broken"}
	}
	return r.Log.Steps(ctx, ref, task, after)
}

// TestABrokenRun has a helper's run break, and the lead's own. The books of the helper are closed,
// and the lead is told; that the lead's turn has failed is on record.
func TestABrokenRun(t *testing.T) {
	t.Parallel()
	s := newStage(t, ringing, nil)
	s.carrier.Log = &refusing{Log: s.log, task: "main/1.0.0"}
	s.play("ring", nil)
	s.says("It is failed.")

	s = newStage(t, ringing, nil)
	s.carrier.Log = &refusing{Log: s.log, task: host.Root}
	if err := s.run("ring", nil); err == nil {
		t.Error("a lead without steps goes on")
	}
	ends := rowsOf[journal.TurnEnded](s)
	if len(ends) != 1 || ends[0].Reason != "broken" {
		t.Errorf("the turn ended with %+v", ends)
	}
}

// TestTheLegOfALostWorker loses the worker of a leg after the leg has read the message, and
// releases the leg. Another leg continues at once.
func TestTheLegOfALostWorker(t *testing.T) {
	t.Parallel()
	lost, modes := false, []leg.Mode{}
	s := newStage(t, two, func(p host.Point, _ journal.Ref, _ string) {
		if p == host.PointLegAppended && !lost {
			lost = true
			panic(errLost{})
		}
	})
	s.env.RegisterActivityWithOptions(func(ctx context.Context, in leg.Input) (out leg.Result, err error) {
		modes = append(modes, in.Mode)
		defer func() {
			if recover() != nil {
				err = temporal.NewNonRetryableApplicationError("the worker is lost", errorLost, nil)
			}
		}()
		return s.does.leg(ctx, in)
	}, activity.RegisterOptions{Name: activityLeg, DisableAlreadyRegisteredCheck: true})
	s.play("one", nil)
	s.says("First.")
	if len(modes) < 2 || modes[1] != leg.ModeAgain {
		t.Errorf("legs of the modes %q, want one that goes on after another", modes)
	}
}

// TestALookDuringALeg announces mail while a leg runs that has looked for the last time. Another
// leg looks again.
func TestALookDuringALeg(t *testing.T) {
	t.Parallel()
	s := newStage(t, two, nil)
	legs := 0
	s.env.RegisterActivityWithOptions(func(context.Context, leg.Input) (leg.Result, error) {
		switch legs++; legs {
		case 1:
			s.must(s.env.SignalWorkflowByID(host.RunID(s.ref, host.Root), signalLook, nil))
			time.Sleep(100 * time.Millisecond) // the workflow hears of it first
			return leg.Result{Next: leg.NextIdle}, nil
		default:
			return leg.Result{Next: leg.NextEnd}, nil
		}
	}, activity.RegisterOptions{Name: activityLeg, DisableAlreadyRegisteredCheck: true})
	s.env.RegisterDelayedCallback(func() {
		if legs != 2 {
			t.Errorf("%d legs ran, want 2", legs)
		}
	}, time.Hour)
	s.play("one", nil)
}
