package prompt

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/retinue-dev/retinue/internal/config/document"
	"github.com/retinue-dev/retinue/internal/config/role"
)

// guidesCap is the largest size, in bytes, of all instructions of a workspace in a prompt. The
// nearest file is served first.
const guidesCap = 32 << 10

// Guide is a file of instructions that the owners of a workspace wrote for agents.
type Guide struct {
	File string
	Text string
	// Cut means that only Kept of Size bytes were kept.
	Cut        bool
	Kept, Size int
}

// Guides reads the instructions for work in cwd: the person's own, then those of every folder from
// the project's root down to cwd, nearest last. In each folder AGENTS.md counts, or else CLAUDE.md.
func Guides(from role.Sources, cwd string) ([]Guide, []document.Warning) {
	var found []Guide
	var warnings []document.Warning
	look := func(root, dir, label string) {
		g, err := readGuide(root, dir, label)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			warnings = append(warnings, document.Warning{File: label, Skipped: true, Text: err.Error()})
		case g.Text != "":
			found = append(found, g)
		}
	}
	if from.ConfigHome != "" {
		look(from.ConfigHome, ".", from.ConfigHome)
	} else if from.Home != "" {
		look(from.Home, ".config", "~/.config")
	}
	if from.Project != "" {
		for _, dir := range downTo(from.Project, cwd) {
			look(from.Project, dir, dir)
		}
	}
	room := guidesCap
	for i := range slices.Backward(found) {
		found[i].cut(room)
		room = max(0, room-found[i].Kept)
	}
	return found, warnings
}

// downTo lists the folders from root to cwd, both included, as paths below root.
func downTo(root, cwd string) []string {
	dirs := []string{"."}
	rel, err := filepath.Rel(root, cwd)
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return dirs
	}
	at := ""
	for _, name := range strings.Split(filepath.ToSlash(rel), "/") {
		at = path.Join(at, name)
		dirs = append(dirs, at)
	}
	return dirs
}

func readGuide(at, dir, label string) (Guide, error) {
	root, err := os.OpenRoot(at)
	if err != nil {
		return Guide{}, document.Plain(err)
	}
	defer root.Close() //nolint:errcheck // nothing was written
	for _, name := range []string{"AGENTS.md", "CLAUDE.md"} {
		data, err := document.ReadFile(root.FS(), path.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Guide{}, err
		}
		text := strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(strings.TrimPrefix(string(data), "\ufeff"), "\r\n", "\n"), "\ufffd"))
		return Guide{File: path.Join(label, name), Text: text, Kept: len(text), Size: len(text)}, nil
	}
	return Guide{}, fs.ErrNotExist
}

// cut keeps as much as fits.
func (g *Guide) cut(room int) {
	if len(g.Text) <= room {
		return
	}
	for room > 0 && !utf8.RuneStart(g.Text[room]) {
		room--
	}
	g.Text, g.Cut, g.Kept = g.Text[:room], true, room
}
