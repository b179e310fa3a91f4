package durable

import (
	"context"
	"errors"
	"fmt"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/leg"
)

// Runs are the agents' workflows, as legs know them. It fills leg.Engine.
type Runs struct{ Engine Engine }

// Start implements leg.Engine.
func (r Runs) Start(ctx context.Context, in leg.Begin, queue string) error {
	_, err := r.Engine.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: host.RunID(in.Ref, in.Task), TaskQueue: queue, WorkflowTaskTimeout: taskTimeout, Priority: fair(in.Ref.Tenant),
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE, // one that has ended finds that out and ends again
	}, workflowAgent, in)
	if _, invalid := errors.AsType[*serviceerror.InvalidArgument](err); invalid {
		return fmt.Errorf("%w: %w", leg.ErrInvalidRun, err)
	}
	return err
}

// Signal implements leg.Engine.
func (r Runs) Signal(ctx context.Context, ref journal.Ref, task string, signal leg.Signal) error {
	return noRun(r.Engine.SignalWorkflow(ctx, host.RunID(ref, task), "", string(signal), nil))
}

// End implements leg.Engine.
func (r Runs) End(ctx context.Context, ref journal.Ref, task string) error {
	return noRun(r.Engine.TerminateWorkflow(ctx, host.RunID(ref, task), "", "did not stop in time"))
}

// noRun translates the engine's error into one of package leg.
func noRun(err error) error {
	if notFound(err) {
		return fmt.Errorf("%w: %w", leg.ErrNoRun, err)
	}
	return err
}

func notFound(err error) bool {
	_, missing := errors.AsType[*serviceerror.NotFound](err)
	return missing
}

// fairKey is how long a key of the engine may be.
const fairKey = 64

// fair has the engine serve tenants in turn where work waits for a worker. Sub-agents and legs
// inherit it.
func fair(tenant string) temporal.Priority {
	if len(tenant) > fairKey {
		tenant = journal.HashOf(tenant)[:fairKey]
	}
	return temporal.Priority{FairnessKey: tenant}
}
