package admission_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/identity"
	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/live"
)

func TestPanicsStayInside(t *testing.T) {
	var log bytes.Buffer
	statuses := map[string]int{}
	s := api.New(api.Options{
		Options: admission.Options{Authenticator: identity.Local{}, Logger: slog.New(slog.NewTextHandler(&log, nil))},
		Log:     journaltest.NewMemory(), Bus: live.NewLocal(0),
	})
	s.Table().Handle(route.Way{Access: admission.AccessPublic, Method: http.MethodGet, Path: "/before"}, admission.KindStream, func(http.ResponseWriter, *http.Request) { panic("the inside story") })
	s.Table().Handle(route.Way{Access: admission.AccessPublic, Method: http.MethodGet, Path: "/halfway"}, admission.KindStream, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("half of "))
		panic("the inside story")
	})
	server := httptest.NewServer(s)
	defer server.Close()
	for _, path := range []string{"/before", "/halfway"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := server.Client().Do(req)
		if err != nil {
			continue // cut off, as it should be once something was sent
		}
		text, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err == nil {
			statuses[path] = answer.StatusCode
		}
		if bytes.Contains(text, []byte("inside")) {
			t.Errorf("%s: %s", path, text)
		}
		if path == "/before" && (answer.Header.Get("Request-Id") == "" || !strings.Contains(log.String(), answer.Header.Get("Request-Id"))) {
			t.Errorf("nobody can find the panic: %v\n%s", answer.Header, log.String())
		}
	}
	if statuses["/before"] != http.StatusInternalServerError || statuses["/halfway"] != 0 {
		t.Errorf("%v: half an answer must not look like a whole one", statuses)
	}
}
