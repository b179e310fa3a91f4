package durable

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/retinue-dev/retinue/internal/tool"
)

// isGone reports whether the engine's answer to a heartbeat means that it no longer waits for the activity.
func isGone(answer error) bool {
	var nowhere *serviceerror.NamespaceNotFound
	return notFound(answer) || errors.As(answer, &nowhere) || errors.Is(answer, activity.ErrActivityPaused) ||
		errors.Is(answer, activity.ErrActivityReset)
}

// isCalled reports whether the engine's answer to a heartbeat calls the activity back.
func isCalled(answer error) bool {
	var cancelled *temporal.CanceledError
	return errors.As(answer, &cancelled)
}

// untilUnwanted is work until somebody asks a tool call to stop, or the engine has given it up: then the model was told that nobody
// knows how it ends, and what goes on is nobody's. Who pauses an activity lets its attempt end.
func (w wish) untilUnwanted(work context.Context) context.Context {
	running, abort := context.WithCancelCause(work)
	context.AfterFunc(w.called, func() {
		switch cause := context.Cause(w.called); {
		case isCalled(cause):
			abort(cause)
		case isGone(cause) && !errors.Is(cause, activity.ErrActivityPaused):
			abort(fmt.Errorf("%w: %w", tool.ErrGivenUp, cause))
		}
	})
	return running
}
