// Package worktree gives agents folders of their own beside a workspace, so that agents that write
// at the same time do not overwrite each other, and merges their changes into the workspace.
//
// It imports chat and tool, and runs the git program, on a store of its own: contents of a
// workspace are copied into it, and its copies are checked out of it. A repository in the workspace
// is never opened. So its index, branches and list of worktrees stay as they are, a folder without
// a repository works as well, and nothing that lies in a workspace (hooks, filters, drivers,
// monitors, settings) is ever run.
package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Store keeps what trees of one workspace were copied from, and the trees.
type Store struct {
	dir    string
	folder string
	git    string
}

// oldest is the first version of git that can merge without a folder.
const oldest = "2.38"

// Open opens the store of a workspace, below a folder for such stores, and makes it if it is
// missing. A refusal says what to do about it.
func Open(ctx context.Context, below, folder string) (*Store, error) {
	git, err := exec.LookPath("git")
	if err != nil {
		return nil, refuse("git is missing, and a tree of its own needs it: install git %s or later, or leave isolation out", oldest)
	}
	folder, err = filepath.EvalSymlinks(folder)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	if err := os.MkdirAll(below, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder for trees: %w", err)
	}
	below, err = filepath.EvalSymlinks(below)
	if err != nil {
		return nil, fmt.Errorf("open the folder for trees: %w", err)
	}
	if inside(below, folder) || inside(folder, below) {
		return nil, refuse("the data folder lies in the workspace: set data_dir to a folder outside of it, or leave isolation out")
	}
	s := &Store{dir: filepath.Join(below, name(folder)), folder: folder, git: git}
	return s, s.found(ctx)
}

// inside reports whether a path is a folder or below it.
func inside(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// found makes the missing parts of a store. A second process finds them done.
func (s *Store) found(ctx context.Context) error {
	for _, dir := range []string{"trees", "store.git/info", "store.git/refs/heads", "store.git/objects"} {
		if err := os.MkdirAll(filepath.Join(s.dir, dir), 0o700); err != nil {
			return fmt.Errorf("make the store of trees: %w", err)
		}
	}
	for file, text := range map[string]string{
		"store.git/HEAD": "ref: refs/heads/none\n", "store.git/config": storeConfig,
		"store.git/info/attributes": storeAttributes, "binary": allBinary,
	} {
		if err := s.write(file, text); err != nil {
			return err
		}
	}
	version, err := s.line(ctx, invocation{args: []string{"version"}})
	if err != nil {
		return err
	}
	if old(version) {
		return refuse("%s is too old for trees of their own: install %s or later, or leave isolation out", version, oldest)
	}
	return nil
}

// write puts a file of the store in place, whole, unless it is already as it should be.
func (s *Store) write(file, text string) error {
	path := filepath.Join(s.dir, file)
	if have, err := os.ReadFile(path); err == nil && string(have) == text {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), "new-")
	if err != nil {
		return fmt.Errorf("make the store of trees: %w", err)
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("make the store of trees: %w", err)
	}
	return nil
}

// old reports whether a version, as git says it, is before the oldest that will do.
func old(version string) bool {
	var major, minor, wantMajor, wantMinor int
	if _, err := fmt.Sscanf(version, "git version %d.%d", &major, &minor); err != nil {
		return true
	}
	_, _ = fmt.Sscanf(oldest, "%d.%d", &wantMajor, &wantMinor) // it is ours
	return major < wantMajor || major == wantMajor && minor < wantMinor
}

// Folder is where a tree is, there or not.
func (s *Store) Folder(id string) string { return filepath.Join(s.dir, "trees", name(id)) }

// Has reports whether a tree is here.
func (s *Store) Has(id string) bool {
	_, err := os.Lstat(s.Folder(id))
	return err == nil
}

// Remove takes a tree away. The snapshot that it was copied from stays, so that its patch can be
// merged.
func (s *Store) Remove(id string) error {
	gone := s.Folder(id) + ".gone"
	err := os.Rename(s.Folder(id), gone)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove a tree: %w", err)
	}
	if err := os.RemoveAll(gone); err != nil {
		return fmt.Errorf("remove a tree: %w", err)
	}
	return nil
}

// ref keeps the origin of a tree.
func ref(id string) string { return "refs/retinue/" + name(id) }

// name is an id as a file can be called.
func name(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}

func refuse(format string, args ...any) error {
	return &chat.Error{Code: chat.CodeInvalid, Message: fmt.Sprintf(format, args...)}
}
