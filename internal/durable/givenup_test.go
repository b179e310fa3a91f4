package durable

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/leg"
)

// slowEngine does not answer for a while, then reports for a while that the activity is paused, and
// then gives its real answer.
type slowEngine struct {
	client.Client
	silent, paused int64
	says           error
	beats          atomic.Int64
}

func (e *slowEngine) RecordActivityHeartbeat(context.Context, []byte, ...any) error {
	n := e.beats.Add(1)
	answer := e.says
	switch {
	case n <= e.silent:
		answer = context.DeadlineExceeded
	case n <= e.silent+e.paused:
		answer = activity.ErrActivityPaused
	}
	return answer
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

// TestAnEngineMayBeSlow has an activity meet an engine that is slow, and an operator who pauses it,
// and then gives it up or calls it back. While the engine is slow or the activity is paused, the
// activity is told nothing.
func TestAnEngineMayBeSlow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		paused int64
		says   error
		gone   string
	}{
		"given up":         {says: serviceerror.NewNotFound("activity already timed out"), gone: "already timed out"},
		"called back":      {says: temporal.NewCanceledError()},
		"paused, given up": {paused: 1, says: serviceerror.NewNotFound("activity already timed out"), gone: "already timed out"},
		"paused, called":   {paused: 1, says: temporal.NewCanceledError()},
	} {
		engine := &slowEngine{silent: 4, paused: c.paused, says: c.says}
		a := &activities{engine: engine}
		inActivity(t, func(activityCtx context.Context) {
			says := a.keepAlive(t.Context(), activityCtx)
			<-says.called.Done()
			if beats := engine.beats.Load(); beats < 5+c.paused {
				t.Errorf("%s: it was said after %d heartbeats, want %d", name, beats, 5+c.paused)
			}
			gone := context.Cause(says.gone)
			if (gone != nil) != (c.gone != "") || gone != nil && !strings.Contains(gone.Error(), c.gone) {
				t.Errorf("%s: the engine has given it up because of %v, want %q", name, gone, c.gone)
			}
		})
	}
}

// TestAnEngineThatIsNotHeard has an activity whose engine stops answering. The activity must not
// run beside a successor for ever.
func TestAnEngineThatIsNotHeard(t *testing.T) {
	t.Parallel()
	engine := &slowEngine{silent: 1 << 40}
	a := &activities{engine: engine, heartbeats: heartbeats{unheard: 2 * beat}}
	inActivity(t, func(activityCtx context.Context) {
		says := a.keepAlive(t.Context(), activityCtx)
		<-says.called.Done()
		if why := context.Cause(says.gone); !errors.Is(why, errUnheard) || engine.beats.Load() < 2 {
			t.Errorf("after %d heartbeats it was given up because of %v", engine.beats.Load(), why)
		}
	})
}

// TestAWorkerThatStoodStill has a worker sleep or be paused. A leg that ran before is given up,
// even if the engine keeps it. One that begins afterwards is not.
func TestAWorkerThatStoodStill(t *testing.T) {
	t.Parallel()
	a := &activities{engine: &slowEngine{}}
	inActivity(t, func(activityCtx context.Context) {
		before := a.keepAlive(t.Context(), activityCtx)
		for a.heartbeats.running.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		watch, stop := context.WithTimeout(t.Context(), 2*presentBeat)
		defer stop()
		a.heartbeats.watchStandstill(watch, time.Hour)
		if why := context.Cause(before.gone); why != nil {
			t.Errorf("it was given up although nothing stood still: %v", why)
		}
		watch, stop = context.WithTimeout(t.Context(), 2*presentBeat)
		defer stop()
		a.heartbeats.watchStandstill(watch, presentBeat/2) // each of its rounds takes longer
		<-before.called.Done()
		if why := context.Cause(before.gone); !errors.Is(why, errStoodStill) {
			t.Errorf("it was given up because of %v", why)
		}
		after := a.keepAlive(t.Context(), activityCtx)
		for a.heartbeats.running.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		a.heartbeats.atOnce()
		time.Sleep(presentBeat)
		if why := context.Cause(after.gone); why != nil {
			t.Errorf("what began after was given up because of %v", why)
		}
	})
}

// TestErrorsOfLegs has legs end with errors. The engine is told which to retry, and when. A leg
// whose worker stood still is lost: its workflow starts another at once.
func TestErrorsOfLegs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err   error
		never bool
		kind  string
		later time.Duration
	}{
		"refused": {err: fmt.Errorf("read: %w", &chat.Error{Code: chat.CodeNotFound, Message: "it was removed"}), never: true, kind: "refused"},
		"asleep":  {err: fmt.Errorf("this leg is given up: %w", errStoodStill), never: true, kind: errorLost},
		"broken":  {err: errors.New("the connection broke")},
		"busy":    {err: &leg.Busy{Later: time.Second}, kind: "busy", later: time.Second},
	} {
		told, _ := errors.AsType[*temporal.ApplicationError](final(c.err))
		if never := told != nil && told.NonRetryable(); never != c.never || !strings.Contains(final(c.err).Error(), c.err.Error()) {
			t.Errorf("%s: never again: %t, want %t: %v", name, never, c.never, final(c.err))
		}
		if told != nil && (told.NextRetryDelay() != c.later || told.Type() != c.kind) {
			t.Errorf("%s: %q, again after %v, want %q, %v", name, told.Type(), told.NextRetryDelay(), c.kind, c.later)
		}
	}
	if err := final(nil); err != nil {
		t.Errorf("nothing became %v", err)
	}
}
