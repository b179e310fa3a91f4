//go:build linux

package shell_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/sandbox"
)

func (b bench) binding(t *testing.T, pairs ...any) string {
	t.Helper()
	text, err := b.tool.Binding(t.Context(), call(t, pairs...))
	must(t, err)
	return text
}

// TestABindingChangesWithWhatWouldRun changes one thing at a time that the arguments do not show.
func TestABindingChangesWithWhatWouldRun(t *testing.T) {
	b := newBench(t, bare())
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(b.dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o755))
	}
	for _, c := range []struct{ line, file string }{
		{"bash x.sh", "x.sh"},
		{"./z", "z"},
		{"python3 y.py --fast", "y.py"},
		{"true && sub/run", "sub/run"},
		{"cd sub && ./deep", "sub/deep"},
		{"env bash x2.sh", "x2.sh"},
	} {
		write(c.file, "echo 1\n")
		before := b.binding(t, "command", c.line)
		if again := b.binding(t, "command", c.line); again != before {
			t.Errorf("%s: two bindings of one call differ:\n%s\n%s", c.line, before, again)
		}
		write(c.file, "echo 2\n")
		if b.binding(t, "command", c.line) == before {
			t.Errorf("%s: another script has the same binding:\n%s", c.line, before)
		}
	}
	write("data", "1")
	before := b.binding(t, "command", "cat data")
	write("data", "2")
	if b.binding(t, "command", "cat data") != before {
		t.Error("what a command only reads is bound")
	}
	if b.binding(t, "command", "cat data", "cwd", "sub") == before {
		t.Error("another folder has the same binding")
	}
	must(t, os.Symlink("sub", filepath.Join(b.dir, "link")))
	linked := b.binding(t, "command", "cat data", "cwd", "link")
	must(t, os.Remove(filepath.Join(b.dir, "link")))
	must(t, os.Symlink(".", filepath.Join(b.dir, "link")))
	if b.binding(t, "command", "cat data", "cwd", "link") == linked {
		t.Error("a link that leads elsewhere has the same binding")
	}
}

func TestABindingNamesTheProgramOfThePathItWillHave(t *testing.T) {
	programs := t.TempDir()
	t.Setenv("PATH", programs+":/usr/bin:/bin")
	o := bare()
	o.Pass = []string{"PATH"}
	b, usual := newBench(t, o), newBench(t, bare())
	path := filepath.Join(programs, "cat")
	must(t, os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755))
	before := b.binding(t, "command", "cat x")
	if !strings.Contains(before, "program "+path+" is "+path) {
		t.Errorf("another program is bound:\n%s", before)
	}
	must(t, os.WriteFile(path, []byte("#!/bin/sh\nrm x\n"), 0o755))
	if b.binding(t, "command", "cat x") == before {
		t.Error("another program of the same name has the same binding")
	}
	if text := usual.binding(t, "command", "cat x"); strings.Contains(text, programs) {
		t.Errorf("a PATH that programs do not get is used:\n%s", text)
	}
	hosts := newBench(t, bare(), "a.example")
	if !strings.Contains(hosts.binding(t, "command", "true"), `hosts ["a.example"]`) {
		t.Error("hosts are not bound")
	}
	if text := usual.binding(t, "command", "true"); !strings.Contains(text, "sandbox "+string(sandbox.TierNone)) {
		t.Errorf("the tier is not bound: %s", text)
	}
}
