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
		"HTTP://Example.org.:80/a/%2e%2e/%61dmin?q": {
			Matters: []tool.Matter{{Forms: []string{"http://example.org.:80/a/%2e%2e/%61dmin?q", "http://example.org/admin?q"}}},
			Pattern: "http://example.org/*",
		},
		"http://[::1]:8080": {
			Matters: []tool.Matter{{Forms: []string{"http://[::1]:8080"}}}, Pattern: "http://[::1]:8080/*",
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
