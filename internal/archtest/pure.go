package archtest

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/token"
	"go/types"
	"os/exec"
	"slices"
	"strings"
)

// The rules on what the pure packages are written with, each with its reason.
var (
	noConcurrency = rule{
		"the core has no concurrency",
		"one event at a time is what makes a run repeatable; the host owns goroutines and channels",
	}
	noMapOrder = rule{
		"the core does not see map order",
		"Go shuffles it, so a replay would differ; range over slices.Sorted(maps.Keys(m)) instead",
	}
	noState = rule{
		"the core has no state of its own",
		"what a decision rests on is in State; a package variable is an error, a pattern or a table",
	}
)

type rule struct{ name, why string }

// Purity checks how the pure packages are written, test files aside.
func Purity(t *Tree) ([]Violation, error) {
	check := &purity{tree: t, checked: map[string]*types.Package{}, info: &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{},
		Uses:  map[*ast.Ident]types.Object{},
	}}
	for _, p := range t.Packages {
		if !matchAny(pure, p.name()) || matchAny(support, p.name()) {
			continue
		}
		if _, err := check.Import(t.Module + "/" + p.Dir); err != nil {
			return nil, err
		}
		for _, f := range p.Files {
			if !f.Test {
				check.file(f.Syntax)
			}
		}
	}
	return check.found, nil
}

type purity struct {
	tree    *Tree
	info    *types.Info
	std     types.Importer
	checked map[string]*types.Package
	found   []Violation
}

// Import type-checks one of our packages from the tree, or a standard one from its source.
func (c *purity) Import(importPath string) (*types.Package, error) {
	if done, ok := c.checked[importPath]; ok {
		return done, nil
	}
	at := slices.IndexFunc(c.tree.Packages, func(p *Package) bool {
		return p.name() == c.tree.own(importPath)
	})
	if at < 0 {
		return c.importStd(importPath)
	}
	var files []*ast.File
	for _, f := range c.tree.Packages[at].Files {
		if !f.Test {
			files = append(files, f.Syntax)
		}
	}
	config := types.Config{Importer: c}
	done, err := config.Check(importPath, c.tree.fset, files, c.info)
	if err != nil {
		return nil, fmt.Errorf("type-check %s: %w", importPath, err)
	}
	c.checked[importPath] = done
	return done, nil
}

func (c *purity) importStd(importPath string) (*types.Package, error) {
	if !match("std", importPath) {
		return nil, fmt.Errorf("import %s: not in the tree, not standard", importPath)
	}
	if c.std == nil {
		root, err := exec.Command("go", "env", "GOROOT").Output() // a test without paths in it does not know where Go is
		if err != nil {
			return nil, fmt.Errorf("ask where Go is: %w", err)
		}
		build.Default.GOROOT = strings.TrimSpace(string(root))
		build.Default.CgoEnabled = false // the pure Go variant of a package is enough for its types
		c.std = importer.ForCompiler(token.NewFileSet(), "source", nil)
	}
	return c.std.Import(importPath)
}

func (c *purity) file(f *ast.File) {
	for _, d := range f.Decls {
		if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.VAR {
			c.globals(d)
		}
	}
	sorted := map[ast.Expr]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		c.concurrency(n)
		c.mapOrder(n, sorted)
		c.writes(n)
		return true
	})
}

func (c *purity) report(n ast.Node, r rule, what string) {
	at := c.tree.fset.Position(n.Pos()).String()
	c.found = append(c.found, Violation{At: at, What: what, Rule: r.name, Why: r.why})
}

func (c *purity) concurrency(n ast.Node) {
	switch n := n.(type) {
	case *ast.GoStmt:
		c.report(n, noConcurrency, "starts a goroutine")
	case *ast.SelectStmt:
		c.report(n, noConcurrency, "selects on channels")
	case *ast.ChanType:
		c.report(n, noConcurrency, "uses a channel")
	}
}

// mapOrder reports ranging over a map, and iterators of one that are not sorted on the spot.
func (c *purity) mapOrder(n ast.Node, sorted map[ast.Expr]bool) {
	switch n := n.(type) {
	case *ast.RangeStmt:
		if _, ok := c.info.TypeOf(n.X).Underlying().(*types.Map); ok {
			c.report(n, noMapOrder, "ranges over a map")
		}
	case *ast.CallExpr:
		switch c.callee(n) {
		case "slices.Sorted", "slices.SortedFunc", "slices.SortedStableFunc", "maps.Collect":
			sorted[n.Args[0]] = true
		case "maps.All", "maps.Keys", "maps.Values":
			if !sorted[n] {
				c.report(n, noMapOrder, "takes the entries of a map unsorted")
			}
		}
	}
}

// globals reports package variables that could be anything but an error, a pattern or a table.
func (c *purity) globals(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		spec, ok := spec.(*ast.ValueSpec)
		if !ok || spec.Names[0].Name == "_" {
			continue
		}
		if len(spec.Values) == 0 {
			c.report(spec, noState, "variable "+spec.Names[0].Name+" has no fixed value")
		}
		for _, v := range spec.Values {
			if !c.fixed(v) {
				c.report(spec, noState, "variable "+spec.Names[0].Name+" is computed")
			}
		}
	}
}

func (c *purity) fixed(value ast.Expr) bool {
	switch value := value.(type) {
	case *ast.CompositeLit, *ast.BasicLit:
		return true
	case *ast.CallExpr:
		made := []string{"errors.New", "fmt.Errorf", "regexp.MustCompile", "slices.Concat"}
		return slices.Contains(made, c.callee(value))
	}
	return false
}

// writes reports changes to a package variable.
func (c *purity) writes(n ast.Node) {
	var targets []ast.Expr
	switch n := n.(type) {
	case *ast.AssignStmt:
		targets = n.Lhs
	case *ast.IncDecStmt:
		targets = []ast.Expr{n.X}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			targets = []ast.Expr{n.X}
		}
	case *ast.CallExpr:
		if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "delete" || id.Name == "clear") {
			targets = n.Args[:1]
		}
	}
	for _, target := range targets {
		if name, ok := c.global(target); ok {
			c.report(n, noState, "changes variable "+name)
		}
	}
}

// global finds the package variable at the root of an expression such as table[k].field.
func (c *purity) global(e ast.Expr) (string, bool) {
	for {
		switch x := e.(type) {
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			if c.isGlobal(x.Sel) {
				return x.Sel.Name, true // of another package
			}
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.Ident:
			return x.Name, c.isGlobal(x)
		default:
			return "", false
		}
	}
}

func (c *purity) isGlobal(id *ast.Ident) bool {
	v, ok := c.info.Uses[id].(*types.Var)
	return ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope()
}

// callee names a called package function as package.Function; "" for any other call.
func (c *purity) callee(call *ast.CallExpr) string {
	fun := call.Fun
	if index, ok := fun.(*ast.IndexExpr); ok {
		fun = index.X
	}
	selector, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	f, ok := c.info.Uses[selector.Sel].(*types.Func)
	if !ok || f.Pkg() == nil {
		return ""
	}
	return f.Pkg().Name() + "." + f.Name()
}
