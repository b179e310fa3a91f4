package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/sandbox/links"
)

// placeholderTime marks our placeholders, so that they differ from a person's files even after a
// crash of ours.
var placeholderTime = time.Date(1971, 2, 3, 4, 5, 6, 0, time.UTC)

// shield holds the protected paths of a workspace for one run.
//
// A mount needs a file or folder below it, so a missing one is made: an empty folder, which git
// does not see. Taking it away would also take away the mount of another sandbox in the same
// workspace. Therefore every run holds a shared lock on the workspace, and a run cleans up only if
// it gets the lock alone.
type shield struct {
	workspace *os.File
	guarded   []guarded
	files     []*os.File
	// linked is what must not be written because it has names outside.
	linked []string
	// setAside is whether what the program plants is set aside; watches and git are for that.
	setAside bool
	watches  []watch
	git      *gitSights
}

// mask is one mount that protects: read-only on what must not change, and a writable one on each
// folder above it, which as a mount point can neither be renamed nor removed.
type mask struct {
	file     *os.File
	path     string // in the workspace
	readOnly bool
}

// openWorkspace opens the folder without following any symbolic link, so that nobody can lead a
// mount elsewhere by swapping a part of its path.
func openWorkspace(workspace string) (*os.File, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, workspace, &unix.OpenHow{
		Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if errors.Is(err, unix.ELOOP) {
		return nil, &chat.Error{Code: chat.CodeDenied, Message: "the workspace's path leads through a symbolic link: name the folder itself"}
	}
	if err != nil {
		return nil, &chat.Error{Code: chat.CodeInvalid, Message: fmt.Sprintf("open the workspace: %v", err)}
	}
	return os.NewFile(uintptr(fd), workspace), nil
}

func openShield(workspace *os.File, more []string, c Command) (*shield, error) {
	s := &shield{workspace: workspace, guarded: slices.Clone(guardedPaths), setAside: c.SetAside}
	own, err := os.UserHomeDir()
	for i, g := range s.guarded {
		s.guarded[i].onlyIf = g.onlyIf || g.atHome && (err != nil || workspace.Name() != own)
	}
	for _, p := range more {
		s.guarded = append(s.guarded, guarded{path: path.Clean(p)})
	}
	if err := flock(workspace, unix.LOCK_SH); err != nil {
		return nil, fmt.Errorf("lock the workspace: %w", err)
	}
	if c.ReadOnly {
		return s, nil
	}
	if s.git, err = lookAtGit(workspace.Name()); err != nil {
		return nil, err
	}
	s.guarded = append(s.guarded, s.git.guarded...)
	if s.linked, err = links.Find(workspace); err != nil {
		return nil, err
	}
	for _, p := range s.linked {
		s.guarded = append(s.guarded, guarded{path: p, onlyIf: true})
	}
	return s, nil
}

// masks makes the missing placeholders and lists the mounts, parents first.
func (s *shield) masks() ([]mask, error) {
	var found []mask
	for i := 0; i < len(s.guarded); i++ { //nolint:intrange // links lead to more of them
		g := s.guarded[i]
		if (g.onlyIf || g.watched) && s.missing(g.path) {
			if g.watched {
				s.watch(g.path, "")
			}
			continue
		}
		parts := strings.Split(g.path, "/")
		for i := range parts {
			at := path.Join(parts[:i+1]...)
			known := slices.IndexFunc(found, func(m mask) bool { return m.path == at })
			if known < 0 {
				m, err := s.mask(g, at)
				if g.linked && errors.Is(err, unix.ELOOP) {
					s.follow(at, path.Join(parts[i+1:]...))
					break
				}
				if (g.onlyIf || g.watched) && errors.Is(err, unix.ENOENT) {
					break
				}
				if err != nil {
					return nil, explainLink(at, err)
				}
				found, known = append(found, m), len(found)
			}
			found[known].readOnly = found[known].readOnly || at == g.path
			if found[known].readOnly {
				break // everything below is protected with it
			}
		}
	}
	s.watches = slices.DeleteFunc(s.watches, func(w watch) bool {
		return slices.ContainsFunc(found, func(m mask) bool { return m.path == w.path })
	})
	return outermost(found), nil
}

// outermost leaves out paths inside of a read-only one: a mount in there would be writable again.
func outermost(masks []mask) []mask {
	var closed []string
	for _, m := range masks {
		if m.readOnly {
			closed = append(closed, m.path+"/")
		}
	}
	return slices.DeleteFunc(masks, func(m mask) bool {
		return slices.ContainsFunc(closed, func(p string) bool { return strings.HasPrefix(m.path, p) })
	})
}

func (s *shield) missing(at string) bool {
	file, err := s.open(at)
	if err == nil {
		_ = file.Close()
	}
	return errors.Is(err, unix.ENOENT)
}

// mask opens one part of a guarded path. A file where a folder was expected, such as .git in a
// linked worktree, is protected itself, and so is a placeholder.
func (s *shield) mask(g guarded, at string) (mask, error) {
	file, err := s.open(at)
	if errors.Is(err, unix.ENOENT) && !g.onlyIf && !g.watched {
		like := guarded{}
		if at == g.path {
			like = g
		}
		if err := s.place(at, like); err != nil {
			return mask{}, err
		}
		file, err = s.open(at)
	}
	if err != nil {
		return mask{}, err
	}
	s.files = append(s.files, file)
	info, err := file.Stat()
	if err != nil {
		return mask{}, fmt.Errorf("look at protected %s: %w", at, err)
	}
	return mask{file: file, path: at, readOnly: !info.IsDir() || isPlaceholder(info)}, nil
}

func (s *shield) open(at string) (*os.File, error) {
	fd, err := unix.Openat2(int(s.workspace.Fd()), at, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH,
	})
	if err != nil {
		return nil, fmt.Errorf("open protected %s: %w", at, err)
	}
	return os.NewFile(uintptr(fd), at), nil
}

// explainLink says what to do about a link where none can be protected.
func explainLink(at string, err error) error {
	if !errors.Is(err, unix.ELOOP) {
		return err
	}
	return &chat.Error{Code: chat.CodeDenied, Message: fmt.Sprintf(
		"%s is a symbolic link, which the sandbox cannot protect: replace it by its target, or run read-only", at)}
}

// place makes a placeholder, marked before it gets its name: another run that finds it must not
// take it for a person's. Two runs may do so at once; both accept the placeholder of either. Its
// folder is opened without following links, since another program may just swap it for one.
func (s *shield) place(at string, like guarded) error {
	root := int(s.workspace.Fd())
	parent, err := s.open(path.Dir(at))
	if err != nil {
		return err
	}
	defer func() { _ = parent.Close() }()
	draft := fmt.Sprintf("%s%d-%d", draftPrefix, os.Getpid(), drafts.Add(1))
	if like.isFile {
		err = writeAt(root, draft, like.content)
	} else {
		err = unix.Mkdirat(root, draft, 0o755)
	}
	if err == nil {
		mark := unix.NsecToTimespec(placeholderTime.UnixNano())
		err = unix.UtimesNanoAt(root, draft, []unix.Timespec{mark, mark}, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err == nil {
		err = unix.Renameat2(root, draft, int(parent.Fd()), path.Base(at), unix.RENAME_NOREPLACE)
	}
	if errors.Is(err, unix.EEXIST) {
		return removeAt(root, draft)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("make a placeholder for protected %s: %w", at, err), removeAt(root, draft))
	}
	return nil
}

const draftPrefix = ".retinue-placeholder-"

// drafts numbers the placeholders of this process that have no name yet.
var drafts atomic.Int64

func writeAt(root int, name, content string) error {
	fd, err := unix.Openat(root, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o444)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = f.WriteString(content)
	return errors.Join(err, f.Close())
}

func removeAt(root int, name string) error {
	err := unix.Unlinkat(root, name, unix.AT_REMOVEDIR)
	if errors.Is(err, unix.ENOTDIR) {
		err = unix.Unlinkat(root, name, 0)
	}
	// A folder that somebody filled meanwhile is theirs.
	if err == nil || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTEMPTY) {
		return nil
	}
	return fmt.Errorf("remove the placeholder %s: %w", name, err)
}

func isPlaceholder(info os.FileInfo) bool { return info.ModTime().Equal(placeholderTime) }

// replaced lists the mounts that are gone. The kernel removes a mount when a program outside
// renames or removes the file below it, and saving a file by renaming is common.
func (s *shield) replaced() []string {
	var paths []string
	for _, mounted := range s.files {
		before, err := mounted.Stat()
		if err != nil {
			continue // an open file can always be asked
		}
		now, err := s.open(mounted.Name())
		if err != nil {
			paths = append(paths, mounted.Name())
			continue
		}
		after, err := now.Stat()
		if (err != nil || !os.SameFile(before, after)) && !slices.Contains(paths, mounted.Name()) {
			paths = append(paths, mounted.Name())
		}
		_ = now.Close()
	}
	return paths
}

// close takes the placeholders away, those of an earlier crash too, unless another run needs them.
func (s *shield) close() error {
	for _, f := range s.files {
		_ = f.Close()
	}
	defer func() { _ = s.workspace.Close() }()
	if err := flock(s.workspace, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil //nolint:nilerr // the other one in here cleans up
	}
	root := int(s.workspace.Fd())
	var problems []error
	for _, g := range s.guarded {
		for at := g.path; at != "."; at = path.Dir(at) {
			f, err := s.open(at)
			if err != nil {
				continue // missing, or not ours
			}
			info, err := f.Stat()
			if err == nil && isPlaceholder(info) {
				problems = append(problems, removeAt(root, at))
			}
			_ = f.Close()
		}
	}
	names, err := s.workspace.Readdirnames(-1)
	for _, name := range names {
		if strings.HasPrefix(name, draftPrefix) {
			problems = append(problems, removeAt(root, name))
		}
	}
	return errors.Join(append(problems, err)...)
}

func flock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
