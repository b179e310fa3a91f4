package builtin

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/retinue-dev/retinue/internal/tool/builtin/match"
)

// deepest is how many folders below each other are walked into.
const deepest = 100

// walker goes through a part of the workspace in the order of the paths, without what git ignores.
// It follows no links.
type walker struct {
	w *Workspace
	// visit gets the folder that holds the entry, and the entry's path in the workspace.
	visit func(root *os.Root, name string, e fs.DirEntry) error
	// unread are folders that could not be read.
	unread []string
}

// walk starts at a folder of the workspace. A folder that was named is walked even if it is
// ignored.
func (k *walker) walk(ctx context.Context, base string) error {
	root, err := k.w.folder(base)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing was written
	return k.descend(ctx, root, base, k.w.rulesAbove(base), 0)
}

func (k *walker) descend(ctx context.Context, root *os.Root, dir string, rules match.Rules, depth int) error {
	list, err := entries(ctx, root)
	if err != nil {
		return k.miss(ctx, dir, err)
	}
	if slices.ContainsFunc(list, func(e fs.DirEntry) bool { return e.Name() == ignoreFile && e.Type().IsRegular() }) {
		rules = withFile(rules, dir, root, ignoreFile)
	}
	for _, e := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := path.Join(dir, e.Name())
		if e.Name() == ".git" || rules.Ignore(name, e.IsDir()) {
			continue
		}
		if !e.IsDir() {
			if err := k.visit(root, name, e); err != nil {
				return err
			}
			continue
		}
		if depth == deepest {
			k.unread = append(k.unread, name)
			continue
		}
		sub, err := root.OpenRoot(e.Name())
		if err != nil {
			if err := k.miss(ctx, name, err); err != nil {
				return err
			}
			continue
		}
		err = k.descend(ctx, sub, name, rules, depth+1)
		if err := errors.Join(err, sub.Close()); err != nil {
			return err
		}
	}
	return nil
}

// Files visits every regular file of the workspace, in the order of the paths, without .git and
// what git ignores. Links are not followed.
func (w *Workspace) Files(ctx context.Context, visit func(name string, info fs.FileInfo) error) error {
	k := walker{w: w, visit: func(root *os.Root, name string, e fs.DirEntry) error {
		if !e.Type().IsRegular() {
			return nil
		}
		info, err := root.Lstat(e.Name())
		if err != nil {
			return nil //nolint:nilerr // it has just been removed
		}
		return visit(name, info)
	}}
	return k.walk(ctx, ".")
}

// miss notes a folder that could not be read. One that has just been removed is not missed.
func (k *walker) miss(ctx context.Context, dir string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if !errors.Is(err, fs.ErrNotExist) {
		k.unread = append(k.unread, dir)
	}
	return nil
}

// remark says which folders were left out.
func (k *walker) remark() string {
	if len(k.unread) == 0 {
		return ""
	}
	const named = 5
	var names []string
	for _, n := range k.unread[:min(named, len(k.unread))] {
		names = append(names, show(n))
	}
	return atLine("folders that could not be read: %d, among them %s", len(k.unread), strings.Join(names, ", "))
}

// entries lists a folder in the order that the paths below it have.
func entries(ctx context.Context, root *os.Root) ([]fs.DirEntry, error) {
	f, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	var list []fs.DirEntry
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		const step = 512
		some, err := f.ReadDir(step)
		list = append(list, some...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return cmp.Compare(sortKey(a), sortKey(b)) })
	return list, nil
}

func sortKey(e fs.DirEntry) string {
	if e.IsDir() {
		return e.Name() + "/"
	}
	return e.Name()
}
