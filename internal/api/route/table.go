package route

import (
	"net/http"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/retinue-dev/retinue/internal/api/admission"
)

// Table is all routes of a server, and the document that describes them.
type Table struct {
	guard *admission.Guard
	mux   *http.ServeMux
	huma  huma.API
	ways  []Way
	// operations are the names of routes by their patterns.
	operations map[string]string
}

// New makes a table without routes. Version is the program's, for the document.
func New(version string, guard *admission.Guard) *Table {
	ownProblems()
	t := &Table{guard: guard, mux: http.NewServeMux(), operations: map[string]string{}}
	t.huma = humago.New(t.mux, documentConfig(version))
	return t
}

// ServeHTTP implements http.Handler.
func (t *Table) ServeHTTP(w http.ResponseWriter, r *http.Request) { t.mux.ServeHTTP(w, r) }

// Operation names what a pattern of the router belongs to.
func (t *Table) Operation(pattern string) string {
	if name, ok := t.operations[pattern]; ok {
		return name
	}
	return "none"
}

// Document describes the routes that there are so far (OpenAPI 3.1).
func (t *Table) Document() ([]byte, error) { return t.huma.OpenAPI().MarshalJSON() }

// Schemas are those of the document.
func (t *Table) Schemas() huma.Registry { return t.huma.OpenAPI().Components.Schemas }

// documentConfig says how requests are read and what the document says of all routes.
func documentConfig(version string) huma.Config {
	config := huma.DefaultConfig("Retinue", version)
	config.Info.Description = "One chat, many agents, nothing lost. Commands write to conversations; everything else about them is read."
	config.CreateHooks = nil // they would add $schema to every answer
	config.DocsPath, config.SchemasPath, config.OpenAPIPath = "", "", ""
	config.RejectUnknownQueryParameters = true
	config.Formats = map[string]huma.Format{"application/json": admission.JSON, "json": admission.JSON}
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"key":     {Type: "http", Scheme: "bearer", Description: "An API key, or the token of a local installation."},
		"session": {Type: "apiKey", In: "cookie", Name: admission.SessionCookie, Description: "Set by the login."},
	}
	return config
}

// ownProblems lets huma make problems of ours and know names by their case. It has one maker of
// errors for the whole process.
var ownProblems = sync.OnceFunc(func() {
	huma.ValidateStrictCasing = true
	huma.NewError = admission.Found
	huma.DefaultArrayNullable = false // lists are empty, never null
})
