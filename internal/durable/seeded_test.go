package durable_test

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var seeded = flag.Bool("seeded", false, "build changed versions of the core and the host, and replay on each")

// changes are what a release might do without thinking of the runs that are under way.
var changes = []struct {
	name, file, old, to string
}{
	{
		"the workflow starts no leg for a look that came during one", "workflow.go",
		"r.look = true\n", "r.look = r.leg == nil\n",
	},
	{
		"the workflow runs a leg for each child that ends", "workflow.go",
		"case r.ended > 0 && r.ended >= r.last.Await:", "case r.ended > 0:",
	},
}

// TestReplayNoticesChanges replays on changed code. A change that replay does not notice would
// break runs.
func TestReplayNoticesChanges(t *testing.T) {
	if !*seeded {
		t.Skip("run make replay")
	}
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			source, err := os.ReadFile(c.file)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(source), c.old); n != 1 {
				t.Fatalf("the place for the change occurs %d times in %s", n, c.file)
			}
			overlay := overlay(t, dir, c.file, strings.Replace(string(source), c.old, c.to, 1))
			binary := filepath.Join(dir, "replay")
			if out, err := exec.Command("go", "test", "-c", "-overlay", overlay, "-o", binary, ".").CombinedOutput(); err != nil {
				t.Fatalf("it does not build, so it proves nothing: %v\n%s", err, out)
			}
			out, err := exec.Command(binary, "-test.run=^TestReplay$").CombinedOutput()
			if _, failed := errors.AsType[*exec.ExitError](err); !failed {
				t.Fatalf("nobody noticed: %v\n%s", err, out)
			}
			t.Logf("noticed in %d histories", strings.Count(string(out), ".json.gz: "))
		})
	}
}

// overlay writes a changed file and the list that the go command takes.
func overlay(t *testing.T, dir, file, text string) string {
	t.Helper()
	original, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := filepath.Join(dir, filepath.Base(file))
	if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, list, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
