package tiers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestProofKeepsTheRowsOfOthers(t *testing.T) {
	proof := &Proof{
		Path:  filepath.Join(t.TempDir(), "proof.md"),
		Table: tableOf(t, "---\na|-|+|+|.\nb|-|+|+|.\nc|+|+|-|."), Commit: "abc1234", Machine: "2 cores",
		Now: func() time.Time { return time.Date(2026, 11, 17, 1, 2, 3, 0, time.UTC) },
	}
	for _, r := range []Result{
		{Suite: "b", Took: 61 * time.Second, Figures: []string{"1 | 2 < 3", "0 leaks"}},
		{Suite: "a", Took: time.Second, Failed: true, Figures: []string{"failed: TestA"}},
		{Suite: "b", Took: 62 * time.Second, Figures: []string{"1 | 2 < 3", "0 leaks"}},
		{Suite: "gone", Took: time.Second},
	} {
		if err := proof.Record(r); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(proof.Path)
	if err != nil {
		t.Fatal(err)
	}
	want := proofHead +
		"| `a` | **failed** | failed: TestA | 1 s | `abc1234` | 2026-11-17 | 2 cores |\n" +
		"| `b` | passed | 1 / 2 &lt; 3<br>0 leaks | 62 s | `abc1234` | 2026-11-17 | 2 cores |\n"
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Error(diff)
	}
}

func TestCommitSaysWhetherThereIsMore(t *testing.T) {
	dir := gitFolder(t)
	write(t, dir, "docs/proof.md", "new")
	clean, err := Commit(dir)
	if err != nil || strings.HasSuffix(clean, "+") {
		t.Errorf("with another proof alone: %s, %v", clean, err)
	}
	write(t, dir, "a.go", "package a // changed\n")
	if dirty, err := Commit(dir); err != nil || dirty != clean+"+" {
		t.Errorf("with another file: %s, %v", dirty, err)
	}
}

func TestMachineNamesItsCores(t *testing.T) {
	if got := Machine(); !strings.Contains(got, "cores") {
		t.Errorf("the machine is %q", got)
	}
}
