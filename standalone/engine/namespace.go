package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"
)

// retention is how long the engine keeps its data of a workflow that has ended. The records of the
// work are in the journal.
const retention = 72 * time.Hour

// probe is a workflow that nobody starts. An answer that it does not exist comes from the namespace
// and the store behind it.
const probe = "retinue-is-the-engine-ready"

// prepareNamespace makes the namespace if it is missing and waits until every component knows it.
func (e *Engine) prepareNamespace(ctx context.Context) error {
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	c, err := client.NewLazyClient(client.Options{
		HostPort: e.Address, Namespace: e.Namespace, Logger: quiet,
		ConnectionOptions: client.ConnectionOptions{TLS: e.secure.client},
	})
	if err != nil {
		return fmt.Errorf("reach the engine: %w", err)
	}
	defer c.Close()
	tick := time.NewTicker(retryInterval)
	defer tick.Stop()
	for {
		err := e.tryNamespace(ctx, c.WorkflowService())
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for namespace %s: %w", e.Namespace, errors.Join(ctx.Err(), err))
		case <-tick.C:
		}
	}
}

func (e *Engine) tryNamespace(ctx context.Context, service workflowservice.WorkflowServiceClient) error {
	_, err := service.RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace: e.Namespace, WorkflowExecutionRetentionPeriod: durationpb.New(retention),
	})
	if _, exists := errors.AsType[*serviceerror.NamespaceAlreadyExists](err); err != nil && !exists {
		return err
	}
	_, err = service.DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: e.Namespace, Execution: &common.WorkflowExecution{WorkflowId: probe},
	})
	if _, none := errors.AsType[*serviceerror.NotFound](err); none {
		return nil
	}
	return err
}
