package mutants

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/retinue-dev/retinue/internal/measure"
)

var (
	play = flag.Bool("mutants", false, "build and test every mutant, which takes minutes")
	only = flag.String("only", "", "with -mutants: only mutants whose name contains this")
)

// suites are the tests that must notice, cheapest first.
var suites = []struct {
	name   string
	binary string
	args   []string
}{
	{"receipts", "receipt", nil},
	{"scripts", "agent", []string{"-test.run=^TestScripts$"}},
	{"trees", "agent", []string{"-test.run=^(TestWhereAChildWorks|TestIsolationIsPartOfATask|TestMergingIsForThoseWhoWrite)$"}},
	{"approvals", "agent", []string{"-test.run=^(TestAuthorise|TestAnApprovalNeedsEachOfItsFacts)$"}},
	{"table", "agent", []string{"-test.run=^TestPhaseByEvent$"}},
	{"properties", "agent", []string{"-test.run=^TestProperties$", "-rapid.checks=1500", "-rapid.nofailfile", "-rapid.shrinktime=1ms"}},
	{"sim", "sim", []string{"-test.run=^TestHistories$", "-seeds=6000"}},
}

// TestEveryMutantFits shows, without building anything, that each mutant still has its place in the
// source.
func TestEveryMutantFits(t *testing.T) {
	names := map[string]bool{}
	for _, m := range List {
		source, err := os.ReadFile(filepath.Join("..", m.File))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(source), m.Old); n != 1 {
			t.Errorf("%s: its place occurs %d times in %s", m.Name, n, m.File)
		}
		if names[m.Name] || m.Old == m.New {
			t.Errorf("%s: twice the same", m.Name)
		}
		names[m.Name] = true
	}
}

// TestMutants builds each mutant, runs the tests of the core on it and prints which of them
// noticed.
func TestMutants(t *testing.T) {
	if !*play {
		t.Skip("run make mutants")
	}
	if by := test(t, Mutant{Name: "none"}); by != "" {
		t.Fatalf("the core as it is fails %s", by)
	}
	by := make([]string, len(List))
	seeded := 0
	slots := make(chan struct{}, 2)
	var wg sync.WaitGroup
	for i, m := range List {
		if !strings.Contains(m.Name, *only) {
			continue
		}
		seeded++
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			by[i] = test(t, m)
		})
	}
	wg.Wait()
	caught := 0
	for i, m := range List {
		switch {
		case !strings.Contains(m.Name, *only):
		case by[i] == "":
			t.Errorf("NOT CAUGHT  %s (%s)", m.Name, m.File)
		default:
			caught++
			t.Logf("caught by %-10s %s", by[i], m.Name)
		}
	}
	measure.Figure(t, "mutants: %d caught / %d seeded", caught, seeded)
}

// test returns the first suite that fails on a mutant, or nothing.
func test(t *testing.T, m Mutant) string {
	t.Helper()
	dir := t.TempDir()
	overlay := writeOverlay(t, dir, m)
	packages := map[string]string{"agent": ".", "receipt": "receipt", "sim": "sim"}
	built := map[string]bool{}
	for _, s := range suites {
		if s.binary == "receipt" && m.File != "" && !strings.HasPrefix(m.File, "receipt/") {
			continue // receipts are made of nothing else
		}
		binary := filepath.Join(dir, s.binary)
		if !built[s.binary] {
			out, err := exec.Command("go", "test", "-c", "-overlay", overlay, "-o", binary, "../"+packages[s.binary]).CombinedOutput()
			if err != nil {
				t.Errorf("%s does not build, so it proves nothing: %v\n%s", m.Name, err, out)
				return ""
			}
			built[s.binary] = true
		}
		cmd := exec.Command(binary, append(s.args, "-test.timeout=120s")...)
		cmd.Dir = filepath.Join("..", packages[s.binary])
		out, err := cmd.CombinedOutput()
		if _, failed := errors.AsType[*exec.ExitError](err); failed {
			return s.name
		} else if err != nil {
			t.Errorf("%s: %s: %v\n%s", m.Name, s.name, err, out)
		}
	}
	return ""
}

// writeOverlay writes the changed file and the list that the go command takes.
func writeOverlay(t *testing.T, dir string, m Mutant) string {
	t.Helper()
	replace := map[string]string{}
	if m.File != "" {
		original, err := filepath.Abs(filepath.Join("..", m.File))
		if err != nil {
			t.Fatal(err)
		}
		source, err := os.ReadFile(original)
		if err != nil {
			t.Fatal(err)
		}
		changed := filepath.Join(dir, filepath.Base(m.File))
		if err := os.WriteFile(changed, []byte(strings.Replace(string(source), m.Old, m.New, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[original] = changed
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(fmt.Errorf("write overlay: %w", err))
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
