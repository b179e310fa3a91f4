package links

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/retinue-dev/retinue/internal/chat"
)

const (
	// MostMounts is how many mounts may keep programs from files with names outside. Where it takes
	// more, whole folders are mounted instead, the deepest ones first.
	MostMounts = 256
	// mostEntries is how many files and folders of a workspace are looked at.
	mostEntries = 2_000_000
)

// inode is a file, whatever its names.
type inode struct{ device, number uint64 }

// walk looks for files that have a name outside of a workspace as well: a write in place changes
// them there too. Package managers make such names, and so does a clone of a repository on the same
// disk.
type walk struct {
	entries int
	// names are the paths of each file with more than one name, and links how many it has.
	names map[inode][]string
	links map[inode]uint64
	// closed are folders that cannot be looked into. The owner of one can open it.
	closed []string
}

// Find lists what must be read-only so that no program writes a file with a name outside of the
// workspace.
func Find(workspace *os.File) ([]string, error) {
	w := &walk{names: map[inode][]string{}, links: map[inode]uint64{}}
	top, err := unix.Openat(int(workspace.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("look for links in the workspace: %w", err)
	}
	if err := w.look(os.NewFile(uintptr(top), "."), ""); err != nil {
		return nil, err
	}
	found := w.closed
	for file, names := range w.names {
		if uint64(len(names)) < w.links[file] {
			found = append(found, names...)
		}
	}
	return fold(found)
}

// look looks through a folder, which it closes.
func (w *walk) look(dir *os.File, at string) error {
	defer func() { _ = dir.Close() }()
	list, err := dir.ReadDir(-1)
	if err != nil && len(list) == 0 {
		return nil // it went away
	}
	if w.entries += len(list); w.entries > mostEntries {
		return &chat.Error{Code: chat.CodeLimit, Message: fmt.Sprintf("the workspace has more than %d files, too many to look for those "+
			"that are linked to files outside: work in a folder below, or read-only", mostEntries)}
	}
	for _, entry := range list {
		switch {
		case entry.IsDir():
			fd, err := unix.Openat(int(dir.Fd()), entry.Name(), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
			if errors.Is(err, unix.EACCES) {
				w.closed = append(w.closed, path.Join(at, entry.Name()))
			}
			if err != nil {
				continue // closed, or it went away
			}
			if err := w.look(os.NewFile(uintptr(fd), entry.Name()), path.Join(at, entry.Name())); err != nil {
				return err
			}
		case entry.Type().IsRegular():
			var info unix.Stat_t
			err := unix.Fstatat(int(dir.Fd()), entry.Name(), &info, unix.AT_SYMLINK_NOFOLLOW)
			if errors.Is(err, unix.EACCES) && at != "" {
				w.closed = append(w.closed, at)
				return nil
			}
			if err == nil && info.Nlink > 1 {
				file := inode{uint64(info.Dev), info.Ino}                                                             //nolint:unconvert // not so wide everywhere
				w.names[file], w.links[file] = append(w.names[file], path.Join(at, entry.Name())), uint64(info.Nlink) //nolint:unconvert // as above
			}
		}
	}
	return nil
}

// fold makes few mounts of many: while they are too many, the deepest are replaced by the folder
// that holds them.
func fold(found []string) ([]string, error) {
	slices.Sort(found)
	found = slices.Compact(found)
	for mounts(found) > MostMounts {
		deepest := 0
		for _, p := range found {
			deepest = max(deepest, strings.Count(p, "/"))
		}
		if deepest == 0 {
			return nil, &chat.Error{Code: chat.CodeDenied, Message: fmt.Sprintf("%d files and folders at the top of the workspace are linked to files "+
				"outside, which commands could write: replace them by copies (cp -a), or run read-only", len(found))}
		}
		for i, p := range found {
			if strings.Count(p, "/") == deepest {
				found[i] = path.Dir(p)
			}
		}
		slices.Sort(found)
		found = slices.Compact(found)
	}
	return found, nil
}

// mounts counts the mounts for paths: each of them, and each folder above.
func mounts(paths []string) int {
	all := map[string]bool{}
	for _, p := range paths {
		for ; p != "."; p = path.Dir(p) {
			all[p] = true
		}
		if len(all) > MostMounts {
			break
		}
	}
	return len(all)
}
