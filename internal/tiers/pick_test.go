package tiers

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// examples are changes, and the suites of prove that guard them beyond those that run on every
// change.
var examples = map[string]struct {
	files  []string
	suites []string
}{
	"a decision of the core": {
		files: []string{"internal/agent/spawn.go"},
		suites: []string{
			"lint", "workflowcheck", "cover", "core", "trace", "sim", "mutants", "race", "replay", "e2e", "walls", "cost", "approvals", "injection",
			"crash/points",
			"crash", "crash/ledger", "crash/rolling", "measure", "bench/engine",
		},
	},
	"how the journal appends": {
		files: []string{"internal/journal/postgres/append.go"},
		suites: []string{
			"lint", "generate-check", "cover", "race", "test/services", "tenancy", "e2e", "walls", "approvals", "crash/points", "crash",
			"crash/ledger", "crash/delete", "crash/lost", "crash/stopped", "crash/rolling",
			"crash/mutants", "streams", "neighbours", "measure", "bench/journal", "bench/engine", "bench/api",
		},
	},
	"a component of the web app": {
		files:  []string{"web/src/features/chat/composer.tsx", "CHANGELOG.md"},
		suites: []string{"web/check", "web/test", "e2e/web", "report/binaries"},
	},
	"a wall of the sandbox": {
		files:  []string{"internal/sandbox/bwrap.go"},
		suites: []string{"lint", "cover", "race", "test/mcp", "escape", "e2e", "walls", "paused", "crash/stopped", "measure"},
	},
	"a module that we require": {
		files:  []string{"go.mod"},
		suites: []string{"notice/check", "sbom", "vulns"},
	},
	"the walk of the API's document": {
		files:  []string{"docs/api.md"},
		suites: []string{"docs/api"},
	},
}

func TestPickFindsTheSuitesThatGuardAChange(t *testing.T) {
	table := theTable(t)
	for name, example := range examples {
		t.Run(name, func(t *testing.T) {
			dir := gitFolder(t)
			for _, file := range example.files {
				write(t, dir, file, "changed\n")
			}
			commit(t, dir, name)
			changed, err := Changed(dir, "HEAD~1")
			if err != nil {
				t.Fatal(err)
			}
			picked, err := table.Pick(Prove, Choice{Changed: changed})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range picked {
				if !s.Build && !s.guards([]string{"no/such/file"}) {
					got = append(got, s.Name)
				}
			}
			if diff := cmp.Diff(example.suites, got); diff != "" {
				t.Errorf("picked (+), want (-):\n%s", diff)
			}
		})
	}
}

func TestPickByName(t *testing.T) {
	table := tableOf(t, "build|-|+|+|.\n---\na|+|-|+|x\nb|-|+|+|y\nc|-|+|+|y")
	for name, test := range map[string]struct {
		by   Choice
		want []string
	}{
		"all":                 {Choice{}, []string{"build", "a", "b", "c"}},
		"only":                {Choice{Only: "c a"}, []string{"build", "a", "c"}},
		"only a build":        {Choice{Only: "build"}, []string{"build"}},
		"from":                {Choice{From: "b"}, []string{"build", "b", "c"}},
		"changed":             {Choice{Changed: []string{"y/1.go"}}, []string{"build", "b", "c"}},
		"changed, from":       {Choice{Changed: []string{"y/1.go"}, From: "c"}, []string{"build", "c"}},
		"nothing guards it":   {Choice{Changed: []string{"yy/1.go"}}, nil},
		"nothing has changed": {Choice{Changed: []string{}}, nil},
	} {
		picked, err := table.Pick(Prove, test.by)
		var got []string
		for _, s := range picked {
			got = append(got, s.Name)
		}
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
			t.Errorf("%s: %s %v", name, diff, err)
		}
	}
	for _, by := range []Choice{{Only: "nosuch"}, {From: "nosuch"}} {
		if picked, err := table.Pick(Prove, by); err == nil {
			t.Errorf("%+v picked %v", by, picked)
		}
	}
	if picked, err := table.Pick(Gate, Choice{Only: "a"}); err == nil {
		t.Errorf("the gate picked %v, which it does not have", picked)
	}
}

func TestChangedSeesWhatIsNotCommittedYet(t *testing.T) {
	dir := gitFolder(t)
	write(t, dir, "a.go", "package a // changed\n")
	write(t, dir, "new/b.go", "package b\n")
	got, err := Changed(dir, "HEAD")
	if diff := cmp.Diff([]string{"a.go", "new/b.go"}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if _, err := Changed(dir, "nosuch"); err == nil {
		t.Error("a revision that does not exist was accepted")
	}
}

// gitFolder is a checkout with one commit.
func gitFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	command(t, dir, "init", "-q")
	write(t, dir, "a.go", "package a\n")
	write(t, dir, "docs/proof.md", "old")
	commit(t, dir, "first")
	return dir
}

func commit(t *testing.T, dir, message string) {
	t.Helper()
	command(t, dir, "add", "-A")
	command(t, dir, "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", message)
}

func command(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
