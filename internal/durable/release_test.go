package durable

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"google.golang.org/grpc"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/leg"
)

// legEngine has runs, each with a leg that a worker has, and notes which legs are released.
type legEngine struct {
	client.Client
	// of are the workers by run; "waits" means that no worker has the leg now.
	of map[string]string
	// present are the live workers.
	present []string

	mu       sync.Mutex
	released []string
}

func (e *legEngine) DescribeWorkflowExecution(_ context.Context, id, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	out := &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
		Status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING, Execution: &common.WorkflowExecution{WorkflowId: id, RunId: "run of " + id},
	}}
	worker, ok := e.of[id]
	switch {
	case slices.Contains(e.present, strings.TrimPrefix(id, presenceID(""))):
		return out, nil
	case !ok:
		return nil, serviceerror.NewNotFound("it does not run")
	}
	state := enums.PENDING_ACTIVITY_STATE_STARTED
	if worker == "waits" {
		state, worker = enums.PENDING_ACTIVITY_STATE_SCHEDULED, "lost"
	}
	for _, name := range []string{activityLeg, activityRecordBroken} {
		out.PendingActivities = append(out.PendingActivities, &workflowpb.PendingActivityInfo{
			ActivityType: &common.ActivityType{Name: name}, ActivityId: name, State: state, LastWorkerIdentity: worker,
		})
	}
	return out, nil
}

func (e *legEngine) CompleteActivityByID(_ context.Context, _, id, run, activity string, result any, err error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	failure, _ := err.(*temporal.ApplicationError) //nolint:errorlint // it is not wrapped
	if run != "run of "+id || activity != activityLeg || result != nil || failure == nil || !failure.NonRetryable() || failure.Type() != errorLost {
		return serviceerror.NewInvalidArgument("run " + run + ", activity " + activity)
	}
	e.released = append(e.released, id)
	return nil
}

func (*legEngine) WorkflowService() workflowservice.WorkflowServiceClient { return cacheless{} }

// cacheless is the service of an engine that knows of no caches.
type cacheless struct {
	workflowservice.WorkflowServiceClient
}

func (cacheless) ResetStickyTaskQueue(
	context.Context, *workflowservice.ResetStickyTaskQueueRequest, ...grpc.CallOption,
) (*workflowservice.ResetStickyTaskQueueResponse, error) {
	return nil, errors.New("it knows of no caches")
}

func (e *legEngine) SignalWithStartWorkflow(
	context.Context, string, string, any, client.StartWorkflowOptions, any, ...any,
) (client.WorkflowRun, error) {
	return nil, nil //nolint:nilnil // nobody looks at it
}

// TestReleasesTheLegsOfALostWorker has a worker die that has legs of all kinds: in a turn, of a
// background task, of an agent that waits apart, and one that was begun for a message and has
// recorded nothing. Those of others stay where they are.
func TestReleasesTheLegsOfALostWorker(t *testing.T) {
	t.Parallel()
	log := journaltest.NewMemory()
	now := time.Now()
	running := func(conversation string, tasks ...journal.TaskAssigned) {
		ref := journal.Ref{Tenant: "t", Conversation: conversation}
		rows := []journal.Row{journal.Opened{By: "ann"}}
		for _, task := range tasks {
			rows = append(rows, task, journal.StatusChanged{In: task.In, Status: chat.StatusRunning})
		}
		if _, err := log.Append(t.Context(), ref, now, rows...); err != nil {
			t.Fatal(err)
		}
	}
	root := journal.TaskAssigned{In: journal.In{Agent: host.Root, Task: host.Root}, Role: "main"}
	child := func(name string, background bool) journal.TaskAssigned {
		return journal.TaskAssigned{In: journal.In{Agent: "main/" + name, Task: "main/" + name}, Parent: host.Root, Depth: 1, Role: "helper", Background: background}
	}
	running("turn", root, child("carried", false), child("apart", false), child("background", true))
	running("other", root)
	running("waits", root)
	idle := journal.Ref{Tenant: "t", Conversation: "new"}
	_, err := log.Append(t.Context(), idle, now, journal.Opened{By: "ann"}, root,
		journal.MailPosted{ID: "message:m1", Topic: leg.TopicMessage, To: host.Root})
	if err != nil {
		t.Fatal(err)
	}
	engine := &legEngine{of: map[string]string{
		"t/turn/main": "lost", "t/turn/main/apart": "lost", "t/turn/main/background": "lost", "t/new/main": "lost",
		"t/other/main": "another", "t/waits/main": "waits",
	}}
	c := &Client{Log: log, Engine: engine, Logger: slog.New(slog.DiscardHandler)}
	if n, err := c.release(t.Context(), "lost"); n != 4 || err != nil {
		t.Errorf("released %d legs, want 4: %v", n, err)
	}
	slices.Sort(engine.released)
	want := []string{"t/new/main", "t/turn/main", "t/turn/main/apart", "t/turn/main/background"}
	if diff := cmp.Diff(want, engine.released); diff != "" {
		t.Errorf("released (+) against the wanted (-):\n%s", diff)
	}
}

// TestASweepReleasesTheLegOfALostWorker has mail, or a deletion, wait for a leg whose worker died
// when the agent had nothing left to do, so that nobody released it. The sweeper does. A leg whose
// worker is alive reads in its own time.
func TestASweepReleasesTheLegOfALostWorker(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rows []journal.Row
		// told is how many posts are told: a deletion waits until the run has ended.
		told int
	}{
		"mail": {[]journal.Row{
			journal.TaskAssigned{In: journal.In{Agent: host.Root, Task: host.Root}, Role: "main"},
			journal.MailPosted{ID: "message:m1", Topic: leg.TopicMessage, To: host.Root},
		}, 1},
		"a deletion": {[]journal.Row{journal.MailPosted{ID: journal.Erasure, Topic: leg.TopicErase}}, 0},
	} {
		for worker, released := range map[string]int{"lost": 1, "there": 0} {
			log := journaltest.NewMemory()
			engine := &legEngine{of: map[string]string{"t/c/main": worker}, present: []string{"there"}}
			client := &Client{Log: log, Engine: engine, Logger: slog.New(slog.DiscardHandler)}
			ref := journal.Ref{Tenant: "t", Conversation: "c"}
			if _, err := log.Append(t.Context(), ref, time.Now(), append([]journal.Row{journal.Opened{By: "ann"}}, c.rows...)...); err != nil {
				t.Fatal(err)
			}
			if n, err := (&Sweeper{Client: client, Age: -time.Second}).Pass(t.Context()); n != c.told || err != nil {
				t.Errorf("%s, worker %s: %d posts were told, want %d: %v", name, worker, n, c.told, err)
			}
			if len(engine.released) != released {
				t.Errorf("%s, worker %s: released %q, want %d", name, worker, engine.released, released)
			}
		}
	}
}

func (*legEngine) RecordActivityHeartbeat(context.Context, []byte, ...any) error { return nil }

// TestReleaseIsToldOfALostWorker has a worker release the legs of a lost one.
func TestReleaseIsToldOfALostWorker(t *testing.T) {
	t.Parallel()
	log := journaltest.NewMemory()
	_, err := log.Append(t.Context(), journal.Ref{Tenant: "t", Conversation: "c"}, time.Now(), journal.Opened{By: "ann"},
		journal.TaskAssigned{In: journal.In{Agent: host.Root, Task: host.Root}, Role: "main"},
		journal.MailPosted{ID: "message:m1", Topic: leg.TopicMessage, To: host.Root})
	if err != nil {
		t.Fatal(err)
	}
	logged := &bytes.Buffer{}
	engine := &legEngine{of: map[string]string{"t/c/main": "lost"}}
	does := &activities{engine: engine, client: &Client{Log: log, Engine: engine, Logger: slog.New(slog.NewTextHandler(logged, nil))}}
	env := new(testsuite.WorkflowTestSuite).NewTestActivityEnvironment()
	env.RegisterActivity(does.release)
	for worker, want := range map[string]int{"lost": 1, "another": 0} {
		logged.Reset()
		var released int
		out, err := env.ExecuteActivity(does.release, worker)
		if err == nil {
			err = out.Get(&released)
		}
		if err != nil || released != want || strings.Contains(logged.String(), "a worker is lost") != (want > 0) {
			t.Errorf("%s: %d legs were released, want %d: %v; the log says %q", worker, released, want, err, logged)
		}
	}
}
