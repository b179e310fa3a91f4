package durable

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/leg"
)

// TestALongHistoryEndsWhenSomebodySpeaks has an orchestrator with a short and with a long history
// be told of a message. With the long one a new history begins where the last leg ended, and its
// first leg reads the message.
func TestALongHistoryEndsWhenSomebodySpeaks(t *testing.T) {
	t.Parallel()
	for events, want := range map[int]int{rollOverAt: 2, rollOverAt + 1: 1} {
		env := new(testsuite.WorkflowTestSuite).NewTestWorkflowEnvironment()
		env.SetCurrentHistoryLength(events)
		legs := 0
		env.RegisterActivityWithOptions(func(context.Context, leg.Input) (leg.Result, error) {
			legs++
			return leg.Result{N: 7, Base: 3, Next: []leg.Next{leg.NextIdle, leg.NextEnd}[min(legs, 2)-1]}, nil
		}, activity.RegisterOptions{Name: activityLeg})
		env.RegisterWorkflowWithOptions(Agent, workflow.RegisterOptions{Name: workflowAgent})
		env.RegisterDelayedCallback(func() { env.SignalWorkflow(signalLook, nil) }, time.Minute)
		env.ExecuteWorkflow(workflowAgent, leg.Begin{RunRef: host.RunRef{
			Ref: journal.Ref{Tenant: "t", Conversation: "c"}, Agent: host.Root, Task: host.Root,
		}})
		var anew *workflow.ContinueAsNewError
		if rolled := errors.As(env.GetWorkflowError(), &anew); legs != want || rolled != (want == 1) {
			t.Errorf("%d events: %d legs, want %d, and then %v", events, legs, want, env.GetWorkflowError())
		}
		if anew == nil {
			continue
		}
		var next leg.Begin
		if err := converter.GetDefaultDataConverter().FromPayloads(anew.Input, &next); err != nil || next.Last == nil || next.Last.N != 7 || next.Last.Base != 3 {
			t.Errorf("it begins with %+v: %v", next.Last, err)
		}
	}
}
