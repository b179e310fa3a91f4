package api_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/identity"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/live"
)

func packed(t *testing.T, text string) *fstest.MapFile {
	t.Helper()
	var b strings.Builder
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &fstest.MapFile{Data: []byte(b.String())}
}

func appServer(t *testing.T, app fstest.MapFS) func(path string, header ...string) *http.Response {
	t.Helper()
	bus := live.NewLocal(0)
	t.Cleanup(bus.Close)
	options := api.Options{
		Options: admission.Options{Authenticator: identity.Local{Tenant: "local", Token: "right"}},
		Log:     journaltest.NewMemory(), Bus: bus,
	}
	if app != nil {
		options.App = app
	}
	server := api.New(options)
	t.Cleanup(server.Close)
	return func(path string, header ...string) *http.Response {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		return w.Result()
	}
}

// TestWebappPages asks for every address that the app has, without a credential.
func TestWebappPages(t *testing.T) {
	t.Parallel()
	get := appServer(t, fstest.MapFS{
		"index.html": {Data: []byte("<!doctype html>the app")}, "theme.js": {Data: []byte("theme")},
		"assets/a-1.js": {Data: []byte("script")}, "assets/a-1.js.gz": packed(t, "script"), "secret": {Data: []byte("no")},
	})
	for _, path := range []string{
		"/", "/new", "/inbox", "/c/c1", "/c/c1/timeline?agent=main", "/c/c1/calls/x", "/roles", "/roles/coder", "/runs", "/settings",
		"/settings/keys",
	} {
		w := get(path)
		body, _ := io.ReadAll(w.Body)
		if w.StatusCode != http.StatusOK || string(body) != "<!doctype html>the app" || w.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: %d %q %q", path, w.StatusCode, body, w.Header.Get("Cache-Control"))
		}
		policy := w.Header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "script-src 'self'") || !strings.Contains(policy, "require-trusted-types-for 'script'") {
			t.Errorf("%s: policy %q", path, policy)
		}
	}
	for _, path := range []string{"/secret", "/assets/secret", "/assets/..%2fsecret", "/v1/nothing", "/index.html", "/favicon.svg"} {
		if w := get(path); w.StatusCode != http.StatusNotFound || w.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %s", path, w.StatusCode, w.Header.Get("Content-Type"))
		}
	}
	if w := get("/v1/conversations"); w.StatusCode != http.StatusUnauthorized {
		t.Errorf("data without a credential: %d", w.StatusCode)
	}
}

// TestWebappAssets asks for files whose names change with their content.
func TestWebappAssets(t *testing.T) {
	t.Parallel()
	get := appServer(t, fstest.MapFS{
		"assets/a-1.js": {Data: []byte("script")}, "assets/a-1.js.gz": packed(t, "script"), "theme.js": {Data: []byte("theme")},
	})
	plain, small := get("/assets/a-1.js"), get("/assets/a-1.js", "Accept-Encoding", "gzip, br")
	if plain.Header.Get("Content-Encoding") != "" || small.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("encodings %q and %q", plain.Header.Get("Content-Encoding"), small.Header.Get("Content-Encoding"))
	}
	for _, w := range []*http.Response{plain, small} {
		if w.StatusCode != http.StatusOK || w.Header.Get("Content-Type") != "text/javascript; charset=utf-8" ||
			!strings.Contains(w.Header.Get("Cache-Control"), "immutable") || w.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%d %v", w.StatusCode, w.Header)
		}
	}
	again := get("/theme.js", "If-None-Match", get("/theme.js").Header.Get("ETag"))
	if again.StatusCode != http.StatusNotModified {
		t.Errorf("what has not changed is sent again: %d", again.StatusCode)
	}
}

// TestWebappAbsent asks a server that was built without the app.
func TestWebappAbsent(t *testing.T) {
	t.Parallel()
	get := appServer(t, nil)
	w := get("/c/c1")
	body, _ := io.ReadAll(w.Body)
	if w.StatusCode != http.StatusNotFound || !strings.Contains(string(body), "make web engine") {
		t.Errorf("%d %s", w.StatusCode, body)
	}
	if w := get("/assets/a.js"); w.StatusCode != http.StatusNotFound {
		t.Errorf("an asset of no app: %d", w.StatusCode)
	}
}
