package archtest

import (
	"go/ast"
	"go/types"
	"slices"
)

// declarations notes the values that names are declared with, and the parameters of functions.
func (g *timings) declarations(f *ast.File) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if i < len(n.Values) {
					g.declared[name.Name] = append(g.declared[name.Name], n.Values[i])
				}
			}
		case *ast.FuncDecl:
			g.params[g.info.Defs[n.Name]] = n.Type
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				name, ok := left.(*ast.Ident)
				if !ok || i >= len(n.Rhs) {
					continue
				}
				if lit, ok := n.Rhs[i].(*ast.FuncLit); ok && g.info.Defs[name] != nil {
					g.params[g.info.Defs[name]] = lit.Type
				}
			}
		}
		return true
	})
}

// read goes through a file once.
func (g *timings) read(f *ast.File) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			g.assign(n.Lhs, n.Rhs)
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if i < len(n.Values) && g.timing(n.Values[i]) {
					g.learn(g.info.Defs[name])
				}
			}
		case *ast.SendStmt:
			if g.timing(n.Value) {
				g.learnPlace(n.Chan)
			}
		case *ast.RangeStmt:
			if n.Value != nil && g.timing(n.X) {
				g.learnPlace(n.Value)
			}
		case *ast.CompositeLit:
			g.literal(n)
		case *ast.CallExpr:
			g.arguments(n)
		case *ast.FuncDecl:
			if n.Body != nil {
				for _, i := range g.returned(n.Type, n.Body) {
					g.learnResult(g.info.Defs[n.Name], i)
				}
			}
		}
		return true
	})
}

func (g *timings) learn(o types.Object) {
	if o == nil || g.known[o] {
		return
	}
	g.known[o], g.learnt = true, true
	if v, ok := o.(*types.Var); ok && v.IsField() {
		g.fields[o.Name()] = true
	}
}

// learnPlace notes that a time is put into a variable, a field, or what either holds.
func (g *timings) learnPlace(e ast.Expr) {
	switch e := e.(type) {
	case *ast.Ident:
		g.learn(g.object(e))
	case *ast.SelectorExpr:
		if s := g.info.Selections[e]; s != nil {
			g.learn(s.Obj())
		}
	case *ast.IndexExpr:
		g.learnPlace(e.X)
	case *ast.StarExpr:
		g.learnPlace(e.X)
	case *ast.ParenExpr:
		g.learnPlace(e.X)
	}
}

func (g *timings) assign(left, right []ast.Expr) {
	if len(right) == 1 && len(left) > 1 {
		if call, ok := right[0].(*ast.CallExpr); ok {
			for i, place := range left {
				if g.results[g.callee(call)][i] {
					g.learnPlace(place)
				}
			}
		}
		return
	}
	for i, place := range left {
		if g.timing(right[i]) {
			g.learnPlace(place)
		}
	}
}

func (g *timings) learnResult(f types.Object, i int) {
	if f == nil || g.results[f][i] {
		return
	}
	if g.results[f] == nil {
		g.results[f] = map[int]bool{}
	}
	g.results[f][i], g.learnt = true, true
}

// returned lists which results of a function are times: those it returns, and those with a name.
func (g *timings) returned(of *ast.FuncType, body *ast.BlockStmt) []int {
	var out []int
	if of.Results == nil {
		return nil
	}
	n := 0
	for _, field := range of.Results.List {
		for _, name := range field.Names {
			if g.known[g.info.Defs[name]] {
				out = append(out, n)
			}
			n++
		}
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			for i, e := range n.Results {
				if g.timing(e) {
					out = append(out, i)
				}
			}
		}
		return true
	})
	return out
}

// literal notes the fields that a literal puts times into.
func (g *timings) literal(n *ast.CompositeLit) {
	of := g.structure(n)
	for i, e := range n.Elts {
		pair, keyed := e.(*ast.KeyValueExpr)
		switch {
		case keyed && g.timing(pair.Value):
			if key, ok := pair.Key.(*ast.Ident); ok && of != nil {
				g.learn(g.object(key))
			}
		case !keyed && of != nil && i < of.NumFields() && g.timing(e):
			g.learn(of.Field(i))
		}
	}
}

// arguments notes the parameters that a call hands times to.
func (g *timings) arguments(call *ast.CallExpr) {
	if _, name := called(call); name == "Getrusage" {
		for _, arg := range call.Args {
			if filled, ok := arg.(*ast.UnaryExpr); ok {
				g.learnPlace(filled.X)
			}
		}
	}
	of := g.params[g.callee(call)]
	if of == nil {
		return
	}
	n := 0
	for _, field := range of.Params.List {
		_, variadic := field.Type.(*ast.Ellipsis)
		for _, name := range field.Names {
			last := n + 1
			if variadic {
				last = len(call.Args)
			}
			if n < len(call.Args) && slices.ContainsFunc(call.Args[n:min(last, len(call.Args))], g.timing) {
				g.learn(g.info.Defs[name])
			}
			n++
		}
	}
}
