package durable_test

import (
	"io/fs"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/retinue-dev/retinue/internal/durable"
	"github.com/retinue-dev/retinue/internal/durable/history"
	"github.com/retinue-dev/retinue/internal/measure"
)

// leastHistories is how many stored histories there must be for a replay to mean anything.
const leastHistories = 80

// TestReplay plays every stored history on today's code. A history that today's code would not have
// made is a run that this release would break.
func TestReplay(t *testing.T) {
	paths := stored(t)
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
			t.Errorf("%s: %v", path, err)
		}
	}
	measure.Figure(t, "replay: %d histories with %d events", len(paths), events)
}

// stored are the paths of all histories, of every release that left some in a folder of its name.
func stored(t *testing.T) []string {
	t.Helper()
	const root = "testdata/histories"
	var paths []string
	releases := map[string]int{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		release := filepath.Dir(strings.TrimPrefix(path, root+"/"))
		if release == "." || !strings.HasSuffix(path, ".json.gz") {
			t.Errorf("%s is no history in the folder of a release", path)
		}
		releases[release]++
		paths = append(paths, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, release := range slices.Sorted(maps.Keys(releases)) {
		t.Logf("%s: %d histories", release, releases[release])
	}
	return paths
}
