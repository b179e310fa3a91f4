package shell

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/retinue-dev/retinue/internal/tool"
)

const (
	// mostFiles and lookTime bound the scan of a workspace, before a command and after it.
	mostFiles = 20_000
	lookTime  = 300 * time.Millisecond
	// mostChanges is how many files one call tells of, and hashedBytes how large those are whose
	// content is hashed.
	mostChanges = 500
	hashedBytes = 8 << 20
	// hashTime bounds the hashing of all of them.
	hashTime = time.Second
)

// sight is the files of a workspace at one moment, by path.
type sight struct {
	files map[string]fs.FileInfo
	// partial means that there are more.
	partial bool
}

var errEnough = errors.New("enough")

// look scans the workspace for a moment.
func (t *Tool) look(ctx context.Context) sight {
	s := sight{files: map[string]fs.FileInfo{}}
	bounded, stop := context.WithTimeout(ctx, lookTime)
	defer stop()
	err := t.options.Files(bounded, func(name string, info fs.FileInfo) error {
		if len(s.files) == mostFiles {
			return errEnough
		}
		s.files[name] = info
		return nil
	})
	s.partial = err != nil
	return s
}

// changes lists the differences of the workspace from an earlier scan. Only size, time and identity
// of files are compared, so their earlier content is unknown.
func (t *Tool) changes(ctx context.Context, before sight) tool.Facts {
	after := t.look(ctx)
	facts := tool.Facts{Partial: before.partial || after.partial}
	var names []string
	for name, now := range after.files {
		if was, ok := before.files[name]; (ok || !before.partial) && (!ok || !same(was, now)) {
			names = append(names, name)
		}
	}
	for name := range before.files {
		if _, ok := after.files[name]; !ok && !after.partial {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) > mostChanges {
		names, facts.Partial = names[:mostChanges], true
	}
	until := time.Now().Add(hashTime)
	for _, name := range names {
		change := tool.Change{Path: name}
		if _, was := before.files[name]; was {
			change.Before = tool.Unknown
		}
		if now, ok := after.files[name]; ok {
			change.Bytes = now.Size()
			change.After = tool.Unknown
			if time.Now().Before(until) {
				change.After = cmp.Or(t.hash(name), tool.Unknown)
			}
		}
		facts.Wrote = append(facts.Wrote, change)
	}
	return facts
}

func same(a, b fs.FileInfo) bool {
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && os.SameFile(a, b)
}

// hash is the SHA-256 of a file in the workspace, empty if it is too large or cannot be read.
func (t *Tool) hash(name string) string {
	f, err := t.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // nothing was written
	return hashOf(f, hashedBytes)
}

// hashOf hashes a regular file of so many bytes at most.
func hashOf(f *os.File, most int64) string {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > most {
		return ""
	}
	sum := sha256.New()
	if n, err := io.Copy(sum, io.LimitReader(f, most+1)); err != nil || n > most {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
}
