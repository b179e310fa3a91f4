package apitest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/client"
	"github.com/retinue-dev/retinue/internal/api/apitest"
)

// TestContractNotices breaks answers on purpose.
func TestContractNotices(t *testing.T) {
	s := apitest.Start(t, nil)
	c := &client.Client{BaseURL: s.URL, Key: apitest.Token, HTTP: s.Contract.Client(t)}
	me, err := c.Me(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	good, err := json.Marshal(me)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/v1/me", nil)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, kind, body, query string
		status                  int
		ok                      bool
	}{
		{"as it is", "application/json", string(good), "", 200, true},
		{"a problem", "application/problem+json", `{"type":"t","title":"t","status":401,"code":"c"}`, "", 401, true},
		{"a field more", "application/json", strings.Replace(string(good), "{", `{"more":1,`, 1), "", 200, false},
		{"a field less", "application/json", strings.Replace(string(good), `"tenant":"local",`, "", 1), "", 200, false},
		{"another type", "application/json", strings.Replace(string(good), `"local"`, "1", 1), "", 200, false},
		{"no such role", "application/json", strings.Replace(string(good), `"owner"`, `"king"`, 1), "", 200, false},
		{"another content type", "text/html", string(good), "", 200, false},
		{"another status", "application/json", string(good), "", 202, false},
		{"a parameter that is not promised", "application/json", string(good), "a=1", 200, false},
		{"no JSON", "application/json", "{", "", 200, false},
	}
	for _, test := range tests {
		asked := request.Clone(t.Context())
		asked.URL.RawQuery = test.query
		response := &http.Response{
			Request: asked, StatusCode: test.status, Header: http.Header{"Content-Type": {test.kind}},
			Body: io.NopCloser(strings.NewReader(test.body)),
		}
		var broken []error
		s.Contract.Look(response, func(err error) { broken = append(broken, err) })
		if err := response.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if (len(broken) == 0) != test.ok {
			t.Errorf("%s: %v", test.name, broken)
		}
	}
	if _, err := apitest.NewContract([]byte(`{"openapi":"3.1.0","info":{"title":"x"},"paths":{}}`)); err == nil {
		t.Error("a document without a version is taken")
	}
}
