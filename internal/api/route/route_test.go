package route_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/identity"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/live"
)

// public are the routes that ask for no credential, each with why.
var public = map[string]string{
	"GET /openapi.json":   "it describes the others and holds nothing of anybody's",
	"GET /login":          "who logs in has no credential yet",
	"GET /login/callback": "the same, on the way back",
	"POST /login/link":    "the code of a link is the credential",
	"POST /csp-report":    "browsers send it, and nothing but a count comes of it",
	" /":                  "it says that there is nothing here",
	"GET /{$}":            "the web app's page, the same for everybody; what it shows is asked for with a credential",
	"GET /new":            "the same", "GET /inbox": "the same", "GET /c/{rest...}": "the same", "GET /roles": "the same",
	"GET /roles/{rest...}": "the same", "GET /runs": "the same", "GET /settings": "the same", "GET /settings/{rest...}": "the same",
	"GET /assets/{file}": "the app's scripts and styles", "GET /theme.js": "the same", "GET /favicon.svg": "the same",
}

// TestRouteAccess asks every route who may use it, and whether it says so in the document.
func TestRouteAccess(t *testing.T) {
	t.Parallel()
	bus := live.NewLocal(0)
	t.Cleanup(bus.Close)
	server := api.New(api.Options{
		Options: admission.Options{Authenticator: identity.Local{Tenant: "local", Token: "right"}},
		Log:     journaltest.NewMemory(), Bus: bus,
	})
	t.Cleanup(server.Close)
	var described []string
	for _, r := range server.Table().Ways() {
		name := r.Method + " " + r.Path
		_, known := public[name]
		switch {
		case r.Access.Public && !known:
			t.Errorf("%s asks for no credential; if it must not, say why in this test", name)
		case !r.Access.Public && (r.Access.Scope == "" || r.Access.Least.Rank() == 0):
			t.Errorf("%s is for nobody: register it with an access", name)
		}
		if r.Operation != "" {
			described = append(described, strings.ToLower(r.Method)+" "+r.Path)
		}
		if r.Access.Public {
			continue
		}
		w := httptest.NewRecorder()
		server.ServeHTTP(w, httptest.NewRequest(r.Method, strings.NewReplacer("{", "", "}", "").Replace(r.Path), nil))
		if w.Code != http.StatusUnauthorized {
			t.Errorf("%s without a credential: status %d", name, w.Code)
		}
	}
	w := httptest.NewRecorder()
	server.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/openapi.json", nil))
	var document struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	var listed []string
	for path, methods := range document.Paths {
		for method := range methods {
			listed = append(listed, method+" "+path)
		}
	}
	slices.Sort(listed)
	slices.Sort(described)
	if diff := cmp.Diff(described, listed); diff != "" {
		t.Errorf("operations of the document (+) against the routes (-):\n%s", diff)
	}
}

// wayIn reports a call that adds a route past Add and Handle.
func wayIn(file *ast.File) (found []string) {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if ok && (f.Name.Name == "Add" || f.Name.Name == "Handle") {
			continue
		}
		ast.Inspect(d, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			selector, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			name := selector.Sel.Name
			of := ""
			switch x := selector.X.(type) {
			case *ast.Ident:
				of = x.Name
			case *ast.SelectorExpr:
				of = x.Sel.Name
			}
			adds := of == "huma" && (name == "Register" || name == "Get" || name == "Post" || name == "Put" || name == "Patch" || name == "Delete" || name == "AutoRegister")
			if adds || of == "sse" || (of == "mux" && strings.HasPrefix(name, "Handle")) {
				found = append(found, of+"."+name)
			}
			return true
		})
	}
	return found
}

// TestRouteHasOneWayIn reads the code of the server: nothing adds a route but what also takes an
// access.
func TestRouteHasOneWayIn(t *testing.T) {
	t.Parallel()
	files := token.NewFileSet()
	outer, err := filepath.Glob("../*.go")
	if err != nil || len(outer) == 0 {
		t.Fatal(outer, err)
	}
	rooms, err := filepath.Glob("../*/*.go")
	if err != nil || len(rooms) == 0 {
		t.Fatal(rooms, err)
	}
	for _, name := range slices.Concat(outer, rooms) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if found := wayIn(file); len(found) > 0 {
			t.Errorf("%s adds routes with %v: use route.Add or Table.Handle", name, found)
		}
	}
	for _, code := range []string{
		`package p; func f(s *Server) { s.mux.HandleFunc("GET /x", nil) }`,
		`package p; func f(s *Server) { s.mux.Handle("GET /x", nil) }`,
		`package p; func f(s *Server) { huma.Register(s.huma, op, nil) }`,
		`package p; func f(s *Server) { huma.Get(s.huma, "/x", nil) }`,
	} {
		file, err := parser.ParseFile(files, "x.go", code, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(wayIn(file)) == 0 {
			t.Errorf("not noticed: %s", code)
		}
	}
}
