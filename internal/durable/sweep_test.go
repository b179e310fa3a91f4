package durable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/leg"
)

// stuckEngine answers for one conversation only when it was told of another.
type stuckEngine struct {
	legless
	stuck, other string
	told         chan struct{}

	mu    sync.Mutex
	looks []string
}

func (e *stuckEngine) SignalWithStartWorkflow(
	ctx context.Context, id, _ string, _ any, _ client.StartWorkflowOptions, _ any, _ ...any,
) (client.WorkflowRun, error) {
	switch {
	case strings.Contains(id, e.stuck):
		select {
		case <-e.told:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	case strings.Contains(id, e.other):
		defer close(e.told)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.looks = append(e.looks, id)
	return nil, nil //nolint:nilnil // nobody looks at it
}

// TestASweepServesOthersMeanwhile has three posts of one conversation wait for an engine that does
// not answer, until another conversation of another tenant is served. Each orchestrator is told
// once to look.
func TestASweepServesOthersMeanwhile(t *testing.T) {
	t.Parallel()
	log, engine := journaltest.NewMemory(), &stuckEngine{stuck: "first", other: "second", told: make(chan struct{})}
	c := &Client{Log: log, Engine: engine}
	for i, id := range []string{"first", "second"} {
		ref := journal.Ref{Tenant: fmt.Sprint("t", i), Conversation: id}
		rows := []journal.Row{journal.Opened{By: "ann"}, journal.TaskAssigned{In: journal.In{Agent: host.Root, Task: host.Root}, Role: "main"}}
		for n := range 3 - 2*i {
			m := fmt.Sprint("m", n)
			rows = append(rows, journal.MessageReceived{ID: m, By: "ann"}, journal.MailPosted{ID: "message:" + m, Topic: leg.TopicMessage, To: host.Root})
		}
		if _, err := log.Append(t.Context(), ref, time.UnixMilli(int64(1+i)), rows...); err != nil {
			t.Fatal(err)
		}
	}
	sweeper := &Sweeper{Client: c}
	if done, err := sweeper.Pass(t.Context()); done != 4 || err != nil {
		t.Fatalf("%d of 4 posts were looked at: %v", done, err)
	}
	if slices.Sort(engine.looks); !slices.Equal(engine.looks, []string{"t0/first/main", "t1/second/main"}) {
		t.Errorf("the engine has %q look, want each orchestrator once", engine.looks)
	}
}

// legless is an engine of whose runs none has a leg under way.
type legless struct{ client.Client }

func (legless) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return &workflowservice.DescribeWorkflowExecutionResponse{}, nil
}

func (legless) SignalWorkflow(context.Context, string, string, string, any) error {
	return serviceerror.NewNotFound("it does not run")
}

// countingEngine counts how often an orchestrator is told, and no agent reads.
type countingEngine struct {
	legless
	told int
	down bool
}

func (e *countingEngine) SignalWithStartWorkflow(
	context.Context, string, string, any, client.StartWorkflowOptions, any, ...any,
) (client.WorkflowRun, error) {
	if e.down {
		return nil, errors.New("it does not answer")
	}
	e.told++
	return nil, nil //nolint:nilnil // nobody looks at it
}

// TestASweepSlowsDown has an agent that does not read its mail for an hour. The sweep tells it less
// and less often, and logs it. While the engine cannot be reached, each sweep tries. New mail is
// announced at once.
func TestASweepSlowsDown(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(10_000_000)
	log, engine, logged := journaltest.NewMemory(), &countingEngine{down: true}, &bytes.Buffer{}
	c := &Client{Log: log, Engine: engine, Now: func() time.Time { return now }, Logger: slog.New(slog.NewTextHandler(logged, nil))}
	say := func(conversation, id string) {
		t.Helper()
		_, err := log.Append(t.Context(), journal.Ref{Tenant: "t", Conversation: conversation}, now, journal.Opened{By: "ann"},
			journal.MessageReceived{ID: id, By: "ann"}, journal.MailPosted{ID: "message:" + id, Topic: leg.TopicMessage, To: host.Root})
		if err != nil {
			t.Fatal(err)
		}
	}
	say("deaf", "m1")
	s := &Sweeper{Client: c, Age: 2 * time.Second}
	sweep := func(over time.Duration) (failed int) {
		for end := now.Add(over); now.Before(end); now = now.Add(2 * time.Second) {
			if _, err := s.Pass(t.Context()); err != nil {
				failed++
			}
		}
		return failed
	}
	if failed := sweep(time.Minute); failed != 28 {
		t.Errorf("%d of 28 sweeps tried while the engine was down", failed)
	}
	engine.down = false
	sweep(time.Hour)
	if engine.told < 55 || engine.told > 70 {
		t.Errorf("the agent was told %d times in an hour, want about once a minute", engine.told)
	}
	if n := strings.Count(logged.String(), "agent=main mail=message:m1"); n != 1 {
		t.Errorf("somebody was told %d times of an agent that does not read, want once:\n%s", n, logged)
	}
	before := engine.told
	say("other", "m2")
	sweep(6 * time.Second)
	if engine.told == before {
		t.Error("nobody was told of the mail that came later")
	}
	ref := journal.Ref{Tenant: "t", Conversation: "deaf"}
	if _, err := log.Append(t.Context(), ref, now, journal.MailDelivered{ID: "message:m1"}); err != nil {
		t.Fatal(err)
	}
	sweep(2 * time.Second)
	if len(s.tried) != 1 {
		t.Errorf("%d posts are remembered, want that of the other alone", len(s.tried))
	}
}
