package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/measure"
)

// demoLimit is how long it may take from nothing to a finished answer of three sub-agents.
const demoLimit = 10 * time.Second

func TestUpDemoFromNothingToAnAnswer(t *testing.T) {
	w := newProject(t, "answer")
	begun := time.Now()
	up := w.retinue("up", "--demo")
	rest := waiting(t, up)
	ready := time.Since(begun)
	got := finish(t, w.retinue("run", "--demo", "Compare apples, pears and plums"))
	took := time.Since(begun)
	t.Logf("up after %v", ready.Round(time.Millisecond))
	measure.Most(t, "engine: from nothing to the answer of three sub-agents", took, demoLimit)
	if diff := cmp.Diff(demoAnswer, got.Stdout); diff != "" || got.Code != exitDone {
		t.Errorf("exit code %d, answer (-want +got):\n%s\n%s", got.Code, diff, got.Stderr)
	}

	second := finish(t, w.retinue("up", "--demo"))
	if second.Code != exitFailed || !strings.Contains(second.Stderr, "runs an engine on") {
		t.Errorf("a second one: %+v", second)
	}

	if err := up.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	end := rest()
	if end.Code != exitDone || end.Stderr != "" || !strings.Contains(end.Stdout, "stopped in 1.0s") ||
		!strings.Contains(end.Stdout, "DEMO: scripted model, no real model is called") {
		t.Errorf("after SIGTERM: %+v", end)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "data", "demo", "engine.json")); !os.IsNotExist(err) {
		t.Errorf("the engine's address is left behind: %v", err)
	}
}

// TestRunGoesOnWhenUpIsKilled kills up and with it the engine that a run uses. The run still
// finishes.
func TestRunGoesOnWhenUpIsKilled(t *testing.T) {
	w := newProject(t, "unhurried")
	up := w.retinue("up")
	ended := waiting(t, up)
	// The run has a worker of its own, so that one is left when up is gone.
	run := overhear(t, w.retinue("run", "--worker", "--output-format", "stream-json", "What is it?"))
	run.until(`"type":"agent.started"`)
	if err := up.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	ended()
	begun := time.Now()
	got := run.rest()
	t.Logf("answered %v after up was killed", time.Since(begun).Round(time.Millisecond))
	told := resultOf(t, lastLine(got.Stdout))
	if got.Code != exitDone || told.Status != "completed" || told.Result != "In good time." {
		t.Errorf("%+v\n%+v", told, got)
	}
}
