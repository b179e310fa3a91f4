package builtin_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/retinue-dev/retinue/internal/tool"
)

// TestABindingIsTheContentThatWasThere changes the content that a writing call depends on, and
// other content.
func TestABindingIsTheContentThatWasThere(t *testing.T) {
	dir := tree(t, map[string]string{"a.md": "One.\n", "b.md": "One.\n", "sub/c.md": "One.\n"})
	must(t, os.Symlink("a.md", filepath.Join(dir, "link.md")))
	s := openWriting(t, dir)
	bindings := func(path string) [2]string {
		t.Helper()
		var out [2]string
		for i, call := range []tool.Call{
			{Tool: "Edit", Args: json.RawMessage(arguments(t, "file_path", path, "old", "One", "new", "Two"))},
			{Tool: "write_file", Args: json.RawMessage(arguments(t, "path", path, "content", "Two"))},
		} {
			var err error
			out[i], err = s.Binding(t.Context(), call)
			must(t, err)
		}
		return out
	}
	change := func(name, text string) func() {
		return func() { must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)) }
	}
	for _, step := range []struct {
		what, path string
		do         func()
		same       bool
	}{
		{"nothing", "a.md", func() {}, true},
		{"another file", "a.md", change("b.md", "Other.\n"), true},
		{"the same content again", "a.md", change("a.md", "One.\n"), true},
		{"the content", "a.md", change("a.md", "One!\n"), false},
		{"what a link leads to", "link.md", change("a.md", "One?\n"), false},
		{"where a link leads", "link.md", func() {
			must(t, os.Remove(filepath.Join(dir, "link.md")))
			must(t, os.Symlink("sub/c.md", filepath.Join(dir, "link.md")))
		}, false},
		{"a file that was not there", "new/d.md", func() {
			must(t, os.Mkdir(filepath.Join(dir, "new"), 0o700))
			change("new/d.md", "")()
		}, false},
		{"a file that goes", "b.md", func() { must(t, os.Remove(filepath.Join(dir, "b.md"))) }, false},
	} {
		before := bindings(step.path)
		step.do()
		after := bindings(step.path)
		for i := range before {
			if (before[i] == after[i]) != step.same {
				t.Errorf("%s changed: %s, then %s", step.what, before[i], after[i])
			}
		}
	}
	_ = bindings("none/e.md")
	if _, err := os.Stat(filepath.Join(dir, "none")); err == nil {
		t.Error("a binding made a folder")
	}
	if _, err := s.Binding(t.Context(), tool.Call{Tool: "Edit", Args: json.RawMessage(`{}`)}); err == nil {
		t.Error("arguments that do not fit are bound")
	}
}
