package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	// mostFiles and mostBytes bound the copy of a workspace.
	mostFiles = 100_000
	mostBytes = 1 << 30
	// fileBytes is the largest file that is copied: no tool reads a larger one.
	fileBytes = 32 << 20
	// excludeBytes is how much of a repository's own list of ignored files is read.
	excludeBytes = 64 << 10
)

// snapshot writes the content of a folder into the store and returns its tree. It leaves out
// ignored files, nested repositories, special files and files that are too large; it includes paths
// of from even if they are ignored. From may be empty.
func (s *Store) snapshot(ctx context.Context, folder, from string) (string, error) {
	dir, remove, err := s.scratch()
	if err != nil {
		return "", err
	}
	defer remove()
	index := filepath.Join(dir, "index")
	if from != "" {
		if _, err := s.run(ctx, invocation{args: []string{"read-tree", from}, index: index}); err != nil {
			return "", err
		}
	}
	if err := s.write("store.git/info/exclude", s.excluded()); err != nil {
		return "", err
	}
	out, err := s.run(ctx, invocation{
		args: []string{"ls-files", "-z", "--cached", "--others", "--exclude-standard"}, index: index, work: folder,
	})
	if errors.Is(err, errTooMuch) {
		return "", tooLarge()
	}
	if err != nil {
		return "", err
	}
	present, missing, err := sift(folder, split(out))
	if err != nil {
		return "", err
	}
	if from != "" {
		_, err = s.run(ctx, invocation{args: []string{"update-index", "-z", "--force-remove", "--stdin"}, index: index, in: missing, work: folder})
	}
	if err == nil {
		_, err = s.run(ctx, invocation{args: []string{"update-index", "-z", "--add", "--replace", "--stdin"}, index: index, in: present, work: folder})
	}
	if err != nil {
		return "", err
	}
	return s.line(ctx, invocation{args: []string{"write-tree"}, index: index})
}

// sift finds the files to copy among those that are missing, removed meanwhile or not to be copied.
func sift(folder string, paths []string) (present, missing []byte, err error) {
	var there, gone bytes.Buffer
	folders := map[string]bool{".": true}
	files, total := 0, int64(0)
	for _, p := range paths {
		info, err := os.Lstat(filepath.Join(folder, p))
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !notFolder(err) {
			return nil, nil, fmt.Errorf("read the files to copy: %w", err)
		}
		if err != nil || strings.HasSuffix(p, "/") || !plainFile(info) || !unlinked(folder, path.Dir(p), folders) {
			gone.WriteString(p + "\x00")
			continue
		}
		there.WriteString(p + "\x00")
		files++
		total += info.Size()
	}
	if files > mostFiles || total > mostBytes {
		return nil, nil, tooLarge()
	}
	return there.Bytes(), gone.Bytes(), nil
}

func plainFile(info fs.FileInfo) bool {
	return info.Mode()&fs.ModeSymlink != 0 || info.Mode().IsRegular() && info.Size() <= fileBytes
}

// notFolder means that a part of a path is a file now.
func notFolder(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

// unlinked reports whether a folder is reached through folders only.
func unlinked(folder, dir string, known map[string]bool) bool {
	if is, ok := known[dir]; ok {
		return is
	}
	info, err := os.Lstat(filepath.Join(folder, dir))
	is := err == nil && info.IsDir() && unlinked(folder, path.Dir(dir), known)
	known[dir] = is
	return is
}

func tooLarge() error {
	return refuse("the workspace is too large to be copied: a tree of its own may have %d files and %d MiB, without what is ignored; "+
		"add what need not be there to .gitignore, or leave isolation out", mostFiles, mostBytes>>20)
}

// excluded are the patterns that the workspace's repository ignores beside its .gitignore files.
func (s *Store) excluded() string {
	own := ".retinue-*.tmp\n"
	root, err := os.OpenRoot(s.folder)
	if err != nil {
		return own
	}
	defer func() { _ = root.Close() }() // nothing was written
	info, err := root.Lstat(".git/info/exclude")
	if err != nil || !info.Mode().IsRegular() || info.Size() > excludeBytes {
		return own
	}
	text, err := root.ReadFile(".git/info/exclude")
	if err != nil {
		return own
	}
	return own + string(text)
}
