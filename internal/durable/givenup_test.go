package durable

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/tool"
)

// slowEngine does not answer for a while, and then says for a while that the activity is paused. Then it says what it says.
type slowEngine struct {
	client.Client
	silent, paused int64
	says           error
	beats          atomic.Int64
	// answers is called with each answer.
	answers func(error)
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
	if e.answers != nil {
		e.answers(answer)
	}
	return answer
}

func (e *slowEngine) SignalWorkflow(context.Context, string, string, string, any) error { return nil }

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

// countingMail counts how often somebody looks for mail.
type countingMail struct {
	journal.Log
	looks  atomic.Int64
	looked func()
}

func (c *countingMail) Mail(context.Context, journal.Place, string) ([]journal.Entry, error) {
	c.looks.Add(1)
	c.looked()
	return nil, nil
}

// TestALegOutlastsASlowEngine has a leg meet an engine that is slow, and an operator who pauses it, and then gives the leg up or calls
// it back. While the engine is slow, and when it is paused, the leg goes on. When it is given up, it ends although its call is still
// under way, and the call is told why. When it is called back, it looks at its mail.
func TestALegOutlastsASlowEngine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		paused int64
		says   error
		ends   string
		mails  bool
	}{
		"given up":         {says: serviceerror.NewNotFound("activity already timed out"), ends: "already timed out"},
		"called back":      {says: temporal.NewCanceledError(), ends: "", mails: true},
		"paused, given up": {paused: 1, says: serviceerror.NewNotFound("activity already timed out"), ends: "already timed out"},
		"paused, called":   {paused: 1, says: temporal.NewCanceledError(), ends: "", mails: true},
	} {
		var early atomic.Int64
		mail := &countingMail{Log: journaltest.NewMemory()}
		engine := &slowEngine{silent: 4, paused: c.paused, says: c.says, answers: func(answer error) {
			if !errors.Is(answer, c.says) {
				early.Store(mail.looks.Load())
			}
		}}
		h := NewHost(Options{Engine: engine, Log: mail, Logger: slog.New(slog.DiscardHandler)})
		inActivity(t, func(activityCtx context.Context) {
			work, stop := context.WithCancel(t.Context())
			defer stop()
			l := h.newLeg(LegInput{})
			call, cancel := context.WithCancelCause(work)
			l.flights["call"] = &flight{cancel: cancel}
			mail.looked = func() { l.landed <- landing{key: "call", event: agent.Ticked{}} }
			l.family = newFamily(time.Now(), h.keepAlive(work, activityCtx), nil, false)
			err := l.carryOn(work, nil)
			if c.ends == "" && err != nil || c.ends != "" && (err == nil || !strings.Contains(err.Error(), c.ends)) {
				t.Errorf("%s: the leg ends with %v, want %q", name, err, c.ends)
			}
			if beats := engine.beats.Load(); beats < 5+c.paused || early.Load() > 0 {
				t.Errorf("%s: the leg ends after %d heartbeats, and looked for mail %d times before it was told", name, beats, early.Load())
			}
			if (mail.looks.Load() > 0) != c.mails || errors.Is(context.Cause(call), tool.ErrGivenUp) == c.mails {
				t.Errorf("%s: %d looks for mail, and the call is told %v", name, mail.looks.Load(), context.Cause(call))
			}
		})
	}
}
