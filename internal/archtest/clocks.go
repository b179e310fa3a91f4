package archtest

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"time"
)

var noClock = rule{
	"no test holds time against a bound",
	"a slow machine would fail a change that is right; give it to measure.Most, which make prove holds, or wait for a condition",
}

// patient is how long a test must wait at least before it may call it a failure.
const patient = 30 * time.Second

// notABound is what a line says, with its reason, whose comparison decides about no test.
const notABound = "// not a bound:"

// Clocks looks in tests, and in what supports them, for comparisons of a time that passed with a
// bound. It recognises such a time by how the package is written: see timings.
func Clocks(t *Tree) []Violation {
	var found []Violation
	for _, p := range t.Packages {
		for _, files := range units(p) {
			var all, asked []*ast.File
			for _, f := range files {
				all = append(all, f.Syntax)
				if reads(p, f) {
					asked = append(asked, f.Syntax)
				}
			}
			w := watch{tree: t, timings: newTimings(t.fset, all, asked)}
			for _, f := range files {
				if reads(p, f) {
					found = append(found, w.file(f)...)
				}
			}
		}
	}
	return found
}

// units are the packages of one folder: its own, and the one that tests it from outside.
func units(p *Package) [][]*File {
	named := map[string][]*File{}
	var names []string
	for _, f := range p.Files {
		name := f.Syntax.Name.Name
		if named[name] == nil {
			names = append(names, name)
		}
		named[name] = append(named[name], f)
	}
	var out [][]*File
	for _, name := range names {
		out = append(out, named[name])
	}
	return out
}

// watch looks at the comparisons of one package.
type watch struct {
	tree    *Tree
	timings *timings
}

// reads reports whether a file is a test or supports tests.
func reads(p *Package, f *File) bool { return f.Test || matchAny(support, p.name()) }

// file lists the comparisons of one file that compare time with a bound.
func (w *watch) file(f *File) []Violation {
	var found []Violation
	lines := strings.Split(string(f.Source), "\n")
	exempt := map[ast.Node]bool{}
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		if n == nil || exempt[n] {
			return false
		}
		switch n := n.(type) {
		case *ast.ForStmt:
			exempt[n.Cond] = n.Cond != nil // how long something goes on
		case *ast.CallExpr:
			w.exempt(n, exempt)
			if w.overdue(n) {
				found = append(found, w.judged(n.Pos(), lines)...)
			}
		case *ast.FuncDecl:
			return !w.timings.bubbles[n]
		case *ast.BinaryExpr:
			if w.bound(n) {
				found = append(found, w.judged(n.OpPos, lines)...)
			}
		}
		return true
	})
	return found
}

// overdue reports whether a call asks if it is later now than a moment and a little: time.Since in
// other words.
func (w *watch) overdue(call *ast.CallExpr) bool {
	is, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || is.Sel.Name != "After" && is.Sel.Name != "Before" || len(call.Args) != 1 {
		return false
	}
	now, first := is.X.(*ast.CallExpr)
	then, second := call.Args[0].(*ast.CallExpr)
	if !first || !second || len(then.Args) != 1 {
		return false
	}
	pkg, clock := called(now)
	_, sum := called(then)
	return pkg == "time" && clock == "Now" && sum == "Add" && !w.generous(then.Args[0])
}

// judged is what is wrong with what stands at a place.
func (w *watch) judged(pos token.Pos, lines []string) []Violation {
	at := w.tree.fset.Position(pos)
	if v, wrong := judge(at, lines[at.Line-1]); wrong {
		return []Violation{v}
	}
	return nil
}

// exempt notes which arguments of a call are left alone: what a bubble runs, whose clock is exact,
// and what puts times in order.
func (w *watch) exempt(call *ast.CallExpr, exempt map[ast.Node]bool) {
	pkg, name := called(call)
	if pkg == "synctest" || pkg == "sort" || pkg == "slices" && strings.HasPrefix(name, "Sort") {
		for _, arg := range call.Args {
			exempt[arg] = true
		}
	}
}

// judge is what is wrong with a comparison in this line: that it is there, or that its reason is
// missing.
func judge(at token.Position, line string) (Violation, bool) {
	v := Violation{At: at.String(), What: "holds time against a bound", Rule: noClock.name, Why: noClock.why}
	_, reason, marked := strings.Cut(line, notABound)
	switch {
	case !marked:
		return v, true
	case strings.TrimSpace(reason) == "":
		v.What = "does not say why it is not a bound"
		return v, true
	default:
		return Violation{}, false
	}
}

// bound reports whether an expression compares a time that passed with less than a test must wait.
func (w *watch) bound(n *ast.BinaryExpr) bool {
	if !slices.Contains([]token.Token{token.LSS, token.GTR, token.LEQ, token.GEQ}, n.Op) {
		return false
	}
	left, right := w.timings.timing(n.X), w.timings.timing(n.Y)
	switch {
	case left && right:
		return true
	case left:
		return !w.generous(n.Y)
	case right:
		return !w.generous(n.X)
	default:
		return false
	}
}

// generous reports whether a bound is one that only a hanging test meets, or is no bound but the
// order of two moments.
func (w *watch) generous(e ast.Expr) bool {
	d, known := w.timings.constant(e, 0)
	return known && (d == 0 || d >= float64(patient))
}

var unitsOfTime = map[string]time.Duration{
	"Nanosecond": time.Nanosecond, "Microsecond": time.Microsecond, "Millisecond": time.Millisecond,
	"Second": time.Second, "Minute": time.Minute, "Hour": time.Hour,
}

// deepest is how many names a constant may be behind.
const deepest = 10

// constant works out a bound: numbers, units of time, names of the package that are declared with a
// value.
func (g *timings) constant(e ast.Expr, depth int) (value float64, known bool) {
	if depth > deepest {
		return 0, false
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return g.constant(e.X, depth+1)
	case *ast.BasicLit:
		value, err := strconv.ParseFloat(strings.ReplaceAll(e.Value, "_", ""), 64)
		return value, err == nil
	case *ast.SelectorExpr:
		if pkg, ok := e.X.(*ast.Ident); ok && pkg.Name == "time" {
			d, ok := unitsOfTime[e.Sel.Name]
			return float64(d), ok
		}
	case *ast.Ident:
		return g.least(g.declared[e.Name], depth+1)
	case *ast.CallExpr: // a conversion
		if _, name := called(e); len(e.Args) == 1 && slices.Contains([]string{"Duration", "float64", "int64"}, name) {
			return g.constant(e.Args[0], depth+1)
		}
	case *ast.BinaryExpr:
		x, known := g.constant(e.X, depth+1)
		y, too := g.constant(e.Y, depth+1)
		return arithmetic(e.Op, x, y), known && too
	}
	return 0, false
}

// least is the least that a name may stand for.
func (g *timings) least(declared []ast.Expr, depth int) (value float64, known bool) {
	for i, e := range declared {
		v, ok := g.constant(e, depth)
		if !ok {
			return 0, false
		}
		if i == 0 || v < value {
			value = v
		}
	}
	return value, len(declared) > 0
}

func arithmetic(op token.Token, x, y float64) float64 {
	//nolint:exhaustive // there are a hundred tokens
	switch op {
	case token.ADD:
		return x + y
	case token.SUB:
		return x - y
	case token.MUL:
		return x * y
	case token.QUO:
		return x / y
	default:
		return -1
	}
}

// called names what a call calls: a function, or a name within what stands before its dot.
func called(call *ast.CallExpr) (before, name string) {
	fun := ast.Unparen(call.Fun)
	if index, ok := fun.(*ast.IndexExpr); ok {
		fun = index.X
	}
	switch fun := fun.(type) {
	case *ast.Ident:
		return "", fun.Name
	case *ast.SelectorExpr:
		if id, ok := fun.X.(*ast.Ident); ok {
			return id.Name, fun.Sel.Name
		}
		return "?", fun.Sel.Name
	}
	return "", ""
}
