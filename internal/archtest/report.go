package archtest

import (
	"fmt"
	"go/ast"
	"io"
	"path"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// Sizes to aim for and to stop at, in lines, and the width of a line of prose in columns.
const (
	fileAim, fileStop = 300, 600
	funcAim, funcStop = 40, 80
	width             = 100
)

// vague are names that say nothing about what lives under them.
var vague = []string{
	"util", "utils", "common", "helper", "helpers", "base", "manager", "types", "models", "misc",
}

// Report writes sizes per package and what is worth a look. Generated files are left out.
func Report(w io.Writer, t *Tree) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	var remarks []string
	fmt.Fprintln(out, "package\tfiles\tlines\ttest lines")
	for _, p := range t.Packages {
		var files, code, tests int
		for _, f := range p.Files {
			if ast.IsGenerated(f.Syntax) {
				continue
			}
			files++
			if f.Test {
				tests += f.lines()
			} else {
				code += f.lines()
			}
			remarks = append(remarks, t.remarks(f)...)
		}
		if !documented(p) {
			remarks = append(remarks, p.Dir+": no package comment")
		}
		if isVague(path.Base(p.Dir)) {
			remarks = append(remarks, p.Dir+": the name says nothing")
		}
		fmt.Fprintf(out, "%s\t%d\t%d\t%d\n", p.Dir, files, code, tests)
	}
	fmt.Fprintf(out, "\nfor a judge (files %d, stop %d; functions %d, stop %d; %d columns): ",
		fileAim, fileStop, funcAim, funcStop, width)
	if len(remarks) == 0 {
		fmt.Fprint(out, "nothing")
	}
	fmt.Fprintf(out, "\n%s\n", strings.Join(remarks, "\n"))
	return out.Flush()
}

// remarks lists what is long, wide or vaguely named in a file.
func (t *Tree) remarks(f *File) []string {
	var found []string
	remark := func(at, format string, args ...any) {
		found = append(found, at+": "+fmt.Sprintf(format, args...))
	}
	if n := f.lines(); n > fileAim {
		remark(f.Path, "%d lines%s", n, stop(n, fileStop))
	}
	wide := 0
	for line := range strings.Lines(string(f.Source)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "//") && utf8.RuneCountInString(line) > width {
			wide++
		}
	}
	if wide > 0 {
		remark(f.Path, "%d lines of comment wider than %d columns", wide, width)
	}
	if isVague(strings.TrimSuffix(path.Base(f.Path), ".go")) {
		remark(f.Path, "the name says nothing")
	}
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			if isVague(n.Name.Name) {
				remark(t.fset.Position(n.Pos()).String(), "type %s: the name says nothing", n.Name)
			}
		case *ast.FuncDecl:
			from, to := t.fset.Position(n.Pos()), t.fset.Position(n.End())
			if lines := to.Line - from.Line + 1; lines > funcAim {
				remark(from.String(), "func %s: %d lines%s", n.Name, lines, stop(lines, funcStop))
			}
		}
		return true
	})
	return found
}

func stop(n, limit int) string {
	if n > limit {
		return ", past the stop"
	}
	return ""
}

func documented(p *Package) bool {
	return slices.ContainsFunc(p.Files, func(f *File) bool { return f.Syntax.Doc != nil })
}

func isVague(name string) bool {
	return slices.Contains(vague, strings.ToLower(strings.TrimSuffix(name, "_test")))
}
