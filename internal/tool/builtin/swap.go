package builtin

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"strings"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/tool"
)

const (
	// newMode is the mode of a new file; a replaced one passes its own on.
	newMode fs.FileMode = 0o644
	// mayWrite is the mode bit that a file must have to be replaced: a rename would not ask.
	mayWrite fs.FileMode = 0o200
	// absent is how a model says that it expects no file.
	absent = "none"
	// shortest is how much of a hash is enough to tell contents apart.
	shortest = 12
)

// held is the file at a place before it is written.
type held struct {
	info fs.FileInfo // nil if there is nothing
	hash string
	size int64
	// lines are counted only for files that are too large to be kept.
	lines int
	data  []byte
}

// keptBytes is the largest content that is kept in memory: none larger is edited or written.
const keptBytes = 2 << 20

// look reads the file at a place. The file may be missing; anything but a file is refused.
func (p target) look(ctx context.Context) (held, error) {
	info, err := p.dir.Lstat(p.name)
	if errors.Is(err, fs.ErrNotExist) {
		return held{}, nil
	}
	if err != nil {
		return held{}, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return held{}, errSwapped // place followed the existing link
	}
	f, err := open(p.dir, p.name)
	if err != nil {
		return held{}, err
	}
	h, err := hold(ctx, f)
	if err := errors.Join(err, f.Close()); err != nil {
		return held{}, err
	}
	return h, nil
}

func hold(ctx context.Context, f *os.File) (held, error) {
	info, err := f.Stat()
	if err != nil {
		return held{}, err
	}
	h := held{info: info}
	if info.Size() <= keptBytes {
		fact, err := read(ctx, f, func(data []byte) bool {
			h.data = data
			return true
		})
		h.hash, h.size = fact.Hash, fact.Bytes
		return h, err
	}
	sum := &measure{Hash: sha256.New()}
	if err := copyAll(ctx, sum, f); err != nil {
		return held{}, err
	}
	h.hash, h.size, h.lines = hex.EncodeToString(sum.Sum(nil)), sum.size, sum.lines
	return h, nil
}

// measure hashes the bytes that pass, and counts them and their line ends.
type measure struct {
	hash.Hash
	size  int64
	lines int
}

func (m *measure) Write(p []byte) (int, error) {
	m.size += int64(len(p))
	m.lines += bytes.Count(p, []byte("\n"))
	return m.Hash.Write(p)
}

// asExpected refuses a content that is not the one the model saw.
func (h held) asExpected(name, expect string) error {
	switch {
	case expect == "":
		return nil
	case expect == absent && h.info == nil:
		return nil
	case expect == absent:
		return conflict("%s is there already, with sha256 %s: read it before you replace it", show(name), h.hash)
	case h.info == nil:
		return conflict("there is no %s any more, and you expect one", show(name))
	case len(expect) < shortest || !strings.HasPrefix(h.hash, strings.ToLower(expect)):
		return conflict("%s is not what you expect: its sha256 is %s now. Read it again", show(name), h.hash)
	}
	return nil
}

// asSeen refuses to replace a content that the caller was not shown: another agent, a person or a
// program has written it meanwhile, and that would be lost.
func (h held) asSeen(call tool.Call, paths ...string) error {
	if h.info == nil || call.Seen == nil {
		return nil
	}
	switch seen, err := call.Seen(paths...); {
	case err != nil:
		return fmt.Errorf("look up what was seen of %s: %w", show(paths[0]), err)
	case seen == "":
		return conflict("%s is there already and you have not read it: read it first, then write it with what must stay", show(paths[0]))
	case seen != h.hash:
		return conflict("%s was changed since you read it: read it again, then write it with those changes", show(paths[0]))
	}
	return nil
}

func conflict(format string, args ...any) error {
	e := tool.Refuse(format, args...)
	if c, ok := errors.AsType[*chat.Error](e); ok {
		c.Code = chat.CodeConflict
	}
	return e
}

// swap replaces a file's content at once: a reader sees the old file or the new one, and after a
// crash one of them exists. The file is a new one, so a hard link elsewhere keeps the old content.
func (p target) swap(ctx context.Context, before held, data []byte) (err error) {
	mode := newMode
	if before.info != nil {
		if before.info.Mode()&mayWrite == 0 {
			return tool.Refuse("%s may only be read: its mode is %s", show(p.path), before.info.Mode().Perm())
		}
		mode = before.info.Mode().Perm()
	}
	temp := ".retinue-" + rand.Text() + ".tmp"
	f, err := p.dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|openFlags, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.dir.Remove(temp))
		}
	}()
	_, err = f.Write(data)
	if err == nil && before.info != nil {
		err = f.Chmod(mode) // the mask of the process may have taken bits away
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = errors.Join(ctx.Err(), p.unchanged(before)); err != nil {
		return err
	}
	if err = p.dir.Rename(temp, p.name); err != nil {
		return err
	}
	return syncFolder(p.dir)
}

// unchanged returns an error if somebody else has written to the place meanwhile. A write after
// this look is lost: between two programs only a lock could tell.
func (p target) unchanged(before held) error {
	now, err := p.dir.Lstat(p.name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && before.info == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist), err == nil && before.info == nil:
	case err != nil:
		return err
	case os.SameFile(before.info, now) && before.info.Size() == now.Size() && before.info.ModTime().Equal(now.ModTime()):
		return nil
	}
	return conflict("%s was changed by somebody else meanwhile: read it again", show(p.path))
}

// syncFolder makes a rename last.
func syncFolder(dir *os.Root) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// change is the fact about a file that was written, without its lines.
func (p target) change(before held, data []byte) tool.Change {
	sum := sha256.Sum256(data)
	return tool.Change{Path: p.path, Before: before.hash, After: hex.EncodeToString(sum[:]), Bytes: int64(len(data))}
}
