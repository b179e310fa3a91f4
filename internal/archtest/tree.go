package archtest

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Tree is a parsed repository: every Go package below its root, in order of path.
type Tree struct {
	Module   string // import path of the root
	Packages []*Package
	fset     *token.FileSet
}

// Package is one folder with Go files, test files included.
type Package struct {
	Dir    string // path from the root; "." is the root itself
	Module string // folder of the go.mod it belongs to
	Files  []*File
}

// File is one parsed Go file.
type File struct {
	Path   string
	Test   bool
	Source []byte
	Syntax *ast.File
}

var moduleLine = regexp.MustCompile(`(?m)^module\s+(\S+)`)

// Load parses the repository whose root is fsys. Build constraints are ignored: every file counts.
func Load(fsys fs.FS) (*Tree, error) {
	gomod, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return nil, fmt.Errorf("read go.mod: %w", err)
	}
	name := moduleLine.FindSubmatch(gomod)
	if name == nil {
		return nil, errors.New("read go.mod: no module line")
	}
	t := &Tree{Module: string(name[1]), fset: token.NewFileSet()}
	if err := t.walk(fsys, ".", "."); err != nil {
		return nil, err
	}
	slices.SortFunc(t.Packages, func(a, b *Package) int { return strings.Compare(a.Dir, b.Dir) })
	return t, nil
}

func (t *Tree) walk(fsys fs.FS, dir, module string) error {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return fmt.Errorf("read folder: %w", err)
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == "go.mod" }) {
		module = dir
	}
	p := &Package{Dir: dir, Module: module}
	for _, e := range entries {
		at := path.Join(dir, e.Name())
		switch {
		case e.IsDir() && !ignored(e.Name()):
			err = t.walk(fsys, at, module)
		case !e.IsDir() && path.Ext(at) == ".go":
			err = t.parse(fsys, p, at)
		}
		if err != nil {
			return err
		}
	}
	if len(p.Files) > 0 {
		t.Packages = append(t.Packages, p)
	}
	return nil
}

// ignored reports whether the go command passes over a folder of that name, or a web build owns it.
func ignored(name string) bool {
	return name == "testdata" || name == "vendor" || name == "node_modules" ||
		strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

func (t *Tree) parse(fsys fs.FS, p *Package, at string) error {
	source, err := fs.ReadFile(fsys, at)
	if err != nil {
		return fmt.Errorf("read file: %w", err)
	}
	mode := parser.ParseComments | parser.SkipObjectResolution
	syntax, err := parser.ParseFile(t.fset, at, source, mode)
	if err != nil {
		return fmt.Errorf("parse: %w", err)
	}
	test := strings.HasSuffix(at, "_test.go")
	p.Files = append(p.Files, &File{Path: at, Test: test, Source: source, Syntax: syntax})
	return nil
}

// own turns an import path into the notation of the rules: ours start with "./".
func (t *Tree) own(importPath string) string {
	if importPath == t.Module {
		return "."
	}
	if rest, ok := strings.CutPrefix(importPath, t.Module+"/"); ok {
		return "./" + rest
	}
	return importPath
}

// name is the package in the notation of the rules.
func (p *Package) name() string {
	if p.Dir == "." {
		return "."
	}
	return "./" + p.Dir
}

func (f *File) lines() int { return bytes.Count(f.Source, []byte("\n")) }
