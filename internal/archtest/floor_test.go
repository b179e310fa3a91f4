package archtest

import (
	"os"
	"testing"
	"testing/fstest"
)

func TestFloor(t *testing.T) {
	found, err := Floor(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	fail(t, found)
}

func TestAnOlderGoIsRefused(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       int
	}{
		{"a/go.mod", "module a\n\ngo 1.26.5\n", 0},
		{"a/go.mod", "module a\n\ngo 1.27.0\n", 0},
		{"a/go.mod", "module a\n\ngo 1.26.4\n", 1},
		{"a/go.mod", "module a\n\ngo 1.26\n", 1},
		{"a/go.mod", "module a\n", 1},
		{"a/go.mod", "module a\n\ngo 1.26.0\n\ntoolchain go1.26.8\n", 1}, // a suggestion, which GOTOOLCHAIN=local ignores
		{".github/workflows/x.yml", "go-version: '1.26'\n", 1},
		{".github/workflows/x.yml", "go-version: 1.26.8\n", 0},
		{".github/workflows/x.yml", "go-version-file: go.mod # ours\n", 0},
		{".github/workflows/x.yml", "go-version-file: .go-version\n", 1},
		{"deploy/Dockerfile", "FROM golang:1.26.4-bookworm AS build\n", 1},
		{"deploy/Dockerfile", "FROM golang:1.26.8-bookworm AS build\n", 0},
		{"README.md", "Needed: Go 1.26 or newer\n", 1},
		{"web/node_modules/a/go.mod", "module a\n", 0},
	} {
		found, err := Floor(fstest.MapFS{
			"go.mod": {Data: []byte("module m\n\ngo 1.26.8\n")}, c.name: {Data: []byte(c.text)},
		})
		if err != nil || len(found) != c.want {
			t.Errorf("%s %q: got %v, %v", c.name, c.text, found, err)
		}
	}
	if _, err := Floor(fstest.MapFS{}); err == nil {
		t.Error("a tree without modules passed")
	}
}
