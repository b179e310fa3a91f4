package builtin

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
)

// TestWhatSomebodyElseWroteMeanwhileIsNotReplaced changes a file between the look and the swap.
func TestWhatSomebodyElseWroteMeanwhileIsNotReplaced(t *testing.T) {
	write := func(t *testing.T, name, content string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		there     bool
		meanwhile func(t *testing.T, name string)
		want      []string
		conflict  bool
	}{
		"at rest":    {true, func(*testing.T, string) {}, []string{"f ours"}, false},
		"still none": {false, func(*testing.T, string) {}, []string{"f ours"}, false},
		"changed":    {true, func(t *testing.T, name string) { write(t, name, "theirs") }, []string{"f theirs"}, true},
		"made":       {false, func(t *testing.T, name string) { write(t, name, "theirs") }, []string{"f theirs"}, true},
		"replaced": {true, func(t *testing.T, name string) {
			// The old file is kept elsewhere: were it gone, the new one could get its number, and within one
			// tick of the disk's clock nothing would tell them apart.
			if err := os.Rename(name, filepath.Join(t.TempDir(), "kept")); err != nil {
				t.Fatal(err)
			}
			write(t, name, "old")
		}, []string{"f old"}, true},
		"removed":    {true, func(_ *testing.T, name string) { _ = os.Remove(name) }, nil, true},
		"now a link": {false, func(_ *testing.T, name string) { _ = os.Symlink("elsewhere", name) }, []string{"f link"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if c.there {
				write(t, filepath.Join(dir, "f"), "old")
			}
			w, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = w.Close() }()
			p, err := w.place("f", missingRefused)
			if err != nil {
				t.Fatal(err)
			}
			before, err := p.look(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			c.meanwhile(t, filepath.Join(dir, "f"))
			err = errors.Join(p.swap(t.Context(), before, []byte("ours")), p.dir.Close())
			if (chat.CodeOf(err) == chat.CodeConflict) != c.conflict || (err == nil) == c.conflict {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff(c.want, listed(t, dir)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// listed is every entry of a folder with its content.
func listed(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			data = []byte("link")
		}
		out = append(out, e.Name()+" "+string(data))
	}
	return out
}
