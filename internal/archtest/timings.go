package archtest

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// timings knows which names of a package stand for a time that passed: what the clock's functions
// return, and all that is assigned, sent, returned, passed or computed from one. It goes through
// the package until it learns nothing new. Of other packages it knows the names only.
type timings struct {
	info     *types.Info
	known    map[types.Object]bool
	results  map[types.Object]map[int]bool // of a function: which of its results
	fields   map[string]bool               // the names of all that is known, for values of a type that is not
	declared map[string][]ast.Expr         // what a name is declared with: a build tag may choose among several
	params   map[types.Object]*ast.FuncType
	bubbles  map[ast.Node]bool // functions that only run where the clock is exact
	learnt   bool
}

// nothing imports no package: each stays unknown.
type nothing struct{}

func (nothing) Import(string) (*types.Package, error) { return nil, errors.New("not read") }

// newTimings reads a package, of which only some files are asked for the times they take.
func newTimings(fset *token.FileSet, files, asked []*ast.File) *timings {
	g := &timings{
		info: &types.Info{
			Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
			Selections: map[*ast.SelectorExpr]*types.Selection{}, Types: map[ast.Expr]types.TypeAndValue{},
		},
		known: map[types.Object]bool{}, results: map[types.Object]map[int]bool{}, fields: map[string]bool{},
		declared: map[string][]ast.Expr{}, params: map[types.Object]*ast.FuncType{}, bubbles: map[ast.Node]bool{},
	}
	config := types.Config{Importer: nothing{}, Error: func(error) {}}
	_, _ = config.Check("p", fset, files, g.info) // it fails always, for want of what is imported
	for _, f := range asked {
		g.declarations(f)
	}
	for g.learnt = true; g.learnt; {
		g.learnt = false
		for _, f := range asked {
			g.read(f)
		}
	}
	g.findBubbles(asked)
	return g
}

func (g *timings) object(id *ast.Ident) types.Object {
	if o := g.info.Defs[id]; o != nil {
		return o
	}
	o := g.info.Uses[id]
	if f, ok := o.(*types.Func); ok {
		return f.Origin()
	}
	return o
}

// timing reports whether an expression is a time that passed, or is made of one.
func (g *timings) timing(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return g.known[g.object(e)]
	case *ast.SelectorExpr:
		if o := g.object(e.Sel); o != nil {
			return g.known[o]
		}
		pkg, ok := e.X.(*ast.Ident)
		named := (e.Sel.Name == "Duration" || e.Sel.Name == "Took") && (!ok || pkg.Name != "time")
		return named || g.fields[e.Sel.Name] || g.timing(e.X)
	case *ast.ParenExpr:
		return g.timing(e.X)
	case *ast.StarExpr:
		return g.timing(e.X)
	case *ast.UnaryExpr:
		return g.timing(e.X)
	case *ast.IndexExpr:
		return g.timing(e.X)
	case *ast.SliceExpr:
		return g.timing(e.X)
	case *ast.BinaryExpr:
		made := []token.Token{token.ADD, token.SUB, token.MUL, token.QUO, token.REM}
		return slices.Contains(made, e.Op) && (g.timing(e.X) || g.timing(e.Y))
	case *ast.FuncLit:
		return len(g.returned(e.Type, e.Body)) > 0
	case *ast.CompositeLit:
		return g.structure(e) == nil && slices.ContainsFunc(e.Elts, g.element)
	case *ast.CallExpr:
		return g.call(e)
	}
	return false
}

func (g *timings) element(e ast.Expr) bool {
	if pair, ok := e.(*ast.KeyValueExpr); ok {
		return g.timing(pair.Value)
	}
	return g.timing(e)
}

// call reports whether a call gives a time: the clock's functions, functions of the package that
// return one, and those of others that make a number of a number.
func (g *timings) call(call *ast.CallExpr) bool {
	before, name := called(call)
	switch {
	case before == "time" && (name == "Since" || name == "Until"):
		return true
	case before != "" && (name == "Elapsed" && len(call.Args) == 0 || name == "Sub" && len(call.Args) == 1 || name == "Getrusage"):
		return true
	}
	callee := g.callee(call)
	if g.results[callee][0] || g.known[callee] {
		return true
	}
	if _, ours := g.params[callee]; ours {
		return false
	}
	makes := []string{"append", "max", "min", "float64", "float32", "int", "int64", "uint64"}
	if before == "" && slices.Contains(makes, name) || slices.Contains([]string{"math", "slices", "sort", "maps", "cmp"}, before) ||
		before == "time" && name == "Duration" {
		return slices.ContainsFunc(call.Args, g.timing)
	}
	selector, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	return ok && g.timing(selector.X) // a method of a time
}

// callee is the function or variable that a call calls, if it is of this package.
func (g *timings) callee(call *ast.CallExpr) types.Object {
	fun := ast.Unparen(call.Fun)
	if index, ok := fun.(*ast.IndexExpr); ok {
		fun = index.X
	}
	switch fun := fun.(type) {
	case *ast.Ident:
		return g.object(fun)
	case *ast.SelectorExpr:
		return g.object(fun.Sel)
	}
	return nil
}

func (g *timings) structure(n *ast.CompositeLit) *types.Struct {
	of := g.info.Types[n].Type
	if of == nil {
		return nil
	}
	if p, ok := of.Underlying().(*types.Pointer); ok {
		of = p.Elem()
	}
	s, _ := of.Underlying().(*types.Struct)
	return s
}
