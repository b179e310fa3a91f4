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
	"github.com/retinue-dev/retinue/internal/sandbox"
	"github.com/retinue-dev/retinue/internal/tool"
)

// target is where a file is written: the folder it lies in, which no link led to, and its name
// there.
type target struct {
	dir *os.Root
	// path is that of the file in the workspace, without links.
	path string
	// named is the requested path, with links.
	named string
	// name is its last part.
	name string
}

// place finds the file to which a model's path leads. Links inside the workspace are followed by
// their text; their target is then opened folder by folder, and a folder that became a link
// meanwhile is refused. So is a protected file, by either of its names. Folders that are missing
// are made if the caller wants them.
func (w *Workspace) place(given string, missing missing) (target, error) {
	name, err := w.resolve(given)
	if err != nil {
		return target{}, err
	}
	if strings.HasSuffix(filepath.ToSlash(given), "/") || name == "." {
		return target{}, tool.Refuse("%s names a folder: give the path of a file", show(given))
	}
	if strings.Count(name, "/") > deepest {
		return target{}, tool.Refuse("the path leads through more than %d folders", deepest)
	}
	if err := unprotected(name); err != nil {
		return target{}, err
	}
	at, err := w.follow(name)
	if err != nil {
		return target{}, err
	}
	if err := unprotected(at); err != nil {
		return target{}, err
	}
	dir, err := w.descend(path.Dir(at), missing)
	if err != nil {
		return target{}, w.explainWrite(name, err)
	}
	return target{dir: dir, path: at, named: name, name: path.Base(at)}, nil
}

// missing says how to treat missing folders.
type missing int

const (
	missingRefused missing = iota
	missingMade
)

// mostLinks is how many links a path may lead through.
const mostLinks = 40

// follow replaces the links in a path by their targets. It guarantees nothing: code that opens the
// result checks again.
func (w *Workspace) follow(name string) (string, error) {
	left := strings.Split(name, "/")
	var done []string
	for links := 0; len(left) > 0; {
		part := left[0]
		left = left[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if len(done) == 0 {
				return "", leadsOut(name)
			}
			done = done[:len(done)-1]
			continue
		}
		at := path.Join(path.Join(done...), part)
		info, err := w.root.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode()&fs.ModeSymlink == 0 {
			done = append(done, part)
			continue
		}
		if err != nil {
			return "", w.explainWrite(name, err)
		}
		target, err := w.root.Readlink(at)
		if err != nil {
			return "", w.explainWrite(name, err)
		}
		if links++; links > mostLinks || path.IsAbs(filepath.ToSlash(target)) {
			return "", leadsOut(name)
		}
		left = slices.Concat(strings.Split(filepath.ToSlash(target), "/"), left)
	}
	if len(done) == 0 {
		return "", tool.Refuse("%s is a folder: give the path of a file", show(name))
	}
	return strings.Join(done, "/"), nil
}

func leadsOut(name string) error {
	return &chat.Error{Code: chat.CodeDenied, Message: show(name) +
		" cannot be written: it leads through a link out of the workspace, or in circles"}
}

var errSwapped = errors.New("a folder on the way was replaced meanwhile")

// descend opens a folder part by part. Each part must be a folder, not a link, and the one that was
// opened: a link put in its place is noticed even if it leads to a folder of the workspace.
func (w *Workspace) descend(dir string, missing missing) (*os.Root, error) {
	root, err := w.root.OpenRoot(".")
	if err != nil || dir == "." {
		return root, err
	}
	for part := range strings.SplitSeq(dir, "/") {
		next, err := enter(root, part, missing)
		_ = root.Close() // nothing was written through it
		if err != nil {
			return nil, err
		}
		root = next
	}
	return root, nil
}

func enter(root *os.Root, name string, missing missing) (*os.Root, error) {
	if missing == missingMade {
		if err := root.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	seen, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !seen.IsDir() {
		return nil, tool.Refuse("%s is not a folder: nothing can be written below it", show(name))
	}
	return enterSeen(root, name, seen)
}

// enterSeen opens a folder, if it is still the one that was seen.
func enterSeen(root *os.Root, name string, seen fs.FileInfo) (*os.Root, error) {
	sub, err := root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := sub.Stat(".")
	if err == nil && !os.SameFile(seen, opened) {
		err = errSwapped
	}
	if err != nil {
		return nil, errors.Join(err, sub.Close())
	}
	return sub, nil
}

// explainWrite says what to do about a path that could not be written.
func (w *Workspace) explainWrite(name string, err error) error {
	if _, ok := errors.AsType[*chat.Error](err); ok {
		return err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return w.explain(name, err)
	}
	reason := err
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		reason = e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		reason = e.Err
	}
	return tool.Refuse("%s cannot be written: %v", show(name), reason)
}

// unprotected refuses a path that is protected: a program would later run its content, or take it
// as an instruction.
func unprotected(name string) error {
	if !sandbox.IsProtected(name) {
		return nil
	}
	return &chat.Error{Code: chat.CodeDenied, Message: show(name) +
		" is protected: version control, its hooks, settings of agents and editors, tasks and start files of shells " +
		"are changed by people only"}
}
