package archtest

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// findBubbles finds the functions that nobody calls but from within a bubble, whose clock is exact.
func (g *timings) findBubbles(files []*ast.File) {
	inside := map[types.Object]bool{} // whether all uses of a function seen so far are in a bubble
	declared := map[types.Object]*ast.FuncDecl{}
	for _, f := range files {
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && !strings.HasPrefix(d.Name.Name, "Test") {
				declared[g.info.Defs[d.Name]] = d
			}
		}
	}
	for range deepest {
		clear(inside)
		for _, f := range files {
			g.uses(f, declared, inside)
		}
		for o, d := range declared {
			if inside[o] {
				g.bubbles[d] = true
			}
		}
	}
}

// uses goes through a file and notes of each function whether it is used outside of bubbles.
func (g *timings) uses(f *ast.File, declared map[types.Object]*ast.FuncDecl, inside map[types.Object]bool) {
	var depth []ast.Node
	bubble := map[ast.Node]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			depth = depth[:len(depth)-1]
			return true
		}
		depth = append(depth, n)
		if call, ok := n.(*ast.CallExpr); ok {
			if pkg, _ := called(call); pkg == "synctest" {
				bubble[n] = true
			}
		}
		if id, ok := n.(*ast.Ident); ok {
			if o := g.object(id); declared[o] != nil && g.info.Defs[id] == nil {
				within := slices.ContainsFunc(depth, func(n ast.Node) bool { return bubble[n] || g.bubbles[n] })
				if before, seen := inside[o]; !seen || before {
					inside[o] = within
				}
			}
		}
		return true
	})
}
