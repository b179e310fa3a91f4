package builtin

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/tool"
)

// Replacement is a file's new content, and the hash that the old content must have, empty for no
// file.
type Replacement struct {
	Path       string
	Before     string
	Data       []byte
	Executable bool
	// Gone means that the file is to be removed.
	Gone bool
}

// Replace writes several files under the rules that hold for one. All are checked before the first
// is written: if one may not be written, or has other content than it must, none is written.
func (w *Workspace) Replace(ctx context.Context, list []Replacement) ([]tool.Change, error) {
	unlock, err := w.Lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var steps []replacing
	defer func() {
		for _, s := range steps {
			_ = s.dir.Close() // the content is synced already
		}
	}()
	for _, r := range list {
		s, err := w.prepare(ctx, r)
		if err != nil {
			return nil, err
		}
		steps = append(steps, s)
	}
	var done []tool.Change
	for _, s := range steps {
		change, err := s.do(ctx)
		if err != nil {
			return done, tool.Refuse("%s (%d of %d files are written, the rest is as it was)",
				told(w.explainWrite(s.path, err)), len(done), len(steps))
		}
		done = append(done, change)
	}
	return done, nil
}

// replacing is one file on its way.
type replacing struct {
	target
	Replacement
	before held
}

func (w *Workspace) prepare(ctx context.Context, r Replacement) (replacing, error) {
	folders := missingMade
	if r.Gone {
		folders = missingRefused
	}
	p, err := w.place(r.Path, folders)
	if err != nil {
		return replacing{}, err
	}
	before, err := p.look(ctx)
	switch {
	case err != nil:
		err = w.explainWrite(p.path, err)
	case p.path != r.Path:
		err = conflict("%s leads through a link: it is not written", show(r.Path))
	case before.hash != r.Before:
		err = conflict("%s was changed meanwhile: call again", show(p.path))
	case before.info != nil && before.info.Mode()&mayWrite == 0:
		err = tool.Refuse("%s may only be read: its mode is %s", show(p.path), before.info.Mode().Perm())
	}
	if err != nil {
		return replacing{}, errors.Join(err, p.dir.Close())
	}
	return replacing{target: p, Replacement: r, before: before}, nil
}

func (r replacing) do(ctx context.Context) (tool.Change, error) {
	if r.Gone {
		if err := errors.Join(ctx.Err(), r.unchanged(r.before)); err != nil {
			return tool.Change{}, err
		}
		_, removed := lineChanges(r.before, nil)
		change := tool.Change{Path: r.path, Before: r.before.hash, Removed: removed}
		return change, errors.Join(r.dir.Remove(r.name), syncFolder(r.dir))
	}
	change := r.change(r.before, r.Data)
	change.Added, change.Removed = lineChanges(r.before, r.Data)
	if err := r.swap(ctx, r.before, r.Data); err != nil {
		return change, err
	}
	return change, markExecutable(r.dir, r.name, r.Executable)
}

// markExecutable gives a file the right to be run, or takes it, for all who may read it.
func markExecutable(dir *os.Root, name string, executable bool) error {
	info, err := dir.Lstat(name)
	if err != nil {
		return err
	}
	mode := info.Mode().Perm() &^ 0o111
	if executable {
		mode |= (mode & 0o444) >> 2
	}
	if mode == info.Mode().Perm() || info.Mode()&fs.ModeType != 0 {
		return nil
	}
	return dir.Chmod(name, mode)
}

// told is what an error says to the model.
func told(err error) string {
	if e, ok := errors.AsType[*chat.Error](err); ok {
		return e.Message
	}
	return err.Error()
}
