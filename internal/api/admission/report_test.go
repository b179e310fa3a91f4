package admission_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/identity"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/live"
)

// wanted is the policy of reliability 5.1, word by word, and where breaches of it are told.
const wanted = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; font-src 'self'; connect-src 'self'; " +
	"frame-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'; " +
	"trusted-types 'none'; report-uri /csp-report; report-to csp"

// reportServer is a server that browsers report to.
type reportServer struct {
	*api.Server
	now    time.Time
	log    bytes.Buffer
	counts map[string]int
}

func newReported(t *testing.T) *reportServer {
	t.Helper()
	bus := live.NewLocal(0)
	t.Cleanup(bus.Close)
	d := &reportServer{now: time.Unix(1_900_000_000, 0), counts: map[string]int{}}
	d.Server = api.New(api.Options{
		Options: admission.Options{
			Authenticator: identity.Local{Tenant: "local", Token: "right"}, Logger: slog.New(slog.NewTextHandler(&d.log, nil)),
			Now: func() time.Time { return d.now }, Reported: func(directive string) { d.counts[directive]++ },
		},
		Log: journaltest.NewMemory(), Bus: bus,
	})
	t.Cleanup(d.Close)
	return d
}

func (d *reportServer) report(kind, from, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/csp-report", strings.NewReader(body))
	r.RemoteAddr = from + ":1"
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w
}

const (
	older = "application/csp-report"
	newer = "application/reports+json"
)

// TestReportsAreCounted sends reports as browsers do, full of things that must not be written down.
func TestReportsAreCounted(t *testing.T) {
	t.Parallel()
	d := newReported(t)
	if got := d.report("", "192.0.2.1", `{}`).Header(); got.Get("Content-Security-Policy") != wanted || got.Get("Reporting-Endpoints") != `csp="/csp-report"` {
		t.Errorf("the policy is %s, told to %s", got.Get("Content-Security-Policy"), got.Get("Reporting-Endpoints"))
	}
	for _, c := range []struct{ kind, body string }{
		{older, `{"csp-report":{"effective-directive":"img-src","blocked-uri":"https://evil.example/?canary"}}`},
		{older, `{"csp-report":{"violated-directive":"script-src 'self'","source-file":"canary","script-sample":"canary"}}`},
		{older, `{"csp-report":{"effective-directive":"canary level=ERROR"}}`},
		{newer + "; charset=utf-8", `[{"type":"csp-violation","body":{"effectiveDirective":"img-src","blockedURL":"canary"}},
			{"type":"deprecation","body":{"id":"canary"}},
			{"type":"csp-violation","body":{"effectiveDirective":"require-trusted-types-for","sample":"canary"}}]`},
	} {
		if w := d.report(c.kind, "192.0.2.1", c.body); w.Code != http.StatusNoContent || w.Body.Len() > 0 {
			t.Errorf("%s is answered %d: %s", c.body, w.Code, w.Body)
		}
	}
	want := map[string]int{"img-src": 2, "script-src": 1, "other": 1, "require-trusted-types-for": 1}
	if diff := cmp.Diff(want, d.counts); diff != "" {
		t.Error(diff)
	}
	if log := d.log.String(); strings.Contains(log, "canary") || strings.Count(log, "\n") != 4 ||
		!strings.Contains(log, "directive=img-src count=1") {
		t.Errorf("logged:\n%s", log)
	}
	d.log.Reset()
	d.now = d.now.Add(2 * time.Minute)
	d.report(older, "192.0.2.1", `{"csp-report":{"effective-directive":"img-src"}}`)
	if log := d.log.String(); !strings.Contains(log, "directive=img-src count=2") {
		t.Errorf("what was not logged is not told of later: %s", log)
	}
}

// TestReportsAreBounded sends what is no report, too much of it, and too often.
func TestReportsAreBounded(t *testing.T) {
	t.Parallel()
	d := newReported(t)
	for what, c := range map[string]struct {
		kind, body string
		want       int
	}{
		"too large":     {older, `{"csp-report":{"blocked-uri":"` + strings.Repeat("a", 16<<10) + `"}}`, http.StatusRequestEntityTooLarge},
		"another kind":  {"application/json", `{}`, http.StatusUnsupportedMediaType},
		"no kind":       {"", `{}`, http.StatusUnsupportedMediaType},
		"no JSON":       {older, `img-src`, http.StatusBadRequest},
		"another shape": {older, `[]`, http.StatusBadRequest},
		"no list":       {newer, `{}`, http.StatusBadRequest},
		"deep":          {newer, strings.Repeat("[", 70) + strings.Repeat("]", 70), http.StatusBadRequest},
	} {
		if w := d.report(c.kind, "192.0.2.1", c.body); w.Code != c.want {
			t.Errorf("%s: %d, want %d: %s", what, w.Code, c.want, w.Body)
		}
	}
	if len(d.counts) > 0 || d.log.Len() > 0 {
		t.Errorf("refused reports are counted: %v %s", d.counts, d.log.String())
	}
	d.report(newer, "192.0.2.3", "["+strings.Repeat(`{"type":"csp-violation"},`, 400)+`{}]`)
	if d.counts["other"] != 50 {
		t.Errorf("%d of one request are counted", d.counts["other"])
	}
	taken, refused := 0, 0
	for range 40 {
		switch w := d.report(older, "192.0.2.2", `{}`); {
		case w.Code == http.StatusNoContent:
			taken++
		case w.Code == http.StatusTooManyRequests && w.Header().Get("Retry-After") != "":
			refused++
		}
	}
	if taken != 20 || refused != 20 {
		t.Errorf("%d of one address are taken, %d refused", taken, refused)
	}
	for i := range 400 {
		if w := d.report(older, fmt.Sprintf("198.51.%d.%d", i/200, i%200), `{}`); w.Code == http.StatusNoContent {
			taken++
		}
	}
	const before = 5 + 1 // which were no reports but said so, and the long list
	if taken != 200-before {
		t.Errorf("%d of all addresses are taken", taken)
	}
}
