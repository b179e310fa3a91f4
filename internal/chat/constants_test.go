package chat

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// wantEvery fails when a table leaves out a constant that the package declares for its type, so
// that a value added tomorrow is not forgotten in the tests of today.
func wantEvery[T ~string](t *testing.T, typeName string, listed []T) {
	t.Helper()
	got := make([]string, 0, len(listed))
	for _, v := range listed {
		got = append(got, string(v))
	}
	slices.Sort(got)
	if diff := cmp.Diff(declared(t, typeName), got); diff != "" {
		t.Errorf("the table (+) against the constants of type %s (-):\n%s", typeName, diff)
	}
}

// declared reads the values of all constants of a string type out of the package's source.
func declared(t *testing.T, typeName string) []string {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if typ, ok := spec.Type.(*ast.Ident); !ok || typ.Name != typeName {
				return true
			}
			for _, v := range spec.Values {
				if lit, ok := v.(*ast.BasicLit); ok {
					text, err := strconv.Unquote(lit.Value)
					if err != nil {
						t.Fatal(err)
					}
					values = append(values, text)
				}
			}
			return true
		})
	}
	slices.Sort(values)
	return values
}
