package durable

import (
	"context"
	"errors"
	"testing"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/leg"
)

// failingEngine answers everything with an error.
type failingEngine struct {
	client.Client
	err error
}

func (e failingEngine) ExecuteWorkflow(context.Context, client.StartWorkflowOptions, any, ...any) (client.WorkflowRun, error) {
	return nil, e.err
}

func (e failingEngine) SignalWorkflow(context.Context, string, string, string, any) error {
	return e.err
}

func (e failingEngine) TerminateWorkflow(context.Context, string, string, string, ...any) error {
	return e.err
}

// TestErrorsOfRuns has the engine answer with errors. A leg is told which errors mean that no run
// exists, and which that none is possible.
func TestErrorsOfRuns(t *testing.T) {
	t.Parallel()
	away, missing, invalid := errors.New("away"), serviceerror.NewNotFound("it has ended"), serviceerror.NewInvalidArgument("the id is too long")
	for _, err := range []error{nil, away, missing, invalid} {
		runs, ref := Runs{failingEngine{err: err}}, journal.Ref{Tenant: "t", Conversation: "c"}
		if got := runs.Start(t.Context(), leg.Begin{}, "queue"); !errors.Is(got, err) || errors.Is(got, leg.ErrInvalidRun) != (err == invalid) { //nolint:errorlint // the same one
			t.Errorf("start: %v was told as %v", err, got)
		}
		for _, got := range []error{runs.Signal(t.Context(), ref, "main", leg.SignalLook), runs.End(t.Context(), ref, "main")} {
			if !errors.Is(got, err) || errors.Is(got, leg.ErrNoRun) != (err == missing) { //nolint:errorlint // the same one
				t.Errorf("%v was told as %v", err, got)
			}
		}
	}
}
