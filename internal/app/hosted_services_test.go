//go:build services

package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/identity"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/journal/postgres"
	"github.com/retinue-dev/retinue/internal/journal/postgres/postgrestest"
	"github.com/retinue-dev/retinue/internal/live"
)

// TestSharedServerIsWired makes a server for several people from settings: the local token is worth
// nothing there, and a login leads to the provider.
func TestSharedServerIsWired(t *testing.T) {
	db := postgrestest.New(t)
	provider := httptest.NewServer(nil)
	t.Cleanup(provider.Close)
	provider.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"issuer":"` + provider.URL + `","authorization_endpoint":"` + provider.URL + `/auth",` +
			`"token_endpoint":"` + provider.URL + `/token","jwks_uri":"` + provider.URL + `/keys"}`))
	})
	env := map[string]string{"OWNER": db.DSN, "DSN": db.As(postgres.Role), "OIDC": "quiet"}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	load := func(dsn string) config.Loaded {
		t.Helper()
		loaded, err := config.LoadSettings(config.Inputs{Home: t.TempDir(), Flags: []config.Flag{
			{Name: "--set", Key: "journal.dsn", Value: dsn},
			{Name: "--set", Key: "serve.url", Value: "http://localhost:7433"},
			{Name: "--set", Key: "serve.oidc.issuer", Value: provider.URL},
			{Name: "--set", Key: "serve.oidc.client_id", Value: "retinue"},
			{Name: "--set", Key: "serve.oidc.client_secret", Value: "{env:OIDC}"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return loaded
	}
	if err := Migrate(t.Context(), load("{env:OWNER}").Settings, lookup); err != nil {
		t.Fatal(err)
	}
	bus := live.NewLocal(0)
	t.Cleanup(bus.Close)
	n := &Node{options: NodeOptions{Loaded: load("{env:DSN}"), Lookup: lookup}}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	o := api.Options{
		Options: admission.Options{Authenticator: identity.Local{Tenant: LocalTenant, Token: "local"}},
		Log:     journaltest.NewMemory(), Bus: bus,
	}
	if err := n.share(t.Context(), &o); err != nil {
		t.Fatal(err)
	}
	server := api.New(o)
	t.Cleanup(server.Close)
	r := httptest.NewRequest(http.MethodGet, "/v1/me", nil)
	r.Header.Set("Authorization", "Bearer local")
	w := httptest.NewRecorder()
	if server.ServeHTTP(w, r); w.Code != http.StatusUnauthorized {
		t.Errorf("the token of a local installation: status %d", w.Code)
	}
	w = httptest.NewRecorder()
	server.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/login", nil))
	if to := w.Header().Get("Location"); w.Code != http.StatusSeeOther || !strings.HasPrefix(to, provider.URL+"/auth?") ||
		!strings.Contains(to, "redirect_uri=http%3A%2F%2Flocalhost%3A7433%2Flogin%2Fcallback") {
		t.Errorf("a login: status %d, to %s: %s", w.Code, to, w.Body)
	}
}
