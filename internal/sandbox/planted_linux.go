package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// watch is a protected path that no mount can hold: it was missing when the program began, or a
// symbolic link.
type watch struct {
	path string
	link string // where it led; empty when the path was missing
}

// asideSuffix is added to the name of a file that is set aside. No program acts on a file of that
// name.
const asideSuffix = ".set-aside"

// mostAside bounds how many things of one name lie aside.
const mostAside = 100

func (s *shield) watch(at, link string) {
	known := slices.ContainsFunc(s.watches, func(w watch) bool { return w.path == at })
	if s.setAside && !known {
		s.watches = append(s.watches, watch{path: at, link: link})
	}
}

// follow guards the target of a link, if it lies in the workspace, and watches the link itself. The
// rest is the part of the path behind the link.
func (s *shield) follow(at, rest string) {
	work := s.workspace.Name()
	link, err := os.Readlink(filepath.Join(work, at))
	if err != nil {
		return // gone meanwhile
	}
	s.watch(at, link)
	target := link
	if !filepath.IsAbs(link) {
		target = filepath.Join(work, path.Dir(at), link)
	}
	next, ok := within(work, filepath.Join(target, rest))
	if !ok || slices.ContainsFunc(s.guarded, func(g guarded) bool { return g.path == next }) {
		return
	}
	s.guarded = append(s.guarded, guarded{path: next, watched: true, linked: true})
}

// within is a path relative to a workspace, if it lies in it and is not the workspace itself.
func within(work, name string) (string, bool) {
	inside, err := filepath.Rel(work, name)
	return inside, err == nil && inside != "." && filepath.IsLocal(inside)
}

// putAside moves away files that were made or changed where no mount was possible, and puts links
// back. It is called when the program is gone.
func (s *shield) putAside() []Planted {
	if !s.setAside || s.git == nil {
		return nil
	}
	watches := s.watches
	for _, sub := range s.git.newLinks() {
		watches = append(watches, watch{path: sub + "/.git"})
	}
	var planted []Planted
	for _, w := range watches {
		at, there := s.changed(w)
		if at == "" {
			continue
		}
		p := Planted{Path: at}
		if there {
			p.Aside = s.moveAside(at)
		}
		if w.link != "" && at == w.path && (p.Aside != "" || !there) {
			s.relink(w)
		}
		planted = append(planted, p)
	}
	return planted
}

// changed is the part of the path that has changed, and whether it exists. A link on the way is
// new, or it would be watched itself.
func (s *shield) changed(w watch) (at string, there bool) {
	parts := strings.Split(w.path, "/")
	for i := range parts {
		at := path.Join(parts[:i+1]...)
		parent, err := s.open(path.Dir(at))
		if err != nil {
			break
		}
		buffer := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(int(parent.Fd()), path.Base(at), buffer)
		_ = parent.Close()
		switch {
		case errors.Is(err, unix.EINVAL): // no link
			if at == w.path {
				return at, true
			}
		case err != nil: // nothing
			if w.link != "" {
				return w.path, false
			}
			return "", false
		case at == w.path && string(buffer[:n]) == w.link:
			return "", false
		default:
			return at, true
		}
	}
	return "", false
}

// moveAside renames the file at a path and returns its new path, or nothing if that fails.
func (s *shield) moveAside(at string) string {
	parent, err := s.open(path.Dir(at))
	if err != nil {
		return ""
	}
	defer func() { _ = parent.Close() }()
	dir := int(parent.Fd())
	for n := range mostAside {
		name := path.Base(at) + asideSuffix
		if n > 0 {
			name = fmt.Sprintf("%s-%d", name, n+1)
		}
		err := unix.Renameat2(dir, path.Base(at), dir, name, unix.RENAME_NOREPLACE)
		if err == nil {
			return path.Join(path.Dir(at), name)
		}
		if !errors.Is(err, unix.EEXIST) {
			return ""
		}
	}
	return ""
}

func (s *shield) relink(w watch) {
	if parent, err := s.open(path.Dir(w.path)); err == nil {
		_ = unix.Symlinkat(w.link, int(parent.Fd()), path.Base(w.path)) // else the outcome names it all the same
		_ = parent.Close()
	}
}
