package worktree

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Merge is a patch applied to the current folder: files to write, or conflicts. Nothing is written.
type Merge struct {
	// Paths are all files of the patch.
	Paths     []string
	Files     []Merged
	Conflicts []Conflict
}

// Merged is a file's new content. Before is the SHA-256 of the content that the merge began with,
// empty for no file.
type Merged struct {
	Path       string
	Before     string
	Data       []byte
	Executable bool
	// Gone means that the file is to be removed.
	Gone bool
}

// Merge works out what a patch means for a folder, file by file and three ways: the origin of the
// tree, the folder, and the patch. It reads only the files of the patch, without those to be left
// out.
func (s *Store) Merge(ctx context.Context, id, patch string, folder *os.Root, leaveOut ...string) (Merge, error) {
	base, err := s.base(ctx, id)
	if err != nil {
		return Merge{}, err
	}
	dir, remove, err := s.scratch()
	if err != nil {
		return Merge{}, err
	}
	defer remove()
	m := merging{Store: s, dir: dir, base: base, folder: folder, before: map[string]string{}}
	theirs, err := m.theirs(ctx, patch, leaveOut)
	if err != nil {
		return Merge{}, err
	}
	ours, conflicts, err := m.ours(ctx)
	if err != nil || len(conflicts) > 0 {
		return Merge{Paths: m.paths, Conflicts: conflicts}, err
	}
	return m.both(ctx, ours, theirs)
}

// merging is one merge under way.
type merging struct {
	*Store
	dir, base string
	folder    *os.Root
	// paths are those of the patch, before the hashes of what the folder has there.
	paths  []string
	before map[string]string
}

// theirs is the origin with the patch applied.
func (m *merging) theirs(ctx context.Context, patch string, leaveOut []string) (string, error) {
	index := filepath.Join(m.dir, "theirs")
	if _, err := m.run(ctx, invocation{args: []string{"read-tree", m.base}, index: index}); err != nil {
		return "", err
	}
	args := []string{"apply", "--cached", "--whitespace=nowarn"}
	for _, path := range leaveOut {
		args = append(args, "--exclude="+literal.Replace(path))
	}
	if _, err := m.run(ctx, invocation{args: append(args, "-"), index: index, in: []byte(patch)}); err != nil {
		return "", fmt.Errorf("the patch does not fit its origin: %w", err)
	}
	tree, err := m.line(ctx, invocation{args: []string{"write-tree"}, index: index})
	if err != nil {
		return "", err
	}
	list, err := m.changes(ctx, m.base, tree)
	if err != nil {
		return "", err
	}
	for _, c := range list {
		m.paths = append(m.paths, c.path)
	}
	return m.commit(ctx, tree, m.base)
}

// literal takes the meaning from the letters that have one in a pattern.
var literal = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// ours is the origin, with the patch's files as they are in the folder now.
func (m *merging) ours(ctx context.Context) (string, []Conflict, error) {
	index := filepath.Join(m.dir, "ours")
	if _, err := m.run(ctx, invocation{args: []string{"read-tree", m.base}, index: index}); err != nil {
		return "", nil, err
	}
	var conflicts []Conflict
	var names, entries bytes.Buffer
	var kept []string
	for i, path := range m.paths {
		data, mode, err := m.look(path)
		switch {
		case errors.Is(err, errNoFile):
			conflicts = append(conflicts, Conflict{Path: path, Kind: ConflictNoFile})
			continue
		case err != nil:
			return "", nil, err
		case mode == nothing:
			fmt.Fprintf(&entries, "0 %s\t%s\x00", strings.Repeat("0", 40), path)
			continue
		}
		sum := sha256.Sum256(data)
		m.before[path] = hex.EncodeToString(sum[:])
		copied := filepath.Join(m.dir, strconv.Itoa(i))
		if err := os.WriteFile(copied, data, 0o600); err != nil {
			return "", nil, fmt.Errorf("copy the files to merge: %w", err)
		}
		names.WriteString(copied + "\n")
		kept = append(kept, mode+" %s\t"+strings.ReplaceAll(path, "%", "%%")+"\x00")
	}
	if len(conflicts) > 0 {
		return "", conflicts, nil
	}
	blobs, err := m.line(ctx, invocation{args: []string{"hash-object", "-w", "--no-filters", "--stdin-paths"}, in: names.Bytes()})
	if err != nil {
		return "", nil, err
	}
	for i, blob := range strings.Fields(blobs) {
		fmt.Fprintf(&entries, kept[i], blob)
	}
	if _, err := m.run(ctx, invocation{args: []string{"update-index", "-z", "--index-info"}, index: index, in: entries.Bytes()}); err != nil {
		return "", nil, err
	}
	tree, err := m.line(ctx, invocation{args: []string{"write-tree"}, index: index})
	if err != nil {
		return "", nil, err
	}
	commit, err := m.commit(ctx, tree, m.base)
	return commit, nil, err
}

// errNoFile means that a path holds something other than a file.
var errNoFile = errors.New("not a file")

// look reads what the folder has at a path.
func (m *merging) look(path string) ([]byte, string, error) {
	info, err := m.folder.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err != nil && notFolder(err):
		return nil, nothing, nil
	case err != nil:
		return nil, "", fmt.Errorf("look at the files to merge: %w", err)
	case !info.Mode().IsRegular() || info.Size() > fileBytes:
		return nil, "", errNoFile
	}
	data, err := m.folder.ReadFile(path)
	if err != nil {
		return nil, "", fmt.Errorf("read the files to merge: %w", err)
	}
	if info.Mode()&0o100 != 0 {
		return data, executable, nil
	}
	return data, ordinary, nil
}

// The modes of files that a merge may write.
const (
	ordinary   = "100644"
	executable = "100755"
)

// both merges the two sides.
func (m *merging) both(ctx context.Context, ours, theirs string) (Merge, error) {
	result := Merge{Paths: m.paths}
	out, err := m.run(ctx, invocation{args: []string{"merge-tree", "--write-tree", "-z", ours, theirs}})
	var exit *exitError
	if errors.As(err, &exit) && exit.code == 1 {
		result.Conflicts, err = m.conflicts(ctx, out)
		return result, err
	}
	if err != nil {
		return result, err
	}
	list, err := m.changes(ctx, ours, split(out)[0])
	if err != nil {
		return result, err
	}
	for _, c := range list {
		f := Merged{Path: c.path, Before: m.before[c.path], Gone: c.toMode == nothing, Executable: c.toMode == executable}
		switch c.toMode {
		case nothing:
		case ordinary, executable:
			if f.Data, err = m.blob(ctx, c.intoBlob); err != nil {
				return result, err
			}
		default:
			result.Conflicts = append(result.Conflicts, Conflict{Path: c.path, Kind: ConflictNoFile})
		}
		result.Files = append(result.Files, f)
	}
	return result, nil
}

func (s *Store) blob(ctx context.Context, id string) ([]byte, error) {
	return s.run(ctx, invocation{args: []string{"cat-file", "blob", id}})
}
