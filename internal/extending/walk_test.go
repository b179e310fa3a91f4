package extending

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestWalk looks up each function that docs/walk.md names. A step may go on with functions of the
// file named last.
func TestWalk(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "walk.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := walked(string(page))
	if len(named) < 60 {
		t.Errorf("the page names %d functions: is it read as it is written?", len(named))
	}
	for _, name := range named {
		if err := lookUp(name); err != nil {
			t.Error(err)
		}
	}
}

// TestWalkNoticesAWrongName is the test of the test.
func TestWalkNoticesAWrongName(t *testing.T) {
	for _, text := range []string{
		"1. `internal/agent/step.go: Stepp` decides.",
		"1. `internal/agent/steps.go: Step` decides.",
		"1. `internal/agent/step.go: Step` decides, `nobody` does.",
		"1. `web/src/store/apply.ts: applied` changes the store.",
	} {
		wrong := 0
		for _, name := range walked(text) {
			if lookUp(name) != nil {
				wrong++
			}
		}
		if wrong != 1 {
			t.Errorf("%d names found wrong in %s", wrong, text)
		}
	}
}

// function is one that a step names.
type function struct{ path, name string }

var (
	step   = regexp.MustCompile(`(?m)^[0-9]+\. (.+(?:\n {3,4}.+)*)`)
	quoted = regexp.MustCompile("`(?:([a-z][\\w/.-]*\\.(?:go|tsx?)): )?([A-Za-z]\\w*)`")
)

// walked are the functions that the steps of a page name. A name in backquotes without a file
// belongs to the file before it in the step; a word with an underscore is no function.
func walked(page string) (all []function) {
	for _, s := range step.FindAllStringSubmatch(page, -1) {
		path := ""
		for _, m := range quoted.FindAllStringSubmatch(strings.Join(strings.Fields(s[1]), " "), -1) {
			if m[1] != "" {
				path = m[1]
			}
			if path != "" && !strings.Contains(m[2], "_") {
				all = append(all, function{path, m[2]})
			}
		}
	}
	return all
}

// lookUp finds a function's declaration.
func lookUp(f function) error {
	data, err := os.ReadFile(filepath.Join(root, f.path))
	if err != nil {
		return err
	}
	if !strings.HasSuffix(f.path, ".go") {
		if !regexp.MustCompile(`\b(?:function|class|const) `+f.name+`\b`).Match(data) && !imports(string(data), f.name) {
			return fmt.Errorf("%s declares no %s", f.path, f.name)
		}
		return nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), f.path, data, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, d := range file.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == f.name {
			return nil
		}
	}
	return fmt.Errorf("%s declares no %s", f.path, f.name)
}

// imports reports whether a module of TypeScript imports a name.
func imports(text, name string) bool {
	return regexp.MustCompile(`import \{[^}]*\b` + name + `\b[^}]*\} from`).MatchString(text)
}
