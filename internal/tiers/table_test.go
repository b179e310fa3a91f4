package tiers

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

func theTable(t *testing.T) Table {
	t.Helper()
	table, err := Parse(read(t, ".ci/tiers"))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestParse(t *testing.T) {
	got, err := Parse("# comment\nengine | - | + | + | standalone\n---\n\ncrash | - | MINUTES=1 SEED=2 | + | internal/durable e2e\n")
	want := Table{
		{Name: "engine", Build: true, With: map[Tier]Cell{Gate: {}, Prove: {}}, Guards: []string{"standalone"}},
		{
			Name: "crash", With: map[Tier]Cell{Gate: {"MINUTES=1", "SEED=2"}, Prove: {}},
			Guards: []string{"internal/durable", "e2e"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestABrokenTableIsRefused(t *testing.T) {
	for _, text := range []string{
		"a | + | + | .",                      // a column is missing
		"a | + |  | + | .",                   // nothing is said about the gate
		"a | - | - | - | .",                  // nobody runs it
		"a | + | + | + |",                    // it guards nothing
		"a | + | + | + | .\na | + | + | +|.", // twice
	} {
		if table, err := Parse(text); err == nil {
			t.Errorf("%q was read as %v", text, table)
		}
	}
}

// notSuites are documented targets that show nothing by themselves.
var notSuites = []string{
	"help", "check", "gate", "prove", "fmt", "generate", "generate/web", "histories", "notice", "pictures", "report", "clean", "vulns/update",
	"web",
}

var documented = regexp.MustCompile(`(?m)^([a-z0-9/-]+):.*## `)

func TestEveryTargetIsInTheTableAndEverySuiteIsATarget(t *testing.T) {
	var targets, suites []string
	for _, match := range documented.FindAllStringSubmatch(read(t, "Makefile"), -1) {
		targets = append(targets, match[1])
	}
	for _, s := range theTable(t) {
		suites = append(suites, s.Name)
		if !slices.Contains(targets, s.Name) {
			t.Errorf("%s is in .ci/tiers and is no documented target of the Makefile", s.Name)
		}
	}
	for _, target := range targets {
		if !slices.Contains(suites, target) && !slices.Contains(notSuites, target) {
			t.Errorf("make %s is in no tier: add it to .ci/tiers, so that something runs it", target)
		}
	}
}

func TestEveryVariableIsOneOfTheMakefile(t *testing.T) {
	makefile := read(t, "Makefile")
	for _, s := range theTable(t) {
		for tier, cell := range s.With {
			for _, word := range cell {
				name, _, ok := strings.Cut(word, "=")
				if !ok || !strings.Contains(makefile, "$("+name+")") && !strings.Contains(makefile, "("+name+"),") {
					t.Errorf("%s: make %s sets %s, which the Makefile does not read", s.Name, tier, word)
				}
			}
		}
	}
}

func TestEveryGuardedPathExists(t *testing.T) {
	for _, s := range theTable(t) {
		for _, path := range s.Guards {
			if _, err := os.Stat(filepath.Join(root, path)); err != nil {
				t.Errorf("%s guards %s, which does not exist", s.Name, path)
			}
		}
	}
}

// TestEveryPackageIsGuarded checks the table against the folders that exist: a change of any of
// them makes both the gate and prove run something other than what runs on every change.
func TestEveryPackageIsGuarded(t *testing.T) {
	table := theTable(t)
	for _, dir := range packages(t) {
		for _, tier := range []Tier{Gate, Prove} {
			guarded := slices.ContainsFunc(table.In(tier), func(s Suite) bool {
				return !s.Build && !slices.Contains(s.Guards, ".") && s.guards([]string{dir + "/x.go"})
			})
			if !guarded {
				t.Errorf("no suite of make %s guards %s", tier, dir)
			}
		}
	}
}

// packages are the folders with Go files.
func packages(t *testing.T) []string {
	t.Helper()
	var dirs []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && (name == "testdata" || name == "node_modules" || name == "bin" || name == ".git") {
			return filepath.SkipDir
		}
		dir := strings.TrimPrefix(filepath.Dir(path), root+"/")
		if filepath.Ext(name) == ".go" && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
		return nil
	})
	if err != nil || len(dirs) < 50 {
		t.Fatalf("found %d packages: %v", len(dirs), err)
	}
	return dirs
}

func TestProveRunsWhatTheGateRuns(t *testing.T) {
	for _, s := range theTable(t) {
		if s.in(Gate) && !s.in(Prove) {
			t.Errorf("make gate runs %s and make prove does not", s.Name)
		}
	}
}

// TestTheGateHasEverythingThatPromisesAZero: suites may be added to the gate, not taken out.
func TestTheGateHasEverythingThatPromisesAZero(t *testing.T) {
	table := theTable(t)
	for _, name := range []string{
		"fmt-check", "lint", "lint/engine", "lint/actions", "archtest", "generate-check", "workflowcheck", "web/check", "web/test",
		"core", "race", "replay", "sim", "e2e", "e2e/web", "docs/api", "test/engine", "test/services", "test/bridges", "test/mcp",
		"test/webhook", "tenancy", "hostile", "escape", "cost", "approvals", "injection", "audit", "crash", "crash/points", "crash/ledger",
		"paused", "crash/delete", "streams",
	} {
		if _, err := table.Command(Gate, name); err != nil {
			t.Error(err)
		}
	}
	for _, want := range []string{"crash MINUTES=1", "sim SEEDS=30000"} {
		name, _, _ := strings.Cut(want, " ")
		if got, _ := table.Command(Gate, name); strings.Join(got, " ") != want {
			t.Errorf("the gate runs make %s, want make %s", strings.Join(got, " "), want)
		}
	}
}
