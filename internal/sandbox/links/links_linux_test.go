package links

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/retinue-dev/retinue/internal/chat"
)

// write makes a file and the folders above it.
func write(t *testing.T, parts ...string) string {
	t.Helper()
	at := filepath.Join(parts...)
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	return at
}

func link(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Link(from, to); err != nil {
		t.Fatal(err)
	}
}

// find looks through a workspace, which it opens as a sandbox does.
func find(t *testing.T, work string) ([]string, error) {
	t.Helper()
	dir, err := os.Open(work)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	return Find(dir)
}

func TestFilesWithANameOutsideAreFound(t *testing.T) {
	work, outside := t.TempDir(), t.TempDir()
	write(t, work, "alone")
	link(t, write(t, work, "a", "twice"), filepath.Join(work, "again"))
	link(t, write(t, outside, "cache"), filepath.Join(work, "a", "package"))
	link(t, filepath.Join(work, "a", "package"), filepath.Join(work, "copy"))
	if err := os.Symlink(outside, filepath.Join(work, "away")); err != nil {
		t.Fatal(err)
	}
	got, err := find(t, work)
	if want := []string{"a/package", "copy"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("found %q, %v, want %q", got, err, want)
	}
}

func TestManyNamesGiveWayToTheirFolders(t *testing.T) {
	work, outside := t.TempDir(), t.TempDir()
	cache := write(t, outside, "cache")
	write(t, work, "deep", "er", "own")
	for i := range MostMounts {
		link(t, cache, filepath.Join(work, "deep", "er", fmt.Sprint(i)))
	}
	if got, err := find(t, work); err != nil || !slices.Equal(got, []string{"deep/er"}) {
		t.Errorf("found %q, %v", got, err)
	}
	for i := range MostMounts + 1 {
		link(t, cache, filepath.Join(work, fmt.Sprint(i)))
	}
	if got, err := find(t, work); chat.CodeOf(err) != chat.CodeDenied {
		t.Errorf("at the top: %d found, %v", len(got), err)
	}
}
