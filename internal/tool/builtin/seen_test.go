package builtin_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/tool"
	"github.com/retinue-dev/retinue/internal/tool/builtin"
)

func sum(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])
}

// TestOnlyWhatWasSeenIsReplaced writes a file for callers that read different versions of it.
func TestOnlyWhatWasSeenIsReplaced(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		args  string
		seen  map[string]string
		fails error
		want  string
	}{
		"there is no file":          {args: `{"path":"a","content":"new"}`, want: "new"},
		"it was read as it is":      {files: map[string]string{"a": "old"}, args: `{"path":"a","content":"new"}`, seen: map[string]string{"a": sum("old")}, want: "new"},
		"it was read through links": {files: map[string]string{"b": "old", "a": "->b"}, args: `{"path":"a","content":"new"}`, seen: map[string]string{"a": sum("old")}, want: "new"},
		"it was never read":         {files: map[string]string{"a": "old"}, args: `{"path":"a","content":"new"}`, want: "read it first"},
		"it was changed since":      {files: map[string]string{"a": "old"}, args: `{"path":"a","content":"new"}`, seen: map[string]string{"a": sum("older")}, want: "read it again"},
		"the hash is known":         {files: map[string]string{"a": "old"}, args: `{"path":"a","content":"new","expect":"` + sum("old") + `"}`, want: "new"},
		"it is there already":       {files: map[string]string{"a": "new"}, args: `{"path":"a","content":"new"}`, want: "new"},
		"nobody can tell":           {files: map[string]string{"a": "old"}, args: `{"path":"a","content":"new"}`, fails: errors.New("no journal"), want: "no journal"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tree(t, c.files)
			w, err := builtin.Open(dir)
			must(t, err)
			defer func() { must(t, w.Close()) }()
			s, err := tool.NewSet(tool.Options{}, w.Writing()...)
			must(t, err)
			r, err := s.Run(t.Context(), tool.Call{Tool: "write_file", Args: json.RawMessage(c.args), Seen: func(paths ...string) (string, error) {
				for _, p := range paths {
					if hash := c.seen[p]; hash != "" {
						return hash, nil
					}
				}
				return "", c.fails
			}})
			must(t, err)
			held, err := os.ReadFile(filepath.Join(dir, "a"))
			must(t, err)
			if c.want == "new" {
				if r.End != tool.EndOK || string(held) != "new" {
					t.Errorf("%s %s, and the file holds %q", r.End, r.Text, held)
				}
				return
			}
			if r.End != tool.EndFailed || !strings.Contains(r.Text, c.want) || string(held) != "old" {
				t.Errorf("%s %s, and the file holds %q", r.End, r.Text, held)
			}
		})
	}
}

func TestReplaceWritesAllOrNothing(t *testing.T) {
	dir := tree(t, map[string]string{"a": "one\n", "gone": "x\n", ".git/config": "c\n", "link": "->a"})
	w, err := builtin.Open(dir)
	must(t, err)
	defer func() { must(t, w.Close()) }()
	good := builtin.Replacement{Path: "a", Before: sum("one\n"), Data: []byte("two\n")}
	for name, bad := range map[string]builtin.Replacement{
		"changed meanwhile": {Path: "gone", Before: sum("y\n"), Data: []byte("z\n")},
		"made meanwhile":    {Path: "gone", Data: []byte("z\n")},
		"gone meanwhile":    {Path: "never", Before: sum("y\n"), Gone: true},
		"protected":         {Path: ".git/config", Before: sum("c\n"), Data: []byte("z\n")},
		"through a link":    {Path: "link", Before: sum("one\n"), Data: []byte("z\n")},
		"outside":           {Path: "../out", Data: []byte("z\n")},
	} {
		if changes, err := w.Replace(t.Context(), []builtin.Replacement{good, bad}); err == nil {
			t.Errorf("%s: %v", name, changes)
		}
		if held, err := os.ReadFile(filepath.Join(dir, "a")); err != nil || string(held) != "one\n" {
			t.Fatalf("%s: the other file holds %q %v", name, held, err)
		}
	}
	changes, err := w.Replace(t.Context(), []builtin.Replacement{
		good, {Path: "deep/new.sh", Data: []byte("#!\n"), Executable: true}, {Path: "gone", Before: sum("x\n"), Gone: true},
	})
	must(t, err)
	want := []tool.Change{
		{Path: "a", Before: sum("one\n"), After: sum("two\n"), Bytes: 4, Added: 1, Removed: 1},
		{Path: "deep/new.sh", After: sum("#!\n"), Bytes: 3, Added: 1},
		{Path: "gone", Before: sum("x\n"), Removed: 1},
	}
	if diff := cmp.Diff(want, changes); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(filepath.Join(dir, "deep/new.sh")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v %v", info, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "gone")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

// TestWritersOfAMachineTakeTurns counts up a file that says which number is next, from several
// handles on one lock as several processes have them, and has a process of its own hold the lock
// too.
func TestWritersOfAMachineTakeTurns(t *testing.T) {
	dir, lock := tree(t, map[string]string{"n": ""}), filepath.Join(t.TempDir(), "lock")
	const writers, times = 4, 25
	var all sync.WaitGroup
	for range writers {
		w, err := builtin.Open(dir)
		must(t, err)
		w.LockWith(lock)
		all.Go(func() {
			for range times {
				unlock, err := w.Lock(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				held, err := os.ReadFile(filepath.Join(dir, "n"))
				if err == nil {
					err = os.WriteFile(filepath.Join(dir, "n"), append(held, 'x'), 0o644)
				}
				if err != nil {
					t.Error(err)
				}
				unlock()
			}
		})
	}
	all.Wait()
	if held, err := os.ReadFile(filepath.Join(dir, "n")); err != nil || len(held) != writers*times {
		t.Errorf("%d of %d were counted, %v", len(held), writers*times, err)
	}
	other := exec.Command("flock", lock, "-c", "echo held; read line")
	in, err := other.StdinPipe()
	must(t, err)
	out, err := other.StdoutPipe()
	must(t, err)
	must(t, other.Start())
	_, err = out.Read(make([]byte, 8))
	must(t, err)
	w, err := builtin.Open(dir)
	must(t, err)
	w.LockWith(lock)
	soon, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	if _, err := w.Lock(soon); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("another process holds it, and locking gives %v", err)
	}
	must(t, in.Close())
	_ = other.Wait() // that it read nothing is known
	unlock, err := w.Lock(t.Context())
	must(t, err)
	unlock()
}

func TestATreeIsKnownByTheWorkspacesPaths(t *testing.T) {
	work, copied := tree(t, map[string]string{"a": "work\n"}), tree(t, map[string]string{"a": "copy\n"})
	w, err := builtin.Open(copied)
	must(t, err)
	defer func() { must(t, w.Close()) }()
	w.KnownAs(work)
	s, err := tool.NewSet(tool.Options{}, w.Tools()...)
	must(t, err)
	for _, path := range []string{"a", filepath.Join(copied, "a"), filepath.Join(work, "a")} {
		if r := ask(t, s, "read_file", quote("path", path)); !strings.Contains(r.Text, "copy") {
			t.Errorf("%s: %s", path, r.Text)
		}
	}
}
