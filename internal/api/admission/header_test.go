package admission_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/identity"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/live"
)

// TestHeadersOfEveryAnswer checks answers of all kinds against the hardening list, value by value.
func TestHeadersOfEveryAnswer(t *testing.T) {
	t.Parallel()
	bus := live.NewLocal(0)
	t.Cleanup(bus.Close)
	for _, secure := range []bool{false, true} {
		server := api.New(api.Options{
			Options: admission.Options{Authenticator: identity.Local{Tenant: "t", User: "ann", Token: "right"}, Secure: secure},
			Log:     journaltest.NewMemory(), Bus: bus,
		})
		t.Cleanup(server.Close)
		want := map[string]string{
			"Cache-Control": "no-store", "Content-Security-Policy": wanted, "Cross-Origin-Opener-Policy": "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin", "Referrer-Policy": "no-referrer", "Reporting-Endpoints": `csp="/csp-report"`,
			"X-Content-Type-Options": "nosniff", "X-Dns-Prefetch-Control": "off", "Strict-Transport-Security": "",
			"Permissions-Policy": "accelerometer=(), autoplay=(), camera=(), display-capture=(), " +
				"geolocation=(), gyroscope=(), magnetometer=(), microphone=(), midi=(), payment=(), usb=()",
			"Access-Control-Allow-Origin": "", "Server": "", "X-Powered-By": "",
		}
		if secure {
			want["Strict-Transport-Security"] = "max-age=63072000; includeSubDomains"
		}
		for path, status := range map[string]int{
			"/v1/me": http.StatusOK, "/v1/conversations/none": http.StatusNotFound, "/nothing": http.StatusNotFound,
			"/v1/conversations?limit=x": http.StatusUnprocessableEntity, "/login": http.StatusNotFound,
		} {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.Header.Set("Authorization", "Bearer right")
			w := httptest.NewRecorder()
			server.ServeHTTP(w, r)
			got := map[string]string{}
			for name := range want {
				got[name] = w.Header().Get(name)
			}
			if diff := cmp.Diff(want, got); diff != "" || w.Code != status || w.Header().Get("Request-Id") == "" {
				t.Errorf("%s: %d, want %d (-want +got):\n%s", path, w.Code, status, diff)
			}
		}
	}
}
