package config

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// fileCap is the most that a role's file may hold; filesCap is how many files one folder may.
const (
	fileCap  = 256 << 10
	filesCap = 1000
)

//go:embed roles/*.md presets/*/*.md
var builtIn embed.FS

// RoleDir is a folder in which roles are looked for.
type RoleDir struct {
	// Root is what links must not lead out of, Dir the folder below it.
	Root, Dir string
	// Label is how the folder is called in origins and warnings.
	Label string
	// Trusted folders may hold roles that allow calls without asking.
	Trusted bool
}

// RoleDirs lists where roles are looked for, nearest first: a project's folders, then a person's.
func (s Sources) RoleDirs() []RoleDir {
	var places []RoleDir
	add := func(in RoleDir, dirs ...string) {
		for _, dir := range dirs {
			if in.Root != "" {
				places = append(places, RoleDir{Root: in.Root, Dir: dir, Label: path.Join(in.Label, dir), Trusted: in.Trusted})
			}
		}
	}
	config := RoleDir{Root: s.ConfigHome, Label: s.ConfigHome, Trusted: true}
	if s.ConfigHome == "" && s.Home != "" {
		config.Root, config.Label = filepath.Join(s.Home, ".config"), "~/.config"
	}
	add(RoleDir{Root: s.Project, Trusted: s.Trusted},
		".retinue/agents", ".agents/agents", ".claude/agents", ".opencode/agents", ".opencode/agent")
	add(config, "retinue/agents")
	add(RoleDir{Root: s.Home, Label: "~", Trusted: true}, ".agents/agents", ".claude/agents")
	add(config, "opencode/agents", "opencode/agent")
	return places
}

// files reads every Markdown file of a place, folders in it included, in order of path. A place
// that does not exist is empty. Links are followed only inside the root.
func (p RoleDir) files() ([]source, []Warning) {
	root, err := os.OpenRoot(p.Root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []Warning{{File: p.Label, Skipped: true, Text: err.Error()}}
	}
	defer root.Close() //nolint:errcheck // nothing was written
	var found []source
	var warnings []Warning
	skip := func(name, text string) {
		warnings = append(warnings, Warning{File: path.Join(p.Label, name), Skipped: true, Text: text})
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
		data, err := readCapped(root.FS(), at)
		if err != nil {
			skip(name, err.Error())
			return nil
		}
		found = append(found, source{
			file: path.Join(p.Label, name), data: data, from: FromFile, trusted: p.Trusted,
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
func (p RoleDir) include(dir string) func(string) (string, error) {
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
		data, err := readCapped(root.FS(), at)
		return string(data), err
	}
}

// readCapped reads a regular file of bounded size.
func readCapped(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, plainly(err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	info, err := f.Stat()
	if err != nil {
		return nil, plainly(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not an ordinary file")
	}
	data, err := io.ReadAll(io.LimitReader(f, fileCap+1))
	if err != nil {
		return nil, plainly(err)
	}
	if len(data) > fileCap {
		return nil, fmt.Errorf("it is larger than %d KiB", fileCap>>10)
	}
	return data, nil
}

// plainly drops the operation and the path from an error of the file system: a warning names them.
func plainly(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
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
		found = append(found, source{file: name, data: data, from: FromBuiltIn, trusted: true})
	}
	return found, nil
}
