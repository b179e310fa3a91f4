package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// table has two items, one of them with two tests.
const table = `
# item | package | test  | flags
1.1    | ./a     | TestA |
1.1    | ./b     | TestB | -b
1.10   | ./b     | TestC |
`

// printed is what the tests of the table print if all is well.
const printed = `
    a_test.go:1: proof: walls 1.1: 3 attempts, 0 succeeded
--- PASS: TestA (0.00s)
    b_test.go:1: proof: walls 1.1: 4 attempts, 0 succeeded
--- PASS: TestB (0.00s)
    wall.go:16: proof: walls 1.10: 5 attempts, 0 succeeded
--- PASS: TestC (0.00s)
`

func TestSum(t *testing.T) {
	rows, err := parse(table)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		old, new string
		want     string
		ok       bool
	}{
		"all is well":          {"", "", "proof: walls: 2 items, 12 attempts, 0 succeeded", true},
		"an attack succeeded":  {"5 attempts, 0", "5 attempts, 2", "proof: walls: 2 items, 12 attempts, 2 succeeded", false},
		"a test says nothing":  {"walls 1.10: 5", "other 1.10: 5", "proof: walls: 2 items, 7 attempts, 0 succeeded; missing: attacks on 1.10", false},
		"nothing is tried":     {"5 attempts", "0 attempts", "proof: walls: 2 items, 7 attempts, 0 succeeded; missing: attacks on 1.10", false},
		"a test is skipped":    {"PASS: TestB", "SKIP: TestB", "proof: walls: 2 items, 12 attempts, 0 succeeded; missing: TestB", false},
		"a test is not there":  {"--- PASS: TestA (0.00s)\n", "", "proof: walls: 2 items, 12 attempts, 0 succeeded; missing: TestA", false},
		"another test is like": {"PASS: TestC", "PASS: TestCase", "proof: walls: 2 items, 12 attempts, 0 succeeded; missing: TestC", false},
	} {
		line, ok := sum(rows, strings.Replace(printed, c.old, c.new, 1))
		if _, last, _ := strings.Cut(line, "proof: "); "proof: "+last != c.want || ok != c.ok {
			t.Errorf("%s: %t %q, want %q", name, ok, line, c.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	if rows, err := parse("1.1 | ./a | TestA"); err == nil {
		t.Errorf("three columns make %v", rows)
	}
}

// TestTheTable compares .ci/walls with the existing tests and with docs/walls.md, which names each
// of them.
func TestTheTable(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, ".ci", "walls"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "walls.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if !declared(t, filepath.Join(root, r.pkg), r.test) {
			t.Errorf("%s has no test %s", r.pkg, r.test)
		}
		if !strings.Contains(string(page), "\n| "+r.item+" ") || !strings.Contains(string(page), r.test) {
			t.Errorf("docs/walls.md does not name item %s and %s", r.item, r.test)
		}
	}
}

// declared reports whether a package has a test that counts attacks.
func declared(t *testing.T, pkg, test string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+test+"(t *testing.T) {") {
			return true
		}
	}
	return false
}
