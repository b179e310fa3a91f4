package durable

import (
	"slices"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/retinue-dev/retinue/internal/chat"
)

// startChild starts a sub-agent's run. The engine starts it once, however often this is replayed.
func (r *run) startChild(ctx workflow.Context, s Start) {
	r.point(PointStartChild)
	if !slices.Contains(r.children, s.Task) {
		r.children = append(r.children, s.Task)
	}
	policy := enums.PARENT_CLOSE_POLICY_TERMINATE
	if s.Background {
		policy = enums.PARENT_CLOSE_POLICY_ABANDON
	}
	whose := r.in.Whose
	whose.Agent, whose.Task = s.Agent, s.Task
	child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: WorkflowID(r.in.Place, s.Agent), ParentClosePolicy: policy,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE, WorkflowTaskTimeout: taskTimeout,
	}), workflowAgent, Begin{
		Whose: whose, Parent: s.Parent, Background: s.Background, Width: s.Width, Time: s.Time, LegEffects: r.in.LegEffects,
	})
	r.selector.AddFuture(child.GetChildWorkflowExecution(), func(f workflow.Future) {
		if f.Get(ctx, nil) == nil {
			r.started = append(r.started, s.Task)
		}
	})
	r.selector.AddFuture(child, func(f workflow.Future) {
		err := f.Get(ctx, nil)
		if temporal.IsWorkflowExecutionAlreadyStartedError(err) {
			r.adopt(ctx, s)
			return
		}
		r.gone(s.Task)
		end := End{Task: s.Task}
		switch {
		case temporal.IsCanceledError(err), temporal.IsTerminatedError(err):
			end.Kind = chat.KindCancelled
		case err != nil:
			end.Kind = chat.KindInternal
		case s.Background:
			return // it has told by mail
		}
		r.ended = append(r.ended, end)
	})
}

// adoptPause is how long the engine has to end a child of a run that it lost.
const adoptPause = 5 * time.Second

// adopt takes on a child that runs already: an earlier run of this agent started it, and the engine lost that run. A background
// child reports by itself when it has ended. The engine ends every other with the lost run, and then it is started again.
func (r *run) adopt(ctx workflow.Context, s Start) {
	if s.Background {
		r.gone(s.Task)
		if !slices.Contains(r.started, s.Task) {
			r.started = append(r.started, s.Task)
		}
		return
	}
	r.selector.AddFuture(workflow.NewTimer(ctx, adoptPause), func(workflow.Future) { r.startChild(ctx, s) })
}

// gone takes a child off the list of those that run in this history.
func (r *run) gone(task string) {
	r.children = slices.DeleteFunc(r.children, func(other string) bool { return other == task })
}
