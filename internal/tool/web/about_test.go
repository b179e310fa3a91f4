package web

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/tool"
)

func TestRulesKnowAPageByItsAddress(t *testing.T) {
	for address, want := range map[string]tool.About{
		"https://User:pw@Example.org/A?b#c": {
			Matters: []tool.Matter{{Forms: []string{"https://example.org/A?b"}}}, Pattern: "https://example.org/*",
		},
		"nonsense": {Matters: []tool.Matter{{Forms: []string{"nonsense"}, Hidden: true}}},
	} {
		args, err := json.Marshal(map[string]string{"url": address})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, webFetch{}.About(tool.Call{Tool: "web_fetch", Args: args})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", address, diff)
		}
	}
}
