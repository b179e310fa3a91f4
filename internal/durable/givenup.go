package durable

import (
	"errors"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

// givenUp reports whether the engine's answer to a heartbeat means that it no longer waits for the
// activity. It does wait for one that an operator has paused: that lets the attempt end.
func givenUp(answer error) bool {
	var nowhere *serviceerror.NamespaceNotFound
	return notFound(answer) || errors.As(answer, &nowhere) || errors.Is(answer, activity.ErrActivityReset)
}

// isCalled reports whether the engine's answer to a heartbeat calls the activity back.
func isCalled(answer error) bool {
	var cancelled *temporal.CanceledError
	return errors.As(answer, &cancelled)
}
