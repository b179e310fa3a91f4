package builtin

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestAFolderSwappedForALinkIsNotEntered swaps a folder, between the look and the opening, for what
// the root alone would follow or open.
func TestAFolderSwappedForALinkIsNotEntered(t *testing.T) {
	for name, c := range map[string]struct {
		swap func(dir string) error
		want error
	}{
		"at rest":      {func(string) error { return nil }, nil},
		"link inside":  {func(dir string) error { return os.Symlink(".git", filepath.Join(dir, "folder")) }, errSwapped},
		"other folder": {func(dir string) error { return os.Rename(filepath.Join(dir, ".git"), filepath.Join(dir, "folder")) }, errSwapped},
		"gone":         {func(string) error { return nil }, os.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			folder := filepath.Join(dir, "folder")
			root, err := os.OpenRoot(dir)
			if err := errors.Join(err, os.Mkdir(folder, 0o755), os.Mkdir(filepath.Join(dir, ".git"), 0o755)); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = root.Close() }()
			seen, err := root.Lstat("folder")
			if err != nil {
				t.Fatal(err)
			}
			if c.want != nil {
				err = os.Rename(folder, filepath.Join(dir, "kept"))
			}
			if err := errors.Join(err, c.swap(dir)); err != nil {
				t.Fatal(err)
			}
			sub, err := enterSeen(root, "folder", seen)
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if sub != nil {
				_ = sub.Close()
			}
		})
	}
}
