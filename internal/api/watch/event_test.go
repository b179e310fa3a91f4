package watch_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/identity"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/live"
)

// declared lists the event types that files declare.
func declared(t *testing.T, files ...string) (out []string) {
	t.Helper()
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			of, _ := spec.Type.(*ast.Ident)
			value, ok := spec.Values[0].(*ast.BasicLit)
			if ok && of != nil && of.Name == "EventType" {
				text, err := strconv.Unquote(value.Value)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, text)
			}
			return true
		})
	}
	return out
}

// union is the part of the document that tells events apart.
type union struct {
	OneOf []struct {
		Ref string `json:"$ref"`
	} `json:"oneOf"`
	Discriminator struct {
		Mapping map[string]string `json:"mapping"`
	} `json:"discriminator"`
}

// TestEveryTypeIsDescribed looks for each event type in the document.
func TestEveryTypeIsDescribed(t *testing.T) {
	t.Parallel()
	log := journaltest.NewMemory()
	s := api.New(api.Options{Options: admission.Options{Authenticator: identity.Local{}}, Log: log, Bus: live.NewLocal(0)})
	answer := httptest.NewRecorder()
	s.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/openapi.json", nil))
	var document struct {
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	described := map[string]bool{}
	for _, name := range []string{"StreamEvent", "ListEvent"} {
		var u union
		if err := json.Unmarshal(document.Components.Schemas[name], &u); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for kind, ref := range u.Discriminator.Mapping {
			described[kind] = true
			var schema struct {
				Properties map[string]struct{ Enum []string } `json:"properties"`
			}
			target := document.Components.Schemas[ref[len("#/components/schemas/"):]]
			if err := json.Unmarshal(target, &schema); err != nil || len(schema.Properties["type"].Enum) != 1 ||
				schema.Properties["type"].Enum[0] != kind {
				t.Errorf("%s is described by %s: %.200s %v", kind, ref, target, err)
			}
		}
		if len(u.OneOf) != len(u.Discriminator.Mapping) {
			t.Errorf("%s has %d schemas for %d types", name, len(u.OneOf), len(u.Discriminator.Mapping))
		}
	}
	for _, kind := range declared(t, "../../../wire/event.go", "../../../wire/stream.go") {
		if !described[kind] {
			t.Errorf("%s is not in the document", kind)
		}
	}
}
