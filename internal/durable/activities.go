package durable

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/leg"
)

// activities are what workflows leave to a carrier.
type activities struct {
	engine  Engine
	carrier *leg.Carrier
	client  *Client
	// presence is nil in tests without an engine's server.
	presence   *presence
	heartbeats heartbeats
}

// agent is the workflow of one agent. Mail for a leg that runs in this very process goes there
// without the engine.
func (a *activities) agent(ctx workflow.Context, in leg.Begin) error {
	return carry(ctx, in, a.carrier.Fault, a.carrier.Notify)
}

// leg runs an agent for as long as the engine waits for the activity.
func (a *activities) leg(ctx context.Context, in leg.Input) (leg.Result, error) {
	if a.presence != nil {
		if err := a.presence.show(ctx); err != nil {
			return leg.Result{}, fmt.Errorf("tell the engine that this worker is alive: %w", err)
		}
	}
	// When the engine calls a leg back, the leg still finishes its work under way.
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	info, engine := activity.GetInfo(ctx), a.keepAlive(work, ctx)
	out, err := a.carrier.Leg(work, in, leg.Watch{
		Called: engine.called, Gone: engine.gone, Drained: activity.GetWorkerStopChannel(ctx),
		Name: fmt.Sprintf("%s.%d", info.ActivityID, info.Attempt), Again: info.Attempt > 1,
	})
	return out, final(err)
}

// release has the engine give the legs of a lost worker to others.
func (a *activities) release(ctx context.Context, worker string) (int, error) {
	working, stop := context.WithCancel(ctx)
	defer stop()
	go func() { // this worker may die too
		for token := activity.GetInfo(ctx).TaskToken; wait(working, presentBeat); {
			_ = heartbeat(working, a.engine, token)
		}
	}()
	released, err := a.client.release(ctx, worker)
	if released > 0 || err != nil {
		a.client.Logger.WarnContext(ctx, "a worker is lost: others run its legs", "worker", worker, "legs", released, "error", err)
	}
	return released, err
}

// recordBroken records that a run broke.
func (a *activities) recordBroken(ctx context.Context, c leg.BrokenRun) error {
	return final(a.carrier.RecordBroken(ctx, c))
}

// review looks at arguments that a person would give a call.
func (a *activities) review(ctx context.Context, in leg.ReviewInput) (leg.Reviewed, error) {
	out, err := a.carrier.Review(ctx, in)
	return out, final(err)
}

// final tells the engine which errors a retry cannot help, and when to retry a leg that found no
// place. The workflow itself starts another leg after one that stood still. A conversation that was
// removed has no books to close, and a run that kept trying would never end.
func final(err error) error {
	if busy, ok := errors.AsType[*leg.Busy](err); ok {
		return temporal.NewApplicationErrorWithOptions(busy.Error(), "busy", temporal.ApplicationErrorOptions{NextRetryDelay: busy.Later})
	}
	if errors.Is(err, errStoodStill) {
		return temporal.NewNonRetryableApplicationError(err.Error(), errorLost, err)
	}
	if err == nil || !host.Refused(err) {
		return err
	}
	return temporal.NewNonRetryableApplicationError(err.Error(), "refused", err)
}
