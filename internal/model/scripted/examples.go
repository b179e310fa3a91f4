package scripted

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

//go:embed examples/*.yaml
var examples embed.FS

// Examples are the names of the scripts that come with the program.
func Examples() []string {
	files, err := fs.Glob(examples, "examples/*.yaml")
	if err != nil {
		panic(err) // the pattern is ours
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(path.Base(f), ".yaml")
	}
	return files
}

// Example is one of them.
func Example(name string) (*Script, error) {
	text, err := examples.ReadFile("examples/" + name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("no example %q: there are %s", name, strings.Join(Examples(), ", "))
	}
	return Parse(name+".yaml", text)
}
