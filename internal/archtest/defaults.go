package archtest

import (
	"fmt"
	"go/ast"
	"slices"
	"strconv"
)

var noDefaults = rule{
	"nobody uses net/http's defaults",
	"its client waits for ever and its server lets others take as long as they like; make one with its bounds",
}

// unbounded is what net/http offers without bounds.
var unbounded = []string{
	"DefaultClient", "DefaultServeMux", "DefaultTransport", "Get", "Handle", "HandleFunc", "Head", "ListenAndServe",
	"ListenAndServeTLS", "Post", "PostForm", "Serve", "ServeTLS",
}

// Defaults looks for clients and servers of net/http that nobody bounded, test files aside.
func Defaults(t *Tree) []Violation {
	var found []Violation
	for _, p := range t.Packages {
		for _, f := range p.Files {
			if f.Test || !imports(f.Syntax, "net/http") {
				continue
			}
			ast.Inspect(f.Syntax, func(n ast.Node) bool {
				use, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if pkg, ok := use.X.(*ast.Ident); ok && pkg.Name == "http" && slices.Contains(unbounded, use.Sel.Name) {
					found = append(found, Violation{
						Rule: noDefaults.name, At: t.fset.Position(use.Pos()).String(),
						What: fmt.Sprintf("uses http.%s", use.Sel.Name), Why: noDefaults.why,
					})
				}
				return true
			})
		}
	}
	return found
}

func imports(f *ast.File, path string) bool {
	return slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool {
		name, err := strconv.Unquote(i.Path.Value)
		return err == nil && name == path && i.Name == nil
	})
}
