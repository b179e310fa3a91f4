package app

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
)

// TestWebhookAddresses asks for addresses that webhooks must not be sent to, at the door and at the
// gate.
func TestWebhookAddresses(t *testing.T) {
	asked := 0
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer receiver.Close()
	for _, local := range [][]string{nil, {strings.TrimPrefix(receiver.URL, "http://")}} {
		n := &Node{Log: journaltest.NewMemory(), options: NodeOptions{Logger: slog.New(slog.DiscardHandler), Loaded: config.Loaded{
			Settings: config.Settings{DataDir: t.TempDir(), Webhooks: config.Webhooks{Local: local}},
		}}}
		h, err := n.openHooks(t.Context(), "test")
		if err != nil {
			t.Fatal(err)
		}
		for address, want := range map[string]chat.Code{
			"https://example.com/hook": "", "https://example.com:8443/hook": "", "https://8.8.8.8/hook": "",
			"http://example.com/hook": chat.CodeInvalid, "https://example.com:22/": chat.CodeInvalid, "ftp://example.com/": chat.CodeInvalid,
			"https://user@example.com/": chat.CodeInvalid, "hook": chat.CodeInvalid, "https:///hook": chat.CodeInvalid,
			"https://127.0.0.1/": chat.CodeDenied, "https://[::1]/": chat.CodeDenied, "http://169.254.169.254/latest": chat.CodeDenied,
			"https://10.0.0.7/": chat.CodeDenied, "https://[::ffff:127.0.0.1]/": chat.CodeDenied,
		} {
			err := h.Allowed(address)
			if got := chat.CodeOf(err); (err == nil) != (want == "") || err != nil && got != want {
				t.Errorf("%s: %v, want %q", address, err, want)
			}
		}
		allowed := h.Allowed(receiver.URL+"/x") == nil
		answer, err := h.gate.Client().Post(receiver.URL+"/x", "application/json", strings.NewReader("{}"))
		if err == nil {
			_ = answer.Body.Close()
		}
		if allowed != (local != nil) || (err == nil) != (local != nil) {
			t.Errorf("with %v: allowed %t, %v", local, allowed, err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
	if asked != 1 {
		t.Errorf("%d requests came through, want 1", asked)
	}
}
