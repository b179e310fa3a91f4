package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/retinue-dev/retinue/internal/chat"
)

// ErrGivenUp is why a call is stopped that nobody waits for any more: its caller took the worker
// for lost and has said so. A goroutine that it leaves behind cannot tell the caller.
var ErrGivenUp = errors.New("the call was given up, because its worker was taken for lost")

// Run checks a call, runs it and bounds its result. A failure in the tool is a result that the
// model reads. A tool may set the end itself, when it can say more about a failure than an error;
// facts count after any end. An error means that there is no result to record: ctx ended.
func (s *Set) Run(ctx context.Context, call Call) (Result, error) {
	call, e, err := s.admit(call)
	if err != nil {
		return failed(err), nil
	}
	bounded, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	leaks, err := s.leaks(e)
	if err != nil {
		return failed(err), nil
	}
	bounded, traffic := record(bounded, call, leaks)
	r, err := guard(bounded, call, e.tool.Run)
	switch {
	case ctx.Err() != nil:
		return Result{}, fmt.Errorf("run %s: %w", e.Name, context.Cause(ctx))
	case err == nil:
		r.End = cmp.Or(r.End, EndOK)
	case errors.Is(err, context.DeadlineExceeded) && bounded.Err() != nil:
		r = Result{End: EndTimedOut, Facts: r.Facts, Text: fmt.Sprintf(
			"%s was stopped after %s. Ask for less: a smaller folder, a narrower pattern.", e.Name, e.Timeout)}
	default:
		facts := r.Facts
		r = failed(err)
		r.Facts = facts
	}
	r.Facts.Reached = traffic.reached()
	return s.shape(call, r), nil
}

// guard runs a tool and makes an error out of a panic.
func guard(ctx context.Context, call Call, run func(context.Context, Call) (Result, error)) (r Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			slog.ErrorContext(ctx, "tool panicked", "call", call.ID, "tool", call.Tool, "stack", string(debug.Stack()))
			err = fmt.Errorf("%s broke down inside; another call may work", call.Tool)
		}
	}()
	return run(ctx, call)
}

// failed is the result of a call that went wrong.
func failed(err error) Result {
	text := err.Error()
	if e, ok := errors.AsType[*chat.Error](err); ok {
		text = e.Message
	}
	return Result{End: EndFailed, Text: text}
}
