package supply

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Program is one that we ship.
type Program struct {
	Name    string
	Module  string // the folder of its module, from the root of the repository
	Package string // its main package, from that folder
}

// Programs are all that we ship.
var Programs = []Program{
	{Name: "retinue", Module: ".", Package: "./cmd/retinue"},
	{Name: "retinue-full", Module: "standalone", Package: "."},
}

// Kind is where a part comes from.
type Kind string

// The kinds of parts, as package URLs call them.
const (
	Go  Kind = "golang"
	NPM Kind = "npm"
)

// Part is somebody else's work inside a program of ours.
type Part struct {
	Kind          Kind
	Name, Version string
	Dir           string
	// Folders are those of Dir that are used. Licences count that lie in one of them or above it.
	Folders []string
	// Declared is the licence that an npm package says it has.
	Declared string
	// Integrity is what an npm package's archive hashes to, as the lock file writes it.
	Integrity string
}

// Standard is the name of the part that every Go program has: the standard library with the
// runtime.
const Standard = "stdlib"

// Modules lists the Go modules linked into a program for Linux, the standard library among them, in
// order of name.
func Modules(ctx context.Context, root string, p Program) ([]Part, error) {
	dir := filepath.Join(root, p.Module)
	out, err := output(ctx, dir, "env", "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOPROXY=off",
		"go", "list", "-e", "-deps", "-tags", "web", "-json=Dir,Module,Standard,ImportPath", p.Package)
	if err != nil {
		return nil, err
	}
	parts := map[string]*Part{}
	for stream := json.NewDecoder(bytes.NewReader(out)); ; {
		var pkg struct {
			Dir, ImportPath string
			Standard        bool
			Module          *struct {
				Path, Version, Dir string
				Main               bool
				Replace            *struct{ Path, Version string }
			}
		}
		if err := stream.Decode(&pkg); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("list what %s links: %w", p.Name, err)
		}
		m := pkg.Module
		switch {
		case pkg.Standard, m != nil && m.Main, m != nil && m.Replace != nil && m.Replace.Version == "": // a folder
			continue // ours, or the standard library
		case m == nil || m.Dir == "" || pkg.Dir == "":
			return nil, fmt.Errorf("%s is not in the module cache: run 'go mod download' in %s", pkg.ImportPath, p.Module)
		}
		if parts[m.Path] == nil {
			parts[m.Path] = &Part{Kind: Go, Name: m.Path, Version: m.Version, Dir: m.Dir}
		}
		parts[m.Path].Folders = append(parts[m.Path].Folders, pkg.Dir)
	}
	standard, err := standardLibrary(ctx, dir)
	if err != nil {
		return nil, err
	}
	found := []Part{standard}
	for _, part := range parts {
		found = append(found, *part)
	}
	return sorted(found), nil
}

func standardLibrary(ctx context.Context, dir string) (Part, error) {
	out, err := output(ctx, dir, "go", "env", "GOROOT", "GOVERSION")
	if err != nil {
		return Part{}, err
	}
	root, version, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return Part{Kind: Go, Name: Standard, Version: strings.TrimPrefix(version, "go"), Dir: root, Folders: []string{root}}, nil
}

// bundlers are npm packages that are only there to build the pages, and leave code of their own in
// them.
var bundlers = []string{"rolldown", "tailwindcss", "vite"}

// Packages lists the npm packages that the pages are bundled from, in order of name: all that the
// lock file does not call development, and those that leave code of their own in a bundle.
func Packages(root string) ([]Part, error) {
	text, err := os.ReadFile(filepath.Join(root, "web", "package-lock.json"))
	if err != nil {
		return nil, fmt.Errorf("read lock file: %w", err)
	}
	var lock struct {
		Packages map[string]struct {
			Version, License, Integrity string
			Dev                         bool
		}
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, fmt.Errorf("read lock file: %w", err)
	}
	var found []Part
	for at, p := range lock.Packages {
		folders := strings.Split(at, "node_modules/")
		name := folders[len(folders)-1]
		if name == "" || p.Dev && !slices.Contains(bundlers, name) {
			continue // our own, or only there to build and test
		}
		dir := filepath.Join(root, "web", filepath.FromSlash(at))
		if _, err := os.Stat(dir); err != nil {
			return nil, fmt.Errorf("npm package %s is not installed: run 'npm ci' in web", name)
		}
		found = append(found, Part{
			Kind: NPM, Name: name, Version: p.Version, Dir: dir, Folders: []string{dir}, Declared: p.License, Integrity: p.Integrity,
		})
	}
	if len(found) <= len(bundlers) {
		return nil, errors.New("the lock file of the web app names no packages")
	}
	return sorted(found), nil
}

// All lists the parts of every program, each once.
func All(ctx context.Context, root string) ([]Part, error) {
	all, err := Packages(root)
	if err != nil {
		return nil, err
	}
	for _, p := range Programs {
		modules, err := Modules(ctx, root, p)
		if err != nil {
			return nil, err
		}
		all = append(all, modules...)
	}
	return sorted(merged(all)), nil
}

// merged joins parts that two programs have, at the same version or not.
func merged(parts []Part) []Part {
	at := map[string]int{}
	var found []Part
	for _, p := range parts {
		key := string(p.Kind) + " " + p.Name + " " + p.Version
		i, ok := at[key]
		if !ok {
			at[key] = len(found)
			found = append(found, p)
			continue
		}
		found[i].Folders = append(slices.Clip(found[i].Folders), p.Folders...)
	}
	return found
}

func sorted(parts []Part) []Part {
	slices.SortFunc(parts, func(a, b Part) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version))
	})
	return parts
}

// output runs a program and returns what it prints.
func output(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s in %s: %w\n%s", name, strings.Join(args, " "), dir, err, stderr.Bytes())
	}
	return out, nil
}
