package durable

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// promotePoll is the time between two looks for the workers of a new build.
const promotePoll = 500 * time.Millisecond

// Promote makes a build of a deployment the one that new runs begin on. It waits until that build's
// workers serve every queue of the build before that was used lately, and until the engine acts on
// it.
func (c *Client) Promote(ctx context.Context, deployment, build string) error {
	handle := c.Engine.WorkerDeploymentClient().GetHandle(deployment)
	err := c.eventually(ctx, func() (bool, error) {
		_, err := handle.SetCurrentVersion(ctx, client.WorkerDeploymentSetCurrentVersionOptions{BuildID: build})
		return err == nil || !premature(err), err
	})
	if err != nil {
		return fmt.Errorf("make %s the current build of %s: %w", build, deployment, err)
	}
	err = c.eventually(ctx, func() (bool, error) {
		found, err := c.Engine.WorkflowService().DescribeWorkerDeployment(ctx, &workflowservice.DescribeWorkerDeploymentRequest{
			Namespace: c.Namespace, DeploymentName: deployment,
		})
		state := found.GetWorkerDeploymentInfo().GetRoutingConfigUpdateState()
		return err != nil || state != enums.ROUTING_CONFIG_UPDATE_STATE_IN_PROGRESS, err
	})
	if err != nil {
		return fmt.Errorf("wait until runs of %s begin on %s: %w", deployment, build, err)
	}
	return nil
}

// premature reports whether workers of the build have yet to be seen, on all queues.
func premature(err error) bool {
	var early *serviceerror.FailedPrecondition
	return notFound(err) || errors.As(err, &early)
}

// eventually tries until it succeeds, and returns the last obstacle at the end of ctx.
func (*Client) eventually(ctx context.Context, try func() (done bool, err error)) error {
	ticker := time.NewTicker(promotePoll)
	defer ticker.Stop()
	var inTheWay error
	for {
		done, err := try()
		switch {
		case ctx.Err() != nil && err != nil:
			return errors.Join(ctx.Err(), inTheWay)
		case done:
			return err
		}
		inTheWay = err
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// OnOtherBuilds lists the runs of a deployment that are kept to another build, as far as the engine
// knows.
func (c *Client) OnOtherBuilds(ctx context.Context, deployment, build string) ([]string, error) {
	return c.list(ctx, fmt.Sprintf(
		"ExecutionStatus = 'Running' AND WorkflowType = '%s' AND TemporalWorkerDeployment = %s AND TemporalWorkerDeploymentVersion != %s",
		workflowAgent, quoted(deployment), quoted(deployment+":"+build)))
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// Wake has a run look at its mail. An idle one that is kept to an older build goes over to the
// current one; any other finds that there is none.
func (c *Client) Wake(ctx context.Context, workflow string) error {
	err := c.Engine.SignalWorkflow(ctx, workflow, "", signalLook, nil)
	if err != nil && !notFound(err) {
		return fmt.Errorf("rouse %s: %w", workflow, err)
	}
	return nil
}
