package listener

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/telemetry"
)

// TestHealthSaysWhatIsAmiss opens the port for health and asks it while the engine comes and goes.
func TestHealthSaysWhatIsAmiss(t *testing.T) {
	fault, now := error(nil), time.Now()
	ready := &Readiness{
		Checks: map[string]func(context.Context) error{"engine": func(context.Context) error { return fault }},
		Now:    func() time.Time { return now },
	}
	h, err := OpenHealth(t.Context(), "127.0.0.1:0", ready, telemetry.NewMetrics(), ProfileOff)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	get := func(path string, header ...string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close() //nolint:errcheck // it is read
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(text)
	}
	expect := func(what, path string, status int, words string, header ...string) {
		t.Helper()
		if got, text := get(path, header...); got != status || !strings.Contains(text, words) {
			t.Errorf("%s: %d %s", what, got, text)
		}
	}
	expect("a server that is well", "/readyz", http.StatusOK, `"ready":true`)
	fault, now = errors.New("gone"), now.Add(time.Minute)
	expect("no engine", "/readyz", http.StatusServiceUnavailable, `"engine":"gone"`)
	expect("no engine, and alive", "/healthz", http.StatusOK, "alive")
	fault = nil
	expect("an answer holds for a while", "/readyz", http.StatusServiceUnavailable, `"engine":"gone"`)
	now = now.Add(time.Minute)
	expect("the engine is back", "/readyz", http.StatusOK, `"ready":true`)
	expect("a page", "/metrics", http.StatusForbidden, "not for pages", "Origin", "https://evil.example")
	expect("profiles that nobody asked for", "/debug/pprof/", http.StatusNotFound, "")
	ready.Close()
	expect("a server that stops", "/readyz", http.StatusServiceUnavailable, `"server":"stops"`)
	if _, err := OpenHealth(t.Context(), strings.TrimPrefix(h.URL, "http://"), ready, telemetry.NewMetrics(), ProfileOn); err == nil ||
		!strings.Contains(err.Error(), "is taken") {
		t.Errorf("a port that is taken: %v", err)
	}
}
