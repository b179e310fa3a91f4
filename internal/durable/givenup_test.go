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
	// early is how often somebody asked for mail before it answered.
	early atomic.Int64
	// atMail is called when somebody asks for mail.
	atMail func()
}

func (e *slowEngine) RecordActivityHeartbeat(context.Context, []byte, ...any) error {
	if e.beats.Add(1) <= e.silent {
		e.early.Store(e.mails.Load())
		return context.DeadlineExceeded
	}
	return e.says
}

func (e *slowEngine) QueryWorkflow(context.Context, string, string, string, ...any) (converter.EncodedValue, error) {
	e.mails.Add(1)
	e.atMail()
	return nil, context.DeadlineExceeded
}

// inActivity runs something as an activity.
func inActivity(t *testing.T, do func(activityCtx context.Context)) {
	t.Helper()
	env := new(testsuite.WorkflowTestSuite).NewTestActivityEnvironment()
	one := func(ctx context.Context) error {
		do(ctx)
		return nil
	}
	env.RegisterActivity(one)
	if _, err := env.ExecuteActivity(one); err != nil {
		t.Error(err)
	}
}

// TestALegOutlastsASlowEngine has a leg meet an engine that is slow, and then gives the leg up or calls it back. While the engine is
// slow, the leg does not ask for mail and goes on to begin what is next. When it is given up, it ends although its call is still
// under way. When it is called back, it asks for its mail.
func TestALegOutlastsASlowEngine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		says  error
		ends  string
		mails bool
	}{
		"given up":    {says: serviceerror.NewNotFound("activity already timed out"), ends: "already timed out"},
		"called back": {says: temporal.NewCanceledError(), ends: "context canceled", mails: true},
	} {
		engine := &slowEngine{silent: 4, says: c.says}
		h := NewHost(Options{Engine: engine, Logger: slog.New(slog.DiscardHandler)})
		inActivity(t, func(activityCtx context.Context) {
			work, stop := context.WithCancel(t.Context())
			defer stop()
			l := h.newLeg(LegInput{})
			l.flights["call"] = &flight{cancel: func() {}}
			wish := h.keepAlive(work, activityCtx)
			engine.atMail = stop
			if err := l.carryOn(work, wish, nil); err == nil || !strings.Contains(err.Error(), c.ends) {
				t.Errorf("%s: the leg ends with %v", name, err)
			}
			if beats, early := engine.beats.Load(), engine.early.Load(); beats < 5 || early > 0 {
				t.Errorf("%s: the leg ends after %d heartbeats, want 5, and asked for mail %d times before, want none", name, beats, early)
			}
			if l.yield != c.mails || (engine.mails.Load() > 0) != c.mails {
				t.Errorf("%s: it begins nothing more: %v, questions for mail: %d", name, l.yield, engine.mails.Load())
			}
		})
	}
}

// TestACallEndsWhenItIsUnwanted has calls meet a slow engine, which then says that it wants the call no more.
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
			work, stop := context.WithCancel(t.Context())
			defer stop()
			running := h.keepAlive(work, activityCtx).untilUnwanted(work)
			<-running.Done()
			cause := context.Cause(running)
			if errors.Is(c.want, tool.ErrGivenUp) != errors.Is(cause, tool.ErrGivenUp) || isCalled(c.want) != isCalled(cause) {
				t.Errorf("%s: the call ends with %v", name, cause)
			}
			if n := engine.beats.Load(); n != 3 {
				t.Errorf("%s: the call ended after %d answers, want 3", name, n)
			}
		})
	}
}
