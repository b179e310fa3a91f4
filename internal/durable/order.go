package durable

import (
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
)

const (
	// onceTimeout bounds a tool call that must not happen twice.
	onceTimeout = time.Hour
	// chores are the short activities of the host itself.
	choreTimeout = 30 * time.Second
)

// carryOut does what only the engine can do.
func (r *run) carryOut(ctx workflow.Context, effect agent.Effect) {
	switch e := effect.(type) {
	case agent.StartChild:
		r.startChild(ctx, e)
	case agent.StopChild:
		r.signal(ctx, r.agentOf(e.Task), agent.CancelRequested{At: at(ctx), ID: "parent", Reason: e.Reason, By: e.By})
	case agent.KillChild:
		workflow.ExecuteActivity(chore(ctx), activityKill, r.whose(e.Task))
	case agent.TellParent:
		r.deliver(ctx, r.in.Parent, agent.ChildWaited{At: at(ctx), Task: r.in.Task, Reason: e.Reason})
	case agent.Ask:
		r.deliver(ctx, Root, agent.QuestionAsked{At: at(ctx), Question: e.Question, Hash: e.Hash, Relay: e.Relay})
	case agent.WithdrawQuestion:
		r.deliver(ctx, Root, agent.QuestionWithdrawn{At: at(ctx), Question: e.Question})
	case agent.Reply:
		r.sendOn(ctx, e.Agent, agent.Answered{At: at(ctx), Question: e.Question, By: e.By, Taint: e.Taint}, e.Seq)
	case agent.Correct:
		r.sendOn(ctx, e.Agent, agent.Corrected{At: at(ctx), Seq: e.Seq}, e.Seq)
	case agent.RunTool:
		r.runOnce(ctx, e)
	case agent.AbortTool:
		if abort, ok := r.aborts[e.Call]; ok {
			abort()
		}
	case agent.Finish:
		r.finish(ctx, e)
	default:
		r.broken = temporal.NewNonRetryableApplicationError(
			"no way to carry out "+agent.EffectName(e)+" in the engine", "broken", nil)
	}
}

// startChild starts a sub-agent's run. The engine starts it once, however often this is replayed.
func (r *run) startChild(ctx workflow.Context, e agent.StartChild) {
	if e.Agent != e.Task {
		r.tasks[e.Task] = e.Agent
	}
	r.started[e.Task] = true
	policy := enums.PARENT_CLOSE_POLICY_TERMINATE
	if e.Background {
		policy = enums.PARENT_CLOSE_POLICY_ABANDON
	}
	child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: WorkflowID(r.in.Place, e.Agent), ParentClosePolicy: policy,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE, WorkflowTaskTimeout: taskTimeout,
	}), workflowAgent, Begin{
		Whose: r.whose(e.Task), Parent: r.in.Agent, Background: e.Background, Width: e.Width, Time: e.Time,
		LegEffects: r.in.LegEffects, Apart: true,
	})
	r.selector.AddFuture(child.GetChildWorkflowExecution(), func(f workflow.Future) {
		if f.Get(ctx, nil) == nil {
			r.tell(agent.ChildStarted{At: at(ctx), Task: e.Task})
		}
	})
	r.selector.AddFuture(child, func(f workflow.Future) {
		var ended Ended
		switch err := f.Get(ctx, &ended); {
		case temporal.IsWorkflowExecutionAlreadyStartedError(err):
			r.adopt(ctx, e)
		case err != nil:
			r.closeBooks(ctx, e.Task, err)
		case !e.Background:
			delete(r.tasks, e.Task)
			r.tell(agent.ChildEnded{At: at(ctx), Task: e.Task, Outcome: ended.Outcome, Tokens: ended.Tokens})
		}
	})
}

// adoptPause is how long the engine has to end a child of a run that it lost.
const adoptPause = 5 * time.Second

// adopt takes on a child that runs already: an earlier run of this agent started it, and the engine lost that run. A background
// child reports by itself when it has ended. The engine ends every other with the lost run, and then it is started again.
func (r *run) adopt(ctx workflow.Context, e agent.StartChild) {
	if e.Background {
		delete(r.started, e.Task)
		r.tell(agent.ChildStarted{At: at(ctx), Task: e.Task})
		return
	}
	r.selector.AddFuture(workflow.NewTimer(ctx, adoptPause), func(workflow.Future) { r.startChild(ctx, e) })
}

// seek finds out whether a child is lost, as somebody said. The engine itself tells of the end of every child that was started
// in this history. One that it is about to start looks lost too.
func (r *run) seek(ctx workflow.Context, task string) {
	if r.started[task] || r.sought[task] || !r.course.State.Runs(task) {
		return
	}
	r.sought[task] = true
	r.close(ctx, CloseInput{Whose: r.whose(task), Outcome: lostOutcome(chat.KindInternal), Ask: true})
}

// closeBooks records the end of a child whose run could not do so: it never started, or somebody
// ended it from outside.
func (r *run) closeBooks(ctx workflow.Context, task string, why error) {
	kind := chat.KindInternal
	if temporal.IsCanceledError(why) || temporal.IsTerminatedError(why) {
		kind = chat.KindCancelled
	}
	r.close(ctx, CloseInput{Whose: r.whose(task), Outcome: lostOutcome(kind)})
}

func lostOutcome(kind chat.ErrorKind) agent.Outcome {
	return agent.Outcome{Status: kind.Status(), Kind: kind, Reason: "lost"}
}

func (r *run) close(ctx workflow.Context, in CloseInput) {
	r.selector.AddFuture(workflow.ExecuteActivity(chore(ctx), activityClose, in), func(f workflow.Future) {
		delete(r.sought, in.Task)
		var ended Ended
		if err := f.Get(ctx, &ended); err != nil {
			r.broken = err
			return
		}
		if ended.Running {
			return
		}
		delete(r.tasks, in.Task)
		r.tell(agent.ChildEnded{At: at(ctx), Task: in.Task, Outcome: ended.Outcome, Tokens: ended.Tokens})
	})
}

// whose names a child's run.
func (r *run) whose(task string) Whose {
	w := r.in.Whose
	w.Agent, w.Task = r.agentOf(task), task
	return w
}

func (r *run) agentOf(task string) string {
	if id, ok := r.tasks[task]; ok {
		return id
	}
	return task
}

// signal sends an event to another agent of the conversation.
func (r *run) signal(ctx workflow.Context, to string, e agent.Event) workflow.Future {
	body, err := agent.MarshalEvent(e)
	if err != nil {
		r.broken = err
	}
	return workflow.SignalExternalWorkflow(ctx, WorkflowID(r.in.Place, to), "", signalMail, Mail{Event: body})
}

// deliver sends an event and waits until it has arrived, so that what is sent after it arrives
// after it. Whoever is no longer there needs no telling.
func (r *run) deliver(ctx workflow.Context, to string, e agent.Event) bool {
	if to == r.in.Agent {
		r.tell(e)
		return true
	}
	return r.signal(ctx, to, e).Get(ctx, nil) == nil
}

// sendOn brings a person's words to an agent, or back if there is nobody.
func (r *run) sendOn(ctx workflow.Context, to string, e agent.Event, seq int64) {
	if !r.deliver(ctx, to, e) && seq != 0 {
		r.tell(agent.Undelivered{At: at(ctx), Seq: seq})
	}
}

// runOnce runs a tool call that must not happen twice: one activity, one attempt. If its worker
// dies, nobody knows how far it came; of a call that can be reconciled the tool can tell, so that
// another worker looks.
func (r *run) runOnce(ctx workflow.Context, e agent.RunTool) {
	retry := &temporal.RetryPolicy{MaximumAttempts: 1}
	if e.Class == chat.ClassReconcilable {
		retry = &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, MaximumInterval: 5 * time.Second}
	}
	onceCtx, abort := workflow.WithCancel(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: r.in.at().queue(), StartToCloseTimeout: onceTimeout, HeartbeatTimeout: silence,
		WaitForCancellation: true, RetryPolicy: retry,
	}))
	r.aborts[e.Call] = abort
	in := OnceInput{Whose: r.in.Whose.within(&r.course.State), RoleHash: r.course.State.Brief.RoleHash, Run: e}
	r.selector.AddFuture(workflow.ExecuteActivity(onceCtx, activityOnce, in), func(f workflow.Future) {
		delete(r.aborts, e.Call)
		var done agent.ToolDone
		switch err := f.Get(ctx, &done); {
		case temporal.IsCanceledError(err): // It never began: one that did says how it ended.
			done = agent.ToolDone{Call: e.Call, Result: agent.ToolCancelled}
		case err != nil:
			done = agent.ToolDone{Call: e.Call, Result: agent.ToolIndeterminate}
		}
		done.At = at(ctx)
		r.tell(done)
	})
}

// finish tells whoever must know that the run is over.
func (r *run) finish(ctx workflow.Context, e agent.Finish) {
	for _, seq := range e.Unread {
		r.deliver(ctx, Root, agent.Undelivered{At: at(ctx), Seq: seq})
	}
	if r.in.Background {
		r.deliver(ctx, r.in.Parent, agent.ChildEnded{At: at(ctx), Task: r.in.Task, Outcome: e.Outcome, Tokens: r.tokens})
	}
}

func chore(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: choreTimeout})
}
