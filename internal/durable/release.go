package durable

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
)

// errorLost is the type of the error with which a leg of a lost worker ends. The workflow starts
// another leg at once: the engine retries an activity after a timer, and its timers take a second
// at least.
const errorLost = "lost"

// releaseAtOnce is how many runs are looked at at the same time when a worker is lost.
const releaseAtOnce = 8

// release has the engine give the legs of a lost worker to others. Those legs carry tasks that have
// not ended, or were begun because of mail that still waits. It returns how many there were.
func (c *Client) release(ctx context.Context, worker string) (released int, failures error) {
	runs, err := c.mayHaveLegs(ctx)
	if err != nil {
		return 0, err
	}
	var (
		mu    sync.Mutex
		all   sync.WaitGroup
		slots = make(chan struct{}, releaseAtOnce)
	)
	for _, run := range runs {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			n, err := c.releaseRun(ctx, run, func(_ context.Context, of string) (bool, error) { return of == worker, nil })
			mu.Lock()
			defer mu.Unlock()
			released, failures = released+n, errors.Join(failures, err)
		})
	}
	all.Wait()
	return released, failures
}

// mayHaveLegs lists the runs that may have a leg under way. Those of orchestrators and of
// background tasks come first: most others are carried by the leg of an agent above them.
func (c *Client) mayHaveLegs(ctx context.Context) ([]string, error) {
	var first, rest []string
	listed := map[string]bool{}
	add := func(to *[]string, id string) {
		if !listed[id] {
			listed[id] = true
			*to = append(*to, id)
		}
	}
	places, working, err := c.working(ctx, c.now().Add(choreTimeout))
	if err != nil {
		return nil, err
	}
	posts, err := c.Log.Pending(ctx, c.now().Add(choreTimeout), journal.PageMaxLimit)
	if err != nil {
		return nil, err
	}
	for _, p := range posts {
		add(&first, host.RunID(p.Ref, host.Root))
		if p.To != "" {
			add(&first, host.RunID(p.Ref, p.To))
		}
	}
	for _, ref := range places {
		add(&first, host.RunID(ref, host.Root))
		for _, t := range working[ref] {
			if t.Background {
				add(&first, host.RunID(ref, t.Task))
			} else {
				add(&rest, host.RunID(ref, t.Task))
			}
		}
	}
	return append(first, rest...), nil
}

// releaseRun fails the leg of a run that a lost worker has, so that the engine gives it to another,
// and returns how many that were. The engine's heartbeat timeout would do the same, much later.
func (c *Client) releaseRun(ctx context.Context, id string, lost func(context.Context, string) (bool, error)) (int, error) {
	run, err := c.Engine.DescribeWorkflowExecution(ctx, id, "")
	if notFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("ask the engine which worker has the leg of %s: %w", id, err)
	}
	released := 0
	for _, a := range run.GetPendingActivities() {
		if a.GetActivityType().GetName() != activityLeg || a.GetState() == enums.PENDING_ACTIVITY_STATE_SCHEDULED {
			continue
		}
		gone, err := lost(ctx, a.GetLastWorkerIdentity())
		if err != nil {
			return released, err
		}
		if !gone {
			continue
		}
		execution := run.GetWorkflowExecutionInfo().GetExecution()
		forgetCache(ctx, c.Engine, c.Namespace, execution)
		why := temporal.NewNonRetryableApplicationError("the worker "+a.GetLastWorkerIdentity()+" is lost", errorLost, nil)
		err = c.Engine.CompleteActivityByID(ctx, c.Namespace, execution.GetWorkflowId(), execution.GetRunId(), a.GetActivityId(), nil, why)
		if err != nil && !notFound(err) {
			return released, fmt.Errorf("release the leg of %s: %w", id, err)
		}
		released++
	}
	return released, nil
}

// forgetCache has the engine offer the next task of a workflow to any worker. It would first wait a
// second for the worker that has the workflow in its cache, and that one may be lost. If it cannot
// be told, it waits.
func forgetCache(ctx context.Context, engine Engine, namespace string, run *common.WorkflowExecution) {
	_, _ = engine.WorkflowService().ResetStickyTaskQueue(ctx, &workflowservice.ResetStickyTaskQueueRequest{Namespace: namespace, Execution: run})
}

// absent reports whether a worker is not present. One that is thought lost, and whose legs are
// about to be released, is.
func (c *Client) absent(ctx context.Context, worker string) (bool, error) {
	run, err := c.Engine.DescribeWorkflowExecution(ctx, presenceID(worker), "")
	if err != nil && !notFound(err) {
		return false, fmt.Errorf("ask the engine whether %s is present: %w", worker, err)
	}
	return err != nil || run.GetWorkflowExecutionInfo().GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
}

// releaseAbsent releases the legs that may hold up a post, if their workers are gone: the engine
// has told an agent of the post, and the agent does not read it. A deletion, which is for no agent,
// waits for the orchestrator's run.
func (c *Client) releaseAbsent(ctx context.Context, p journal.Post) error {
	if journal.Imported(p.Conversation) {
		return nil
	}
	runs := []string{host.RunID(p.Ref, host.Root)}
	if p.To != host.Root && p.To != "" {
		runs = append(runs, host.RunID(p.Ref, p.To))
	}
	for _, run := range runs {
		if _, err := c.releaseRun(ctx, run, c.absent); err != nil {
			return err
		}
	}
	return nil
}
