package durable

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/retinue-dev/retinue/internal/tool"
)

// slowEngine does not answer for a while. Then it says what it says.
type slowEngine struct {
	client.Client
	silent       int64
	says         error
	beats, mails atomic.Int64
}

func (e *slowEngine) RecordActivityHeartbeat(context.Context, []byte, ...any) error {
	if e.beats.Add(1) <= e.silent {
		return context.DeadlineExceeded
	}
	return e.says
}

func (e *slowEngine) QueryWorkflow(context.Context, string, string, string, ...any) (converter.EncodedValue, error) {
	e.mails.Add(1)
	return nil, context.DeadlineExceeded
}

// inActivity runs something as an activity whose context has ended because the engine was slow.
func inActivity(t *testing.T, do func(activityCtx context.Context)) {
	t.Helper()
	env := new(testsuite.WorkflowTestSuite).NewTestActivityEnvironment()
	one := func(ctx context.Context) error {
		slow, end := context.WithCancelCause(ctx)
		end(context.DeadlineExceeded)
		do(slow)
		return nil
	}
	env.RegisterActivity(one)
	if _, err := env.ExecuteActivity(one); err != nil {
		t.Error(err)
	}
}

// TestALegThatWasGivenUpEnds has a leg meet an engine that is slow first and then has given it up. The leg ends, although
// its call is still under way. Until then it asks for its mail less and less often.
func TestALegThatWasGivenUpEnds(t *testing.T) {
	t.Parallel()
	engine := &slowEngine{silent: 11, says: serviceerror.NewNotFound("activity already timed out")}
	h := NewHost(Options{Engine: engine, Logger: slog.New(slog.DiscardHandler)})
	inActivity(t, func(activityCtx context.Context) {
		work, stop := context.WithCancel(t.Context())
		defer stop()
		l := h.newLeg(LegInput{})
		l.flights["call"] = &flight{cancel: func() {}}
		if err := l.carryOn(activityCtx, work); err == nil || !strings.Contains(err.Error(), "given this leg up") {
			t.Errorf("the leg ends with %v", err)
		}
	})
	if beats, mails := engine.beats.Load(), engine.mails.Load(); beats != 12 || mails > beats/2 {
		t.Errorf("%d heartbeats, and %d questions for mail that nobody answers", beats, mails)
	}
}

// TestACallEndsWhenItIsUnwanted has calls meet a slow engine, which then says that it wants the call no more, or says nothing.
func TestACallEndsWhenItIsUnwanted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		says, want error
	}{
		"given up":  {serviceerror.NewNotFound("activity already timed out"), tool.ErrGivenUp},
		"cancelled": {temporal.NewCanceledError(), temporal.NewCanceledError()},
	} {
		engine := &slowEngine{silent: 2, says: c.says}
		h := NewHost(Options{Engine: engine})
		inActivity(t, func(activityCtx context.Context) {
			running := h.untilUnwanted(activityCtx, t.Context())
			<-running.Done()
			cause := context.Cause(running)
			var asked *temporal.CanceledError
			if errors.Is(c.want, tool.ErrGivenUp) != errors.Is(cause, tool.ErrGivenUp) || errors.As(c.want, &asked) != errors.As(cause, &asked) {
				t.Errorf("%s: the call ends with %v", name, cause)
			}
			if n := engine.beats.Load(); n != 3 {
				t.Errorf("%s: the call ended after %d answers, want 3", name, n)
			}
		})
	}
}
