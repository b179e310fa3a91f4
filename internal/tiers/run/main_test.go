package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tier runs make with a choice of suites, as a person would: what a make around this test was asked
// for is not passed on.
func tier(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("make", append([]string{"--no-print-directory"}, args...)...)
	cmd.Dir = filepath.Join("..", "..", "..")
	cmd.Env = slices.DeleteFunc(os.Environ(), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains([]string{"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "ONLY", "FROM", "CHANGED", "LIST"}, name)
	})
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestMakeListsWhatItWouldRun(t *testing.T) {
	for args, want := range map[string]string{
		"prove LIST=1 ONLY=crash%streams":   "tools engine lean crash streams",
		"gate LIST=1 ONLY=crash":            "tools engine lean crash",
		"prove LIST=1 FROM=report/binaries": "tools engine lean report/binaries sbom vulns gate/sabotage",
	} {
		var words []string
		for _, word := range strings.Fields(args) {
			words = append(words, strings.ReplaceAll(word, "%", " "))
		}
		out, err := tier(t, words...)
		if got := strings.Join(strings.Fields(out), " "); got != want || err != nil {
			t.Errorf("make %s lists %q, want %q (%v)", words, got, want, err)
		}
	}
}

func TestMakeRefusesWhatIsNoSuite(t *testing.T) {
	for _, args := range [][]string{
		{"prove", "ONLY=nosuch"}, {"prove", "FROM=nosuch"}, {"prove", "CHANGED=nosuch"}, {"gate", "ONLY=fuzz"},
	} {
		out, err := tier(t, args...)
		if err == nil || !strings.Contains(out, "make "+args[0]+": ") {
			t.Errorf("make %v: %v\n%s", args, err, out)
		}
	}
}
