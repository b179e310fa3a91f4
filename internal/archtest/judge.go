package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// The most that shipped code may have, in lines, and that any comment may have, in columns.
const (
	packageMost  = 3000
	fileMost     = 400
	functionMost = 60
	width        = 100
)

// The most that tests and test support may have, in lines. A test is as long as its table or its
// story, and a package of tests is as large as what it tests.
const (
	testFileMost     = 600
	testFunctionMost = 200
)

// vague are names that say nothing about what lives under them.
var vague = []string{
	"util", "utils", "common", "helper", "helpers", "base", "manager", "types", "models", "misc",
}

// Finding is something that is larger than it should be, or badly named.
type Finding struct {
	// Subject is a package, a file or a function of a file, such as internal/leg/leg.go:carryOn.
	Subject string
	Text    string
	// Package means that a package is too large, or that an exception for one is not needed.
	Package bool
}

func (f Finding) String() string { return f.Subject + ": " + f.Text }

// Exception is a subject that may be over a bound, and why.
type Exception struct{ Subject, Why string }

// Judge finds everything that is over a bound without a reason, and the exceptions that nothing
// needs.
func Judge(t *Tree, words []Retired, exceptions []Exception) []Finding {
	why := map[string]string{}
	for _, e := range exceptions {
		why[e.Subject] = e.Why
	}
	needed := map[string]bool{}
	var found []Finding
	for _, f := range t.findings() {
		if why[f.Subject] == "" {
			found = append(found, f)
		} else {
			needed[f.Subject] = true
		}
	}
	for _, v := range RetiredNames(t, words) {
		found = append(found, Finding{Subject: v.At, Text: "a retired name, " + v.What})
	}
	for _, e := range exceptions {
		if !needed[e.Subject] {
			found = append(found, Finding{
				Subject: e.Subject, Text: "an exception that nothing needs; remove it", Package: path.Ext(e.Subject) == "",
			})
		}
	}
	return found
}

// findings lists everything that is over a bound.
func (t *Tree) findings() []Finding {
	var found []Finding
	for _, p := range t.Packages {
		if s := sizeOf(p); s.code > packageMost && !supports(p) {
			found = append(found, Finding{p.Dir, fmt.Sprintf("%d lines of shipped code, at most %d", s.code, packageMost), true})
		}
		if sizeOf(p).files > 0 && !documented(p) {
			found = append(found, Finding{Subject: p.Dir, Text: "no package comment"})
		}
		if isVague(path.Base(p.Dir)) {
			found = append(found, Finding{Subject: p.Dir, Text: "the name says nothing"})
		}
		for _, f := range p.Files {
			if !ast.IsGenerated(f.Syntax) {
				found = append(found, t.inFile(f, f.Test || supports(p))...)
			}
		}
	}
	return found
}

// inFile lists what is long, wide or vaguely named in a file.
func (t *Tree) inFile(f *File, test bool) []Finding {
	mostLines, mostOfFunction := fileMost, functionMost
	if test {
		mostLines, mostOfFunction = testFileMost, testFunctionMost
	}
	var found []Finding
	if n := f.lines(); n > mostLines {
		found = append(found, Finding{Subject: f.Path, Text: fmt.Sprintf("%d lines, at most %d", n, mostLines)})
	}
	if n := wideComments(f); n > 0 {
		found = append(found, Finding{Subject: f.Path, Text: fmt.Sprintf("%d lines of comment wider than %d columns", n, width)})
	}
	if isVague(strings.TrimSuffix(path.Base(f.Path), ".go")) {
		found = append(found, Finding{Subject: f.Path, Text: "the name says nothing"})
	}
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			if isVague(n.Name.Name) {
				found = append(found, Finding{Subject: f.Path + ":" + n.Name.Name, Text: "the name of a type says nothing"})
			}
		case *ast.FuncDecl:
			from, to := t.fset.Position(n.Pos()), t.fset.Position(n.End())
			if lines := to.Line - from.Line + 1; lines > mostOfFunction {
				found = append(found, Finding{
					Subject: f.Path + ":" + n.Name.Name, Text: fmt.Sprintf("%d lines, at most %d", lines, mostOfFunction),
				})
			}
		}
		return true
	})
	return found
}

// notProse is a comment that is no sentence: a directive, code, or an address that cannot be
// broken.
var notProse = regexp.MustCompile(`^//(\S|\t|\s*\S+$)`)

// wideComments counts the lines of comment that are wider than the bound. What follows code on its
// line is not looked at.
func wideComments(f *File) int {
	wide := 0
	for _, group := range f.Syntax.Comments {
		for _, c := range group.List {
			if notProse.MatchString(c.Text) {
				continue
			}
			if utf8.RuneCountInString(c.Text) > width && f.alone(c) {
				wide++
			}
		}
	}
	return wide
}

// alone reports whether nothing but blanks is before a comment on its line.
func (f *File) alone(c *ast.Comment) bool {
	at := int(c.Pos() - f.Syntax.FileStart)
	from := strings.LastIndexByte(string(f.Source[:at]), '\n') + 1
	return strings.TrimSpace(string(f.Source[from:at])) == ""
}

// size is how much there is in a package, in lines, generated files left out.
type size struct{ files, code, tests int }

func sizeOf(p *Package) size {
	var s size
	for _, f := range p.Files {
		if ast.IsGenerated(f.Syntax) {
			continue
		}
		s.files++
		if f.Test {
			s.tests += f.lines()
		} else {
			s.code += f.lines()
		}
	}
	return s
}

// supports reports whether a package exists to test others, or to judge the tree.
func supports(p *Package) bool {
	return matchAny(support, p.name()) || match("./internal/archtest/...", p.name())
}

func documented(p *Package) bool {
	return slices.ContainsFunc(p.Files, func(f *File) bool { return f.Syntax.Doc != nil })
}

func isVague(name string) bool {
	return slices.Contains(vague, strings.ToLower(strings.TrimSuffix(name, "_test")))
}
