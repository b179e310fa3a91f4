package sandbox

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestOutputKeepsBothEnds writes the same bytes in pieces of any size and compares with the obvious
// way.
func TestOutputKeepsBothEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(2, 40).Draw(t, "size")
		half := size / 2
		c := newCapture(size)
		var all []byte
		for _, piece := range rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 100)).Draw(t, "pieces") {
			if n, err := c.Write(piece); n != len(piece) || err != nil {
				t.Fatalf("wrote %d, %v", n, err)
			}
			all = append(all, piece...)
		}
		head := all[:min(half, len(all))]
		rest := all[len(head):]
		tail := rest[max(0, len(rest)-half):]
		got := c.output()
		want := Output{Head: append([]byte{}, head...), Tail: append([]byte{}, tail...), Cut: int64(len(rest) - len(tail))}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestCutOutputSaysSo(t *testing.T) {
	c := newCapture(8)
	drain(c, iotest.OneByteReader(strings.NewReader("0123456789")))
	if got := c.output().String(); got != "0123\n[2 bytes cut]\n6789" {
		t.Errorf("%q", got)
	}
	c = newCapture(8)
	drain(c, bytes.NewReader([]byte("01234567")))
	if got := c.output().String(); got != "01234567" {
		t.Errorf("%q", got)
	}
}

func TestLimitsHaveDefaultsAndACeiling(t *testing.T) {
	if l := (Limits{}).withDefaults(); l.Wall == 0 || l.Output == 0 || l.Processes == 0 || l.FileSize == 0 || l.OpenFiles == 0 ||
		l.Memory == 0 || l.Tmp == 0 {
		t.Errorf("%+v", l)
	}
	if l := (Limits{Output: 1 << 30, Memory: 5}).withDefaults(); l.Output != maxOutput || l.Memory != 5 {
		t.Errorf("%+v", l)
	}
}

func TestCommandsThatMakeNoSenseAreRefused(t *testing.T) {
	fine := Command{Argv: []string{"true"}, Workspace: "/w"}
	if err := fine.check(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Command){
		"nothing to run":         func(c *Command) { c.Argv = nil },
		"an empty name":          func(c *Command) { c.Argv = []string{""} },
		"no workspace":           func(c *Command) { c.Workspace = "" },
		"a relative workspace":   func(c *Command) { c.Workspace = "w" },
		"the root as workspace":  func(c *Command) { c.Workspace = "/" },
		"an unclean workspace":   func(c *Command) { c.Workspace = "/w/../etc" },
		"NUL in an argument":     func(c *Command) { c.Argv = []string{"true", "a\x00b"} },
		"NUL in the environment": func(c *Command) { c.Env = []string{"A=\x00"} },
		"NUL in the folder":      func(c *Command) { c.Dir = "a\x00" },
	} {
		c := fine
		change(&c)
		if c.check() == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestWhatOthersActOnIsProtected(t *testing.T) {
	listed := Protected()
	for _, path := range []string{".git/hooks", ".git/config", ".retinue", ".claude", ".mcp.json", ".envrc", ".husky", "AGENTS.md"} {
		if !slices.Contains(listed, path) {
			t.Errorf("%s is not", path)
		}
	}
	for _, g := range guardedPaths {
		for _, name := range []string{g.path, "sub/" + g.path, g.path + "/x", strings.ToUpper(g.path)} {
			if IsProtected(name) == g.advice || IsAdvice(name) != g.advice {
				t.Errorf("a tool may write %s: %v, with an approval: %v", name, !IsProtected(name), IsAdvice(name))
			}
		}
	}
	for _, name := range []string{".", "a", ".github/x", ".config/fisher", "x.bashrc", "git/hooks", "AGENTS.md.set-aside", "mise", ".github/workflows/ci.yml"} {
		if IsProtected(name) || IsAdvice(name) {
			t.Errorf("a tool may not write %s", name)
		}
	}
}
