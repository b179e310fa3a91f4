package apitest_test

import (
	"os"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/apitest"
)

// TestDocument validates as OpenAPI 3.1, and the types of the web app have all of its operations.
func TestDocument(t *testing.T) {
	document, err := api.Document("test")
	if err != nil {
		t.Fatal(err)
	}
	contract, err := apitest.NewContract(document)
	if err != nil {
		t.Fatal(err)
	}
	types, err := os.ReadFile("../../../web/src/generated/api.ts")
	if err != nil {
		t.Fatal(err)
	}
	_, operations, _ := strings.Cut(string(types), "export interface operations {")
	for _, id := range contract.Operations() {
		if !strings.Contains(operations, "\n    "+id+": {") {
			t.Errorf("the types of the web app lack %s: run 'make generate/web'", id)
		}
	}
	t.Logf("%d operations", len(contract.Operations()))
}
