package archtest

import (
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
	"testing/fstest"
)

const root = "../.."

// repository is the tree these tests live in.
func repository(t *testing.T) *Tree {
	t.Helper()
	return load(t, os.DirFS(root))
}

func load(t *testing.T, fsys fs.FS) *Tree {
	t.Helper()
	tree, err := Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// sketch is a small tree with a module called example.com/m: path of a file to its source.
func sketch(t *testing.T, files map[string]string) *Tree {
	t.Helper()
	fsys := fstest.MapFS{"go.mod": {Data: []byte("module example.com/m\n")}}
	for name, source := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(source)}
	}
	return load(t, fsys)
}

// importing is the source of a file that imports one path; ours are written "./internal/chat".
func importing(importPath string) string {
	if ours, ok := strings.CutPrefix(importPath, "./"); ok {
		importPath = path.Join("example.com/m", ours)
	}
	return "package p\n\nimport _ \"" + importPath + "\"\n"
}

func fail(t *testing.T, found []Violation) {
	t.Helper()
	for _, v := range found {
		t.Error(v)
	}
}

func TestABrokenFileIsAnError(t *testing.T) {
	fsys := fstest.MapFS{
		"go.mod":             {Data: []byte("module example.com/m\n")},
		"internal/chat/x.go": {Data: []byte("package")},
	}
	if _, err := Load(fsys); err == nil {
		t.Error("a file that does not parse was passed over")
	}
}
