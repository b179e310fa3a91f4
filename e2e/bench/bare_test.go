//go:build services

package bench

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/retinue-dev/retinue/internal/durable"
)

const bareQueue = "bare"

// bareTalk is the shape on the bare engine: a parent that makes two calls and has children between.
func bareTalk(ctx workflow.Context, s Shape) error {
	if err := bareCalls(ctx, 1, false); err != nil {
		return err
	}
	var children []workflow.ChildWorkflowFuture
	for i := range s.Agents {
		id := fmt.Sprintf("%s/%d", workflow.GetInfo(ctx).WorkflowExecution.ID, i)
		children = append(children, workflow.ExecuteChildWorkflow(
			workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{WorkflowID: id}), bareAgent, s))
	}
	for _, c := range children {
		if err := c.Get(ctx, nil); err != nil {
			return err
		}
	}
	return bareCalls(ctx, 1, false)
}

// bareAgent is a sub-agent: an activity for each model call and one for each tool call.
func bareAgent(ctx workflow.Context, s Shape) error { return bareCalls(ctx, 2*s.Calls-1, s.Slow) }

func bareCalls(ctx workflow.Context, n int, slow bool) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	for i := range n {
		if err := workflow.ExecuteActivity(ctx, bareCall, slow && i%2 == 0).Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

// bareCall is a call of a model, which may be slow, or of a tool.
func bareCall(_ context.Context, slow bool) error {
	if slow {
		time.Sleep(slowCall)
	}
	return nil
}

// playBare runs shapes on the engine alone.
func playBare(s Setup) (func(Order) (any, error), error) {
	engine, err := connect(context.Background(), s.Engine, s.Credentials)
	if err != nil {
		return nil, err
	}
	w := worker.New(engine, bareQueue, durable.WorkerOptions{Legs: mostLegs}.Engine())
	w.RegisterWorkflow(bareTalk)
	w.RegisterWorkflow(bareAgent)
	w.RegisterActivityWithOptions(bareCall, activity.RegisterOptions{})
	if err := w.Start(); err != nil {
		return nil, err
	}
	return func(o Order) (any, error) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		return nil, each(o.Shape.Talks, func(i int) error {
			run, err := engine.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
				ID: fmt.Sprintf("%s-%d", o.Name, i), TaskQueue: bareQueue,
			}, bareTalk, o.Shape)
			if err != nil {
				return err
			}
			return run.Get(ctx, nil)
		})
	}, nil
}

// each does something for all of n at once.
func each(n int, do func(int) error) error {
	errs := make(chan error, n)
	for i := range n {
		go func() { errs <- do(i) }()
	}
	var first error
	for range n {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}
