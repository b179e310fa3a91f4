package durable

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/api/common/v1"
	deploymentpb "go.temporal.io/api/deployment/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
)

// deployed is a deployment as an engine has it. Each attempt to make a build the current one ends
// with the next of its errors.
type deployed struct {
	errs []error
	// tried counts those attempts, asked how often somebody asked whether the engine acts on it, which
	// it does the second time.
	tried, asked int
	name, build  string
}

// deployEngine has a deployment, which a client reaches in three ways.
type (
	deployEngine struct {
		client.Client
		*deployed
	}
	deployments struct {
		client.WorkerDeploymentClient
		*deployed
	}
	deployment struct {
		client.WorkerDeploymentHandle
		*deployed
	}
	deployService struct {
		workflowservice.WorkflowServiceClient
		*deployed
	}
)

func (e deployEngine) WorkerDeploymentClient() client.WorkerDeploymentClient {
	return deployments{deployed: e.deployed}
}

func (e deployEngine) WorkflowService() workflowservice.WorkflowServiceClient {
	return deployService{deployed: e.deployed}
}

func (e deployments) GetHandle(name string) client.WorkerDeploymentHandle {
	e.name = name
	return deployment{deployed: e.deployed}
}

func (e deployment) SetCurrentVersion(
	_ context.Context, o client.WorkerDeploymentSetCurrentVersionOptions,
) (client.WorkerDeploymentSetCurrentVersionResponse, error) {
	e.tried++
	e.build = o.BuildID
	return client.WorkerDeploymentSetCurrentVersionResponse{}, e.errs[min(e.tried, len(e.errs))-1]
}

func (e deployService) DescribeWorkerDeployment(
	context.Context, *workflowservice.DescribeWorkerDeploymentRequest, ...grpc.CallOption,
) (*workflowservice.DescribeWorkerDeploymentResponse, error) {
	state := enums.ROUTING_CONFIG_UPDATE_STATE_COMPLETED
	if e.asked++; e.asked == 1 {
		state = enums.ROUTING_CONFIG_UPDATE_STATE_IN_PROGRESS
	}
	return &workflowservice.DescribeWorkerDeploymentResponse{
		WorkerDeploymentInfo: &deploymentpb.WorkerDeploymentInfo{RoutingConfigUpdateState: state},
	}, nil
}

// TestPromote makes a build the current one whose workers have yet to come, one that never comes,
// and one that the engine refuses.
func TestPromote(t *testing.T) {
	t.Parallel()
	missing, early := serviceerror.NewNotFound("no such deployment"), serviceerror.NewFailedPrecondition("a queue has no worker of that build")
	refused := serviceerror.NewPermissionDenied("not you", "")
	for name, c := range map[string]struct {
		errs         []error
		wait         time.Duration
		tried, asked int
		says         string
	}{
		"it comes":    {errs: []error{missing, early, nil}, wait: time.Minute, tried: 3, asked: 2},
		"it does not": {errs: []error{early}, wait: promotePoll / 2, tried: 2, says: "a queue has no worker of that build"},
		"refused":     {errs: []error{refused}, wait: time.Minute, tried: 1, says: "not you"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine := &deployed{errs: c.errs}
			ctx, cancel := context.WithTimeout(t.Context(), c.wait)
			defer cancel()
			err := (&Client{Engine: deployEngine{deployed: engine}}).Promote(ctx, "retinue", "b2")
			if engine.tried != c.tried || engine.asked != c.asked || engine.name != "retinue" || engine.build != "b2" {
				t.Errorf("tried %d times for %s of %s and asked %d times, want %d and %d", engine.tried, engine.build, engine.name, engine.asked, c.tried, c.asked)
			}
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("it ended with %v, want %q", err, c.says)
			}
		})
	}
}

// listEngine lists runs in two pages, and runs that are told to look.
type listEngine struct {
	client.Client
	queries []string
	looks   error
}

func (e *listEngine) ListWorkflow(
	_ context.Context, in *workflowservice.ListWorkflowExecutionsRequest,
) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	if len(in.GetNextPageToken()) > 0 {
		return listed("b", nil), nil
	}
	e.queries = append(e.queries, in.GetQuery())
	return listed("a", []byte("more")), nil
}

func listed(id string, more []byte) *workflowservice.ListWorkflowExecutionsResponse {
	return &workflowservice.ListWorkflowExecutionsResponse{NextPageToken: more, Executions: []*workflowpb.WorkflowExecutionInfo{
		{Execution: &common.WorkflowExecution{WorkflowId: id}},
	}}
}

func (e *listEngine) SignalWorkflow(context.Context, string, string, string, any) error {
	return e.looks
}

// TestRunsBehind lists the runs that are kept to an older build, and has them look. One that has
// ended needs not.
func TestRunsBehind(t *testing.T) {
	t.Parallel()
	engine := &listEngine{}
	c := &Client{Engine: engine}
	for _, list := range []func() ([]string, error){
		func() ([]string, error) { return c.OnOtherBuilds(t.Context(), "ann's", "b2") },
		func() ([]string, error) { return c.Running(t.Context()) },
	} {
		if ids, err := list(); err != nil || !cmp.Equal(ids, []string{"a", "b"}) {
			t.Errorf("listed %q: %v", ids, err)
		}
	}
	if q := engine.queries[0]; !strings.Contains(q, "TemporalWorkerDeployment = 'ann''s'") || !strings.Contains(q, "Version != 'ann''s:b2'") {
		t.Errorf("asked for %s", q)
	}
	for _, err := range []error{nil, serviceerror.NewNotFound("it has ended"), errors.New("it does not answer")} {
		engine.looks = err
		if got := c.Wake(t.Context(), "a"); (got != nil) != (err != nil && !notFound(err)) {
			t.Errorf("%v: %v", err, got)
		}
	}
}
