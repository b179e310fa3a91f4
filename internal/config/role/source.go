package role

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/retinue-dev/retinue/internal/config/document"
)

// filesCap is how many files of roles one folder may hold.
const filesCap = 1000

//go:embed roles/*.md presets/*/*.md
var builtIn embed.FS

// Dir is a folder with roles.
type Dir struct {
	// Root is what links must not lead out of, Dir the folder below it.
	Root, Dir string
	// Label is how the folder is called in origins and warnings.
	Label string
	// Trusted folders may hold roles that allow calls without asking.
	Trusted bool
}

// Dirs lists where roles are looked for, nearest first: a project's folders, then a person's.
func (s Sources) Dirs() []Dir {
	var places []Dir
	add := func(in Dir, dirs ...string) {
		for _, dir := range dirs {
			if in.Root != "" {
				places = append(places, Dir{Root: in.Root, Dir: dir, Label: path.Join(in.Label, dir), Trusted: in.Trusted})
			}
		}
	}
	config := Dir{Root: s.ConfigHome, Label: s.ConfigHome, Trusted: true}
	if s.ConfigHome == "" && s.Home != "" {
		config.Root, config.Label = filepath.Join(s.Home, ".config"), "~/.config"
	}
	add(Dir{Root: s.Project, Trusted: s.Trusted},
		".retinue/agents", ".agents/agents", ".claude/agents", ".opencode/agents", ".opencode/agent")
	add(config, "retinue/agents")
	add(Dir{Root: s.Home, Label: "~", Trusted: true}, ".agents/agents", ".claude/agents")
	add(config, "opencode/agents", "opencode/agent")
	return places
}

// files reads every Markdown file of a place, folders in it included, in order of path. A place
// that does not exist is empty. Links are followed only inside the root.
func (p Dir) files() ([]source, []document.Warning) {
	root, err := os.OpenRoot(p.Root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []document.Warning{{File: p.Label, Skipped: true, Text: err.Error()}}
	}
	defer root.Close() //nolint:errcheck // nothing was written
	var found []source
	var warnings []document.Warning
	skip := func(name, text string) {
		warnings = append(warnings, document.Warning{File: path.Join(p.Label, name), Skipped: true, Text: text})
	}
	walk := func(at string, entry fs.DirEntry, err error) error {
		name := strings.TrimPrefix(strings.TrimPrefix(at, p.Dir), "/")
		switch {
		case errors.Is(err, fs.ErrNotExist) && at == p.Dir:
			return fs.SkipAll
		case err != nil:
			skip(name, err.Error())
			return nil
		case entry.IsDir() || !strings.EqualFold(path.Ext(at), ".md"):
			return nil
		case len(found) == filesCap:
			skip("", fmt.Sprintf("there are more than %d files; the rest is not read", filesCap))
			return fs.SkipAll
		}
		data, err := document.ReadFile(root.FS(), at)
		if err != nil {
			skip(name, err.Error())
			return nil
		}
		found = append(found, source{
			file: path.Join(p.Label, name), data: data, from: document.FromFile, trusted: p.Trusted,
			include: p.include(path.Dir(at)),
		})
		return nil
	}
	if err := fs.WalkDir(root.FS(), p.Dir, walk); err != nil {
		skip("", err.Error())
	}
	return found, warnings
}

// include reads a file that a role in dir refers to, inside the root.
func (p Dir) include(dir string) func(string) (string, error) {
	return func(name string) (string, error) {
		root, err := os.OpenRoot(p.Root)
		if err != nil {
			return "", fmt.Errorf("open %s: %w", p.Root, err)
		}
		defer root.Close() //nolint:errcheck // nothing was written
		at := path.Join(dir, filepath.ToSlash(name))
		if !fs.ValidPath(at) {
			return "", fmt.Errorf("%s lies outside %s", name, p.Root)
		}
		data, err := document.ReadFile(root.FS(), at)
		return string(data), err
	}
}

// builtInFiles reads the roles that come with the program, or those of a preset.
func builtInFiles(dir string) ([]source, error) {
	names, err := fs.Glob(builtIn, dir+"/*.md")
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("there are no built-in roles in %s", dir)
	}
	var found []source
	for _, name := range names {
		data, err := builtIn.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read built-in role: %w", err)
		}
		found = append(found, source{file: name, data: data, from: document.FromBuiltIn, trusted: true})
	}
	return found, nil
}

// CheckPreset complains of a name that no preset has.
func CheckPreset(name string) error {
	_, err := builtInFiles("presets/" + name)
	return err
}
