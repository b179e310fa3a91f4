package apitest_test

import (
	"net/http"
	"regexp"
	"testing"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/api/route"
)

// variable is a part of a path that names something.
var variable = regexp.MustCompile(`\{[^}]*\}`)

// TestTheGuardAnswersAsPromised asks every operation in the ways that are refused before it is
// looked at: for another host, twice in one, from another page, too often. The document must
// promise each answer.
func TestTheGuardAnswersAsPromised(t *testing.T) {
	t.Parallel()
	fresh := func(limits admission.Limits) *apitest.Server {
		return apitest.Start(t, func(o *api.Options) { o.Hosts, o.Limits = []string{"127.0.0.1"}, limits })
	}
	wide, narrow := fresh(admission.Limits{}), fresh(admission.Limits{AddressRate: 1e-3})
	tests := map[string]struct {
		server *apitest.Server
		change func(*http.Request)
		status int
	}{
		"another host":   {wide, func(r *http.Request) { r.Host = "evil.example" }, http.StatusMisdirectedRequest},
		"a header twice": {wide, func(r *http.Request) { r.Header["Idempotency-Key"] = []string{"a", "b"} }, http.StatusBadRequest},
		"another page":   {wide, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, http.StatusForbidden},
		"too often":      {narrow, func(*http.Request) {}, http.StatusTooManyRequests},
	}
	for name, test := range tests {
		client := test.server.Contract.Client(t)
		ask := func(route route.Way) int {
			r, err := http.NewRequestWithContext(t.Context(), route.Method, test.server.URL+variable.ReplaceAllString(route.Path, "x"), nil)
			if err != nil {
				t.Fatal(err)
			}
			test.change(r)
			response, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			if err := response.Body.Close(); err != nil { // which reads it to its end
				t.Error(err)
			}
			return response.StatusCode
		}
		ask(route.Way{Method: http.MethodGet, Path: "/openapi.json"}) // what an address may ask for
		for _, route := range test.server.API.Table().Ways() {
			if route.Operation == "" {
				continue
			}
			if status := ask(route); status != test.status {
				t.Errorf("%s: %s %s: status %d, want %d", name, route.Method, route.Path, status, test.status)
			}
		}
		if unasked := test.server.Contract.Unasked(); len(unasked) > 0 {
			t.Errorf("%s: nothing was asked of %v", name, unasked)
		}
	}
}
