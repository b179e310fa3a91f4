package archtest

import (
	"fmt"
	"go/version"
	"io/fs"
	"path"
	"regexp"
)

// GoFloor is the oldest Go that may build us. Before it, os.Root, which keeps paths of tools in
// their workspace, could be left (CVE-2026-39822).
const GoFloor = "go1.26.5"

var floor = rule{
	"every Go that builds us has the repaired os.Root",
	"with an older one an agent's path can leave its workspace (CVE-2026-39822); ask for " + GoFloor + " or later",
}

var (
	goLine = regexp.MustCompile(`(?m)^go (\S+)$`)
	// named is where workflows, images and the README name a Go: a version, or the go.mod that has it.
	named = regexp.MustCompile(`(?:go-version: *['"]?|FROM golang:|Needed: Go )([0-9][0-9.]*)`)
	taken = regexp.MustCompile(`go-version-file: *(\S+)`)
)

// Floor looks for modules that an older Go than GoFloor would build, and for workflows, images and
// words of the README that name one.
func Floor(fsys fs.FS) ([]Violation, error) {
	var found []Violation
	hold := func(at, asked string) {
		if version.Compare("go"+asked, GoFloor) < 0 {
			found = append(found, Violation{Rule: floor.name, At: at, What: fmt.Sprintf("asks for Go %q", asked), Why: floor.why})
		}
	}
	var modules int
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || name == "bin") {
			return fs.SkipDir
		}
		switch ext := path.Ext(name); {
		case d.Name() == "go.mod", d.Name() == "Dockerfile", name == "README.md", path.Dir(name) == ".github/workflows" && ext == ".yml":
		default:
			return nil
		}
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		if d.Name() == "go.mod" {
			modules++
			asked := ""
			if m := goLine.FindSubmatch(text); m != nil {
				asked = string(m[1])
			}
			hold(name, asked)
		}
		for _, m := range named.FindAllSubmatch(text, -1) {
			hold(name, string(m[1]))
		}
		for _, m := range taken.FindAllSubmatch(text, -1) {
			if _, err := fs.Stat(fsys, string(m[1])); err != nil || path.Base(string(m[1])) != "go.mod" {
				hold(name, string(m[1])) // no version, so below the floor
			}
		}
		return nil
	})
	if err == nil && modules == 0 {
		err = fmt.Errorf("no go.mod below the root")
	}
	return found, err
}
