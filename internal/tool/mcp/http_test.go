package mcp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/retinue-dev/retinue/internal/tool"
)

// recorder notes its requests.
type recorder struct {
	mu   sync.Mutex
	keys []string
}

func (d *recorder) note(r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.keys = append(d.keys, r.Header.Get("Authorization"))
}

func bearer() map[string]Text {
	return map[string]Text{"Authorization": {Reference: "Bearer {env:TOKEN}", Reveal: func() (string, []string, error) {
		return "Bearer canary-4242", []string{"canary-4242"}, nil
	}}}
}

func TestOverHTTP(t *testing.T) {
	seen := &recorder{}
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return honest() }, nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.note(r)
		handler.ServeHTTP(w, r)
	}))
	defer server.Close()
	f := newField(t, Entry{Name: "s", Scope: "user", URL: server.URL, Headers: bearer()})
	f.approve(t)
	set := f.set(t)
	r := call(t.Context(), t, set, "echo", "hello canary-4242")
	if len(r.Facts.Reached) != 1 || server.URL != fmt.Sprintf("http://%s:%d", r.Facts.Reached[0].Name, r.Facts.Reached[0].Port) ||
		r.Facts.Reached[0].Sent == 0 || r.Facts.Reached[0].Received == 0 {
		t.Errorf("reached %+v", r.Facts.Reached)
	}
	r.Facts.Reached = nil
	want(t, r, tool.EndOK, "hello [secret]")
	for _, key := range seen.keys {
		if key != "Bearer canary-4242" {
			t.Errorf("asked with %q", key)
		}
	}
	f.Close()
}

func TestSecretsStayWithTheirServer(t *testing.T) {
	seen := &recorder{}
	stranger := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen.note(r) }))
	defer stranger.Close()
	server := httptest.NewServer(http.RedirectHandler(stranger.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	f := newField(t, Entry{Name: "s", Scope: "user", URL: server.URL, Headers: bearer()})
	_, err := f.Look(t.Context(), "s")
	if err == nil || !strings.Contains(err.Error(), "no rule allows") || strings.Contains(err.Error(), "canary") {
		t.Errorf("a redirect elsewhere: %v", err)
	}
	if len(seen.keys) > 0 {
		t.Errorf("the stranger was asked with %q", seen.keys)
	}
}

// loopback resolves every name to this machine.
type loopback struct{}

// LookupNetIP implements egress.Resolver.
func (loopback) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

func TestANameDoesNotLeadToThisMachine(t *testing.T) {
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer server.Close()
	f := newField(t)
	f.options.Resolver = loopback{}
	_, port, _ := strings.Cut(server.Listener.Addr().String(), ":")
	f.Use([]Entry{{Name: "s", Scope: "user", URL: "http://rebound.example:" + port}})
	if _, err := f.Look(t.Context(), "s"); err == nil || asked {
		t.Errorf("asked %v, %v", asked, err)
	}
	// The machine itself may be named.
	f.Use([]Entry{{Name: "s", Scope: "user", URL: "http://localhost:" + port}})
	if _, err := f.Look(t.Context(), "s"); err == nil || !asked {
		t.Errorf("asked %v, %v", asked, err)
	}
}

func TestAnswersAreBounded(t *testing.T) {
	for name, kind := range map[string]string{"answer": "application/json", "stream": "text/event-stream"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent := 0
			var mu sync.Mutex
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", kind)
				if kind == "text/event-stream" {
					_, _ = io.WriteString(w, "data: ")
				}
				for r.Context().Err() == nil {
					n, err := w.Write(make([]byte, 1<<20))
					mu.Lock()
					sent += n
					mu.Unlock()
					if err != nil {
						return
					}
				}
			}))
			defer server.Close()
			f := newField(t, Entry{Name: "s", Scope: "user", URL: server.URL})
			if _, err := f.Look(t.Context(), "s"); err == nil {
				t.Error("an answer without end is one")
			}
			mu.Lock()
			defer mu.Unlock()
			if sent > 8*largestMessage {
				t.Errorf("%d MiB were taken", sent>>20)
			}
		})
	}
}
