//go:build linux

package app

import (
	"net/http"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/config"
)

// TestAddressesAreBoundedWhereTheyTellApart looks at the limits of a server for one and of one for
// many.
func TestAddressesAreBoundedWhereTheyTellApart(t *testing.T) {
	loaded, err := config.LoadSettings(config.Inputs{Home: t.TempDir(), DataHome: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	s := loaded.Settings
	if l := limitsOf(s); l.AddressRate != 0 || l.AddressStreams != 0 || l.Uploads != 8 || l.TenantUploads != 2 || l.TenantSearches != 4 || tenantSlots(s) != 0 {
		t.Errorf("for one: %+v", l)
	}
	s.Serve.OIDC.Issuer = "https://id.example.org"
	if l := limitsOf(s); l.AddressRate != 2000 || l.AddressStreams != 1000 || l.Uploads != 8 || l.TenantUploads != 2 || l.TenantSearches != 4 || tenantSlots(s) != 50 {
		t.Errorf("for many: %+v", l)
	}
}

// TestReportsAreMeasured sends what a browser would, and reads the metrics.
func TestReportsAreMeasured(t *testing.T) {
	f, _ := localFront(t)
	v := newVisitor(t, f)
	answer, text := v.do(http.MethodPost, "/csp-report", `{"csp-report":{"effective-directive":"img-src"}}`,
		"Content-Type", "application/csp-report", "Authorization", "", "Origin", f.URL, "Sec-Fetch-Site", "same-origin")
	if answer.StatusCode != http.StatusNoContent {
		t.Fatalf("%s %s", answer.Status, text)
	}
	foreign, _ := v.do(http.MethodPost, "/csp-report", `{"csp-report":{"effective-directive":"img-src"}}`,
		"Content-Type", "application/csp-report", "Authorization", "", "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site")
	if foreign.StatusCode != http.StatusForbidden {
		t.Errorf("a page of elsewhere reports: %s", foreign.Status)
	}
	metrics, err := v.client.Get(f.Health + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer metrics.Body.Close() //nolint:errcheck // it is read
	var all strings.Builder
	if err := metrics.Write(&all); err != nil || !strings.Contains(all.String(), `retinue_csp_reports_total{directive="img-src"} 1`) {
		t.Errorf("not among the metrics, %v", err)
	}
}
