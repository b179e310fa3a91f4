package durable_test

import (
	"log/slog"
	"path/filepath"
	"testing"

	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/retinue-dev/retinue/internal/durable"
	"github.com/retinue-dev/retinue/internal/durable/history"
)

// leastHistories is how many stored histories there must be for a replay to mean anything.
const leastHistories = 100

// TestReplay plays every stored history on today's code. A history that today's code would not have
// made is a run that this release would break.
func TestReplay(t *testing.T) {
	paths, err := filepath.Glob("testdata/histories/*.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) < leastHistories {
		t.Fatalf("%d histories are stored, at least %d are needed: run 'make histories'", len(paths), leastHistories)
	}
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		DisableDeadlockDetection: true, // it takes a workflow that gets no core for a second for a stuck one
	})
	if err != nil {
		t.Fatal(err)
	}
	replayer.RegisterWorkflowWithOptions(durable.Agent, workflow.RegisterOptions{Name: "agent"})
	quiet := log.NewStructuredLogger(slog.New(slog.DiscardHandler))
	events := 0
	for _, path := range paths {
		run, err := history.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		events += len(run.History.Events)
		err = replayer.ReplayWorkflowHistoryWithOptions(quiet, run.History, worker.ReplayWorkflowHistoryOptions{
			OriginalExecution: workflow.Execution{ID: run.Workflow, RunID: run.ID},
		})
		if err != nil {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
	t.Logf("%d histories with %d events", len(paths), events)
}
