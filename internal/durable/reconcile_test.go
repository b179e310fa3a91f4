package durable

import (
	"context"
	"errors"
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

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
)

// forgetfulEngine runs some agents and has never heard of others, or has ended them.
type forgetfulEngine struct {
	client.Client
	running, ended []string
	down           bool
	refuse         error

	mu  sync.Mutex
	did []string
}

func (e *forgetfulEngine) DescribeWorkflowExecution(
	_ context.Context, id, _ string,
) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	status := enums.WORKFLOW_EXECUTION_STATUS_RUNNING
	switch {
	case e.down:
		return nil, errors.New("it does not answer")
	case slices.Contains(e.ended, id):
		status = enums.WORKFLOW_EXECUTION_STATUS_TERMINATED
	case !slices.Contains(e.running, id):
		return nil, serviceerror.NewNotFound("never heard of it")
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Status: status},
	}, nil
}

// ListWorkflow is behind: it does not know the last that was started.
func (e *forgetfulEngine) ListWorkflow(
	_ context.Context, q *workflowservice.ListWorkflowExecutionsRequest,
) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	out := &workflowservice.ListWorkflowExecutionsResponse{}
	for _, id := range e.running[:max(0, len(e.running)-1)] {
		if strings.Contains(q.GetQuery(), "'"+id+"'") {
			out.Executions = append(out.Executions, &workflowpb.WorkflowExecutionInfo{Execution: &common.WorkflowExecution{WorkflowId: id}})
		}
	}
	return out, nil
}

func (e *forgetfulEngine) ExecuteWorkflow(
	_ context.Context, o client.StartWorkflowOptions, _ any, _ ...any,
) (client.WorkflowRun, error) {
	if e.refuse == nil {
		e.note("start " + o.ID)
	}
	return nil, e.refuse
}

func (e *forgetfulEngine) SignalWorkflow(_ context.Context, id, _, name string, _ any) error {
	if !slices.Contains(e.running, id) {
		return serviceerror.NewNotFound("never heard of it")
	}
	e.note(name + " " + id)
	return nil
}

func (e *forgetfulEngine) note(what string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.did = append(e.did, what)
}

// TestReconcile has an engine that lost some runs. Orchestrators are started again. Background
// sub-agents are reported to the nearest agent above them that runs. The others are left alone:
// their parent's leg runs them.
//
// Covers: P7.
func TestReconcile(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(10_000_000)
	log, engine := journaltest.NewMemory(), &forgetfulEngine{}
	r := &Reconciler{Client: &Client{Log: log, Engine: engine, Now: func() time.Time { return now }}}
	begin := func(conversation string, at time.Time, root chat.Status, below ...string) {
		t.Helper()
		in := func(id string) journal.In { return journal.In{Agent: id, Task: id} }
		rows := []journal.Row{
			journal.Opened{By: "ann"}, journal.TaskAssigned{In: in(host.Root), Role: "main"}, journal.StatusChanged{In: in(host.Root), Serial: 1, Status: root},
		}
		for _, id := range below {
			parent := id[:strings.LastIndexByte(id, '/')]
			rows = append(rows, journal.TaskAssigned{In: in(id), Parent: parent, Background: !strings.HasSuffix(id, ".9"), Role: "coder", Depth: strings.Count(id, "/")})
		}
		if _, err := log.Append(t.Context(), journal.Ref{Tenant: "t", Conversation: conversation}, at, rows...); err != nil {
			t.Fatal(err)
		}
	}
	old := now.Add(-time.Hour)
	begin("idle", old, chat.StatusCompleted)
	begin("young", now, chat.StatusRunning)
	begin(journal.ImportPrefix+"elsewhere", old, chat.StatusRunning)
	begin("ended", old, chat.StatusRunning)
	begin("unknown", old, chat.StatusWaiting, "main/1.0.0")
	begin("resting", old, chat.StatusCompleted, "main/1.0.0") // a background task works for an orchestrator that does not
	begin("well", old, chat.StatusRunning, "main/1.0.0")
	begin("half", old, chat.StatusRunning, "main/1.0.0", "main/1.0.0/1.0.0", "main/1.0.1", "main/1.0.1/1.0.0", "main/1.0.9")
	engine.ended = []string{"t/ended/main", "t/half/main/1.0.1"}
	engine.running = []string{"t/well/main", "t/well/main/1.0.0", "t/half/main", "t/half/main/1.0.0"}

	pass := func(want ...string) {
		t.Helper()
		engine.did = nil
		if _, err := r.Pass(t.Context()); err != nil {
			t.Fatal(err)
		}
		slices.Sort(engine.did)
		if diff := cmp.Diff(want, engine.did); diff != "" {
			t.Errorf("it did (+), want (-):\n%s", diff)
		}
	}
	reports := []string{"check t/half/main", "check t/half/main", "check t/half/main/1.0.0"}
	starts := []string{"start t/ended/main", "start t/resting/main", "start t/unknown/main"}
	all := slices.Concat(reports, starts)
	pass(all...)
	pass() // a run that was repaired a moment ago is given time
	now = now.Add(retryPause)
	pass(append(slices.Clone(all), "start t/young/main")...)
	now = now.Add(retryPause)
	pass("start t/young/main") // a run that is lost again is given more time each time
	engine.running = append(engine.running, "t/young/main")
	now = now.Add(retryPause)
	pass(all...)

	now, engine.down = now.Add(retryMost), true
	if did, err := r.Pass(t.Context()); err == nil || did != (Mended{}) {
		t.Errorf("with an engine that does not answer it did %v: %v", did, err)
	}
}
