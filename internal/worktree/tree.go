package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Create makes a tree as a copy of another tree, or of the workspace if from is empty. An existing
// tree stays as it is. A tree that was begun is finished from the copy made then.
func (s *Store) Create(ctx context.Context, id, from string) error {
	if s.Has(id) {
		return nil
	}
	base, err := s.base(ctx, id)
	if chat.CodeOf(err) == chat.CodeNotFound {
		base, err = s.fix(ctx, id, from)
	}
	if err != nil {
		return err
	}
	return s.checkOut(ctx, id, base)
}

// base is the origin of a tree.
func (s *Store) base(ctx context.Context, id string) (string, error) {
	commit, err := s.line(ctx, invocation{args: []string{"rev-parse", "--verify", "--quiet", ref(id) + "^{commit}"}})
	var exit *exitError
	if errors.As(err, &exit) {
		return "", &chat.Error{Code: chat.CodeNotFound, Message: "what the tree was copied from is not on this machine"}
	}
	return commit, err
}

// fix stores the origin of a tree. The first call decides.
func (s *Store) fix(ctx context.Context, id, from string) (string, error) {
	source := s.folder
	if from != "" {
		if source = s.Folder(from); !s.Has(from) {
			return "", refuse("the tree that this one is to be copied from is gone")
		}
	}
	tree, err := s.snapshot(ctx, source, "")
	if err != nil {
		return "", err
	}
	commit, err := s.commit(ctx, tree)
	if err != nil {
		return "", err
	}
	_, err = s.run(ctx, invocation{args: []string{"update-ref", ref(id), commit, strings.Repeat("0", len(commit))}})
	var exit *exitError
	if errors.As(err, &exit) {
		return s.base(ctx, id)
	}
	return commit, err
}

func (s *Store) commit(ctx context.Context, tree string, parents ...string) (string, error) {
	args := []string{"commit-tree", "-m", "retinue", tree}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	return s.line(ctx, invocation{args: args})
}

// checkOut lays a tree out beside its place and puts it there when it is whole.
func (s *Store) checkOut(ctx context.Context, id, base string) error {
	dir, remove, err := s.scratch()
	if err != nil {
		return err
	}
	defer remove()
	index, work := filepath.Join(dir, "index"), filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		return fmt.Errorf("make a tree: %w", err)
	}
	if _, err := s.run(ctx, invocation{args: []string{"read-tree", base}, index: index}); err != nil {
		return err
	}
	if _, err := s.run(ctx, invocation{args: []string{"checkout-index", "--all", "--quiet"}, index: index, work: work}); err != nil {
		return err
	}
	if err := os.Rename(work, s.Folder(id)); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("put a tree in place: %w", err)
	}
	return nil
}

// Patch is the changes of a tree, as text that git can apply.
type Patch struct {
	// Text is empty if nothing was changed.
	Text  string
	Files []File
}

// File is one file of a patch.
type File struct {
	Path string
	// Change is added, modified or deleted.
	Change string
	// Added and Removed count lines; both are -1 for a file that is no text.
	Added, Removed int
}

// patchBytes is the longest patch that can be kept.
const patchBytes = 12 << 20

// Patch compares a tree with its origin.
func (s *Store) Patch(ctx context.Context, id string) (Patch, error) {
	if !s.Has(id) {
		return Patch{}, &chat.Error{Code: chat.CodeNotFound, Message: "the tree is not on this machine"}
	}
	base, err := s.base(ctx, id)
	if err != nil {
		return Patch{}, err
	}
	tree, err := s.snapshot(ctx, s.Folder(id), base)
	if err != nil {
		return Patch{}, err
	}
	return s.compare(ctx, base, tree)
}

func (s *Store) compare(ctx context.Context, base, tree string) (Patch, error) {
	var p Patch
	text, err := s.diff(ctx, nil, base, tree)
	if err == nil && (!utf8.Valid(text) || strings.ContainsRune(string(text), 0)) {
		text, err = s.diff(ctx, []string{"-c", "core.attributesFile=" + filepath.Join(s.dir, "binary")}, base, tree)
	}
	if errors.Is(err, errTooMuch) {
		return p, refuse("the patch has more than %d MiB and cannot be kept", patchBytes>>20)
	}
	if err != nil {
		return p, err
	}
	p.Text = string(text)
	p.Files, err = s.files(ctx, base, tree)
	return p, err
}

// diff writes the patch. It runs without a folder, so that no attributes of the workspace count.
func (s *Store) diff(ctx context.Context, settings []string, base, tree string) ([]byte, error) {
	args := append(settings, "diff-tree", "-r", "-p", "--binary", "--full-index", "--no-renames", "--no-ext-diff",
		"--no-textconv", "--no-color", "--src-prefix=a/", "--dst-prefix=b/", base, tree)
	return s.run(ctx, invocation{args: args, most: patchBytes})
}

// files lists what a patch changes.
func (s *Store) files(ctx context.Context, base, tree string) ([]File, error) {
	raw, err := s.changes(ctx, base, tree)
	if err != nil {
		return nil, err
	}
	out, err := s.run(ctx, invocation{args: []string{"diff-tree", "-r", "-z", "--numstat", "--no-renames", base, tree}})
	if err != nil {
		return nil, err
	}
	counts := map[string][2]int{}
	for _, line := range split(out) {
		parts := strings.SplitN(line, "\t", 3)
		if len(parts) != 3 {
			return nil, fmt.Errorf("git counts lines as %.80q", line)
		}
		counts[parts[2]] = [2]int{count(parts[0]), count(parts[1])}
	}
	var files []File
	for _, c := range raw {
		n := counts[c.path]
		files = append(files, File{Path: strings.ToValidUTF8(c.path, "\uFFFD"), Change: c.kind(), Added: n[0], Removed: n[1]})
	}
	return files, nil
}

func count(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}

// change is a file that differs between two trees. A mode is 000000 where there is no file.
type change struct {
	path               string
	fromMode, toMode   string
	fromBlob, intoBlob string
}

// nothing is the mode of a missing file.
const nothing = "000000"

func (c change) kind() string {
	switch {
	case c.fromMode == nothing:
		return "added"
	case c.toMode == nothing:
		return "deleted"
	}
	return "modified"
}

// changes lists what differs between two trees.
func (s *Store) changes(ctx context.Context, from, to string) ([]change, error) {
	out, err := s.run(ctx, invocation{args: []string{"diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", from, to}})
	if err != nil {
		return nil, err
	}
	fields := split(out)
	var list []change
	for i := 0; i+1 < len(fields); i += 2 {
		parts := strings.Fields(strings.TrimPrefix(fields[i], ":"))
		if len(parts) != 5 {
			return nil, fmt.Errorf("git says of a change %.80q", fields[i])
		}
		list = append(list, change{
			path: fields[i+1], fromMode: parts[0], toMode: parts[1], fromBlob: parts[2], intoBlob: parts[3],
		})
	}
	return list, nil
}
