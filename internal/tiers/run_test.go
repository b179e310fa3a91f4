package tiers

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const makefile = `
good:
	@echo "    x_test.go:1: proof: 7 requests, $(N) leaks"
bad:
	@echo "--- FAIL: TestWall (0.1s)"; exit 1
build:
	@echo built > built
needs:
	@cat built
environment:
	@echo "proof: measure=$$TEST_RETINUE_MEASURE level=$$MAKELEVEL flags=$$MAKEFLAGS only=$(ONLY)"
`

func project(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Makefile"), []byte(makefile), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func tableOf(t *testing.T, text string) Table {
	t.Helper()
	table, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestRunTellsWhatFailedAndStops(t *testing.T) {
	table := tableOf(t, "build|-|+|+|.\n---\nneeds|-|+|+|.\ngood|-|N=0|N=1|.\nbad|-|+|+|.\nenvironment|-|+|+|.")
	var out bytes.Buffer
	results, err := (&Runner{Root: project(t), Tier: Gate, Out: &out}).Run(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range results {
		names = append(names, r.Suite)
	}
	if diff := cmp.Diff([]string{"build", "needs", "good", "bad"}, names); diff != "" {
		t.Error(diff)
	}
	last := results[len(results)-1]
	if !last.Failed || !slices.Equal(last.Figures, []string{"failed: TestWall"}) {
		t.Errorf("the failed suite came back as %+v", last)
	}
	if got := results[2].Figures; !slices.Equal(got, []string{"7 requests, 0 leaks"}) {
		t.Errorf("figures %q", got)
	}
	if !strings.Contains(out.String(), "--- FAIL: TestWall") || strings.Contains(out.String(), "x_test.go") {
		t.Errorf("shown: %s", out.String())
	}
}

func TestProveGoesOnAndMeasures(t *testing.T) {
	t.Setenv("MAKEFLAGS", "ONLY=bad")
	t.Setenv("ONLY", "bad") // make does both
	table := tableOf(t, "---\nbad|-|-|+|.\nenvironment|-|-|+|.")
	var out bytes.Buffer
	runner := Runner{Root: project(t), Tier: Prove, KeepGoing: true, Out: &out}
	results, err := runner.Run(t.Context(), table)
	if err != nil || len(results) != 2 {
		t.Fatal(results, err)
	}
	figure := results[1].Figures[0]
	if !strings.HasPrefix(figure, "measure=1 level=1") || strings.Contains(figure, "bad") {
		t.Errorf("a suite of prove saw %s", figure)
	}
}

// TestNothingRunsWithoutItsBuild has a build fail. Suites would fail without saying why, in prove
// too.
func TestNothingRunsWithoutItsBuild(t *testing.T) {
	var out bytes.Buffer
	runner := Runner{Root: project(t), Tier: Prove, KeepGoing: true, Out: &out}
	results, err := runner.Run(t.Context(), tableOf(t, "bad|-|-|+|.\n---\ngood|-|-|+|."))
	if err != nil || len(results) != 1 || !results[0].Failed {
		t.Errorf("%+v %v", results, err)
	}
}

func TestTheGateDoesNotMeasure(t *testing.T) {
	t.Setenv("TEST_RETINUE_MEASURE", "1")
	if env := environment(os.Environ(), Gate); slices.Contains(env, "TEST_RETINUE_MEASURE=1") {
		t.Error("the gate measures when the environment says so")
	}
}

func TestSuitesRunSideBySideAndBuildsAlone(t *testing.T) {
	dir := t.TempDir()
	// Each of the two waits until the other has begun, so one after the other they would never end.
	text := "build:\n\t@test ! -e a -a ! -e b; touch built\n" +
		"a:\n\t@test -e built; touch a; for i in $$(seq 600); do test -e b && exit 0; sleep 0.1; done; exit 1\n" +
		"b:\n\t@test -e built; touch b; for i in $$(seq 600); do test -e a && exit 0; sleep 0.1; done; exit 1\n" +
		".PHONY: build a b\n"
	if err := os.WriteFile(filepath.Join(dir, "Makefile"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	results, err := (&Runner{Root: dir, Tier: Gate, Jobs: 2, Out: &out}).Run(t.Context(),
		tableOf(t, "build|-|+|+|.\n---\na|-|+|+|.\nb|-|+|+|."))
	if err != nil || len(results) != 3 || slices.ContainsFunc(results, func(r Result) bool { return r.Failed }) {
		t.Errorf("%+v %v\n%s", results, err, out.String())
	}
}

func TestFiguresOfOutputThatNamesNone(t *testing.T) {
	for output, want := range map[string][]string{
		"ok  \tpkg/a\t0.1s\nok  \tpkg/b\t0.2s\n":   {"the tests of 2 packages passed"},
		"=== RUN TestA\n--- PASS: TestA (0.00s)\n": {"1 tests passed"},
		"fine\n": nil,
	} {
		if diff := cmp.Diff(want, figures("suite", output, false)); diff != "" {
			t.Errorf("%q: %s", output, diff)
		}
	}
	if got := figures("suite", "no space left\n", true); !slices.Equal(got, []string{"failed outside of a test"}) {
		t.Errorf("got %q", got)
	}
}

func TestFiguresThatMatterComeFirst(t *testing.T) {
	output := "a_test.go:1: proof: stream 1: 1s, at most 2s\nproof: stream 2: 3s, at most 2s: missed\nproof: suite: 7 requests, 0 leaks\n"
	want := []string{"stream 2: 3s, at most 2s: missed", "7 requests, 0 leaks", "stream 1: 1s, at most 2s"}
	if diff := cmp.Diff(want, figures("suite", output, false)); diff != "" {
		t.Error(diff)
	}
	if got := figures("suite", strings.Repeat("proof: x\n", mostFigures+3), false); got[mostFigures] != "and 3 more lines" {
		t.Errorf("of too many figures %q are left", got)
	}
}
