package durable

import (
	"context"
	"encoding/json"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/leg"
)

// reviewTime is how long it may take to find a worker that can check arguments, and to check them.
const reviewTime = 8 * time.Second

// Review is the workflow that has arguments looked at where the agent's tools and files are.
func Review(ctx workflow.Context, in leg.ReviewInput) (out leg.Reviewed, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: queueOf(in.At()), ScheduleToCloseTimeout: reviewTime, StartToCloseTimeout: reviewTime,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, MaximumInterval: time.Second},
	})
	err = workflow.ExecuteActivity(ctx, activityReview, in).Get(ctx, &out)
	return out, err
}

// propose has a person's arguments looked at before they are decided on, as a reply's calls are
// before anybody is asked about them. If the call was decided before, they are not looked at again.
func (c *Client) propose(ctx context.Context, ref journal.Ref, d journal.ApprovalDecided) (journal.ApprovalDecided, error) {
	if !d.Allow || agent.Scope(d.Scope) != agent.ScopeOnce {
		return d, &chat.Error{Code: chat.CodeInvalid, Message: "other arguments can only be allowed, and only once"}
	}
	decided, err := c.Log.Find(ctx, ref, d.Key())
	if err != nil || len(decided) > 0 || journal.Imported(ref.Conversation) {
		return d, err
	}
	row := journal.EditProposed{In: d.In, Call: d.Call, Edit: journal.HashOf(d.Args), Args: d.Args, By: d.By}
	if _, err := c.Log.Append(ctx, ref, c.now(), row); err != nil {
		return d, err
	}
	reviewed, err := c.review(ctx, ref, row)
	if err != nil {
		return d, err
	}
	verdict, err := reviewed.Verdict(ctx, c.Log, ref)
	switch {
	case err != nil:
		return d, err
	case verdict.Problem != "":
		return d, &chat.Error{Code: verdict.Code, Message: verdict.Problem}
	}
	d.Edited, err = json.Marshal(verdict.Call)
	return d, err
}

// review has a worker that serves the workspace check arguments.
func (c *Client) review(ctx context.Context, ref journal.Ref, row journal.EditProposed) (out leg.Reviewed, err error) {
	ctx, cancel := context.WithTimeout(ctx, reviewTime+taskTimeout)
	defer cancel()
	opened, queue, err := c.home(ctx, ref)
	if err != nil {
		return out, err
	}
	in := leg.ReviewInput{
		RunRef: host.RunRef{Ref: ref, Agent: row.Agent, Task: row.Task, Workspace: opened.Workspace}, Call: row.Call, Edit: row.Edit,
	}
	run, err := c.Engine.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: host.RunID(ref, row.Agent) + "#" + row.Call + "?" + row.Edit, TaskQueue: queue,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowExecutionTimeout: reviewTime + taskTimeout, WorkflowTaskTimeout: taskTimeout, Priority: fair(ref.Tenant),
	}, workflowReview, in)
	if err == nil {
		err = run.Get(ctx, &out)
	}
	if err != nil {
		c.Logger.WarnContext(ctx, "arguments could not be looked at", "conversation", ref.Conversation, "call", row.Call, "error", err)
		return out, &chat.Error{
			Code:    chat.CodeUnavailable,
			Message: "no worker could check the arguments: send the same again when one runs, or decide about the unchanged call",
		}
	}
	return out, nil
}

// decidedSo reports whether two decisions say the same.
func decidedSo(a, b journal.ApprovalDecided) bool {
	same := a.Args == b.Args || a.Args != "" && b.Args != "" && agent.Digest("", a.Args).Hash == agent.Digest("", b.Args).Hash
	return same && a.Allow == b.Allow && a.Hash == b.Hash
}
