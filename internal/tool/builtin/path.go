package builtin

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/tool"
)

// resolve turns a path that a model gave into one relative to the workspace. It looks at the text
// alone: that links stay inside is the root's affair.
func (w *Workspace) resolve(given string) (string, error) {
	if strings.ContainsRune(given, 0) {
		return "", tool.Refuse("a path holds no NUL")
	}
	name := path.Clean(filepath.ToSlash(given))
	if path.IsAbs(name) {
		i := slices.IndexFunc(w.dirs, func(dir string) bool { return within(dir, name) })
		if i < 0 {
			return "", outside(given)
		}
		name = path.Clean(strings.TrimPrefix(strings.TrimPrefix(name, w.dirs[i]), "/"))
	}
	if name == ".." || strings.HasPrefix(name, "../") {
		return "", outside(given)
	}
	return name, nil
}

func outside(given string) error {
	return &chat.Error{Code: chat.CodeDenied, Message: show(given) +
		" is outside the workspace: give a path inside it, relative to its top folder"}
}

func within(dir, name string) bool {
	return name == dir || strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/")
}

// explain says what to do about a path that could not be used.
func (w *Workspace) explain(name string, err error) error {
	if _, ok := errors.AsType[*chat.Error](err); ok {
		return err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return &chat.Error{Code: chat.CodeNotFound, Message: "there is no " + show(name) + w.near(name)}
	}
	reason := err
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		reason = e.Err
	}
	hint := ""
	if link := w.link(name); link != "" {
		hint = "; " + show(link) + " is a link, and links that lead out of the workspace or in circles are not followed"
	}
	return tool.Refuse("%s cannot be read: %v%s", show(name), reason, hint)
}

// link is the first part of a path that is a symbolic link.
func (w *Workspace) link(name string) string {
	for i := range len(name) + 1 {
		if i < len(name) && name[i] != '/' {
			continue
		}
		info, err := w.root.Lstat(name[:i])
		if err != nil {
			return ""
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return name[:i]
		}
	}
	return ""
}

// mostNames is how many names of a folder are searched for the one that was meant.
const mostNames = 2000

// near ends the text about a missing path with similar paths that exist.
func (w *Workspace) near(name string) string {
	dir, parts := ".", strings.Split(name, "/")
	for i, part := range parts {
		next := path.Join(dir, part)
		if info, err := w.root.Stat(next); err == nil && info.IsDir() {
			dir = next
			continue
		}
		var found []string
		for _, n := range nearest(part, w.names(dir)) {
			p := path.Join(dir, n)
			if whole := path.Join(p, path.Join(parts[i+1:]...)); w.exists(whole) {
				p = whole
			}
			found = append(found, show(p))
		}
		if len(found) > 0 {
			return ": did you mean " + strings.Join(found, " or ") + "?"
		}
		break
	}
	return ": list_dir " + show(dir) + " or glob shows what is there"
}

func (w *Workspace) exists(name string) bool {
	_, err := w.root.Lstat(name)
	return err == nil
}

// names lists some names of a folder; of one that cannot be read, none.
func (w *Workspace) names(dir string) []string {
	f, err := w.root.OpenFile(dir, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil
	}
	names, _ := f.Readdirnames(mostNames) // names read before an error are still of use
	_ = f.Close()                         // nothing was written
	slices.Sort(names)
	return names
}

// nearest picks up to three names that differ little from the wanted one, the closest first.
func nearest(want string, names []string) []string {
	limit := (len(want)+2)/3 + 1
	type candidate struct {
		name string
		far  int
	}
	var near []candidate
	for _, n := range names {
		if d := distance(strings.ToLower(want), strings.ToLower(n)); d < limit {
			near = append(near, candidate{n, d})
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return a.far - b.far })
	var out []string
	for _, c := range near[:min(3, len(near))] {
		out = append(out, c.name)
	}
	return out
}

// distance counts the letters to insert, remove, replace or swap with a neighbour to get from a to
// b.
func distance(a, b string) int {
	const longest = 100
	if len(a) > longest || len(b) > longest {
		return longest
	}
	var before []int // the row before the last
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(row))
		next[0] = i + 1
		for j := range len(b) {
			change := row[j]
			if a[i] != b[j] {
				change++
			}
			next[j+1] = min(change, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}

// show writes a path so that it stays on one line.
func show(name string) string { return tool.Show(name) }
