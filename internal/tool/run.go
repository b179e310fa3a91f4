package tool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Run checks a call, runs it and bounds what comes back. What goes wrong in the tool is a result that
// the model reads. An error means that there is no result to record: ctx ended, or the spill could
// not keep the text.
func (s *Set) Run(ctx context.Context, call Call) (Result, error) {
	if err := s.Check(call); err != nil {
		return failed(err), nil
	}
	e := s.entries[s.byName[call.Tool]]
	call.Tool = e.Name
	bounded, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	r, err := guard(bounded, e.tool, call)
	switch {
	case ctx.Err() != nil:
		return Result{}, fmt.Errorf("run %s: %w", e.Name, context.Cause(ctx))
	case err == nil:
		r.End = EndOK
	case errors.Is(err, context.DeadlineExceeded) && bounded.Err() != nil:
		r = Result{End: EndTimedOut, Text: fmt.Sprintf(
			"%s was stopped after %s. Ask for less: a smaller folder, a narrower pattern.", e.Name, e.Timeout)}
	default:
		r = failed(err)
	}
	return s.shape(ctx, call, r)
}

// guard runs a tool and makes an error out of a panic.
func guard(ctx context.Context, t Tool, call Call) (r Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			slog.ErrorContext(ctx, "tool panicked", "call", call.ID, "tool", call.Tool, "stack", string(debug.Stack()))
			err = fmt.Errorf("%s broke down inside; another call may work", call.Tool)
		}
	}()
	return t.Run(ctx, call)
}

// failed is the result of a call that went wrong.
func failed(err error) Result {
	text := err.Error()
	if e, ok := errors.AsType[*chat.Error](err); ok {
		text = e.Message
	}
	return Result{End: EndFailed, Text: text}
}
