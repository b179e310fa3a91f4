package durable

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/retinue-dev/retinue/internal/tool"
)

// gone reports whether the engine no longer waits for an activity. An engine that was slow to take a sign
// of life still may: then a leg ends what it has under way, and asks for its mail meanwhile.
func gone(cause error) bool {
	var nowhere *serviceerror.NamespaceNotFound
	return notFound(cause) || errors.As(cause, &nowhere) || errors.Is(cause, activity.ErrActivityPaused) ||
		errors.Is(cause, activity.ErrActivityReset)
}

// ask sends heartbeats in place of the SDK and passes on what the engine answers, until that is enough. The SDK ends an
// activity's context once, with the first reason: an activity that met a slow engine hears of nothing after that.
func (h *Host) ask(ctx, activityCtx context.Context, enough func(answer error) bool) {
	token := activity.GetInfo(activityCtx).TaskToken
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(h.heartbeats.pause()):
			if enough(h.Engine.RecordActivityHeartbeat(ctx, token)) {
				return
			}
		}
	}
}

// untilGone tells when the engine no longer waits for a leg whose context has ended for another reason. A leg that went on
// would hold a slot and pay for a reply that nobody takes.
func (h *Host) untilGone(ctx, activityCtx context.Context) <-chan error {
	lost := make(chan error, 1)
	go h.ask(ctx, activityCtx, func(answer error) bool {
		if !gone(answer) {
			return false
		}
		lost <- answer
		return true
	})
	return lost
}

// untilUnwanted is work until somebody asks the activity to stop, or the engine has given it up: then the
// model was told that nobody knows how it ends, and what goes on is nobody's. That the engine was slow to
// take a heartbeat ends the activity's own context too, but it still waits: what has begun goes on.
func (h *Host) untilUnwanted(activityCtx, work context.Context) context.Context {
	running, abort := context.WithCancelCause(work)
	unwanted := func(cause error) bool {
		var asked *temporal.CanceledError
		switch {
		case errors.As(cause, &asked):
			abort(cause)
		case gone(cause) && !errors.Is(cause, activity.ErrActivityPaused): // who pauses one lets its attempt end
			abort(fmt.Errorf("%w: %w", tool.ErrGivenUp, cause))
		}
		return running.Err() != nil
	}
	context.AfterFunc(activityCtx, func() {
		if !unwanted(context.Cause(activityCtx)) {
			h.ask(running, activityCtx, unwanted)
		}
	})
	return running
}
