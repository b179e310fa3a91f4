package toolbox

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/secret"
	"github.com/retinue-dev/retinue/internal/tool"
)

// TestNoPageIsAskedForWithASecret fetches pages of a server of its own whose addresses hold what
// the process keeps secret, what the settings list, and what a file of the workspace holds, each
// plain and encoded.
func TestNoPageIsAskedForWithASecret(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	site := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.RequestURI)
	}))
	defer site.Close()
	loaded := settings(t, "canaries: {values: [LISTED-0123456]}\nweb: {local: ['"+strings.TrimPrefix(site.URL, "http://")+"']}\n")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".env"), []byte("PAYMENT_KEY=pay-me-9911\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	where := func(host.Workspace) string { return dir }
	vault := secret.New([]string{"MODEL_KEY=sk-hidden-4455"})
	servers := noServers(t)
	servers.loaded, servers.vault = loaded, vault
	shop := newSets(where, NewWorktrees(where, t.TempDir()), NewSandboxes(loaded.Settings.Sandbox), servers, vault)
	var err error
	if shop.pages, err = Pages(loaded.Settings.Web, func(string) (string, bool) { return "", false }); err != nil {
		t.Fatal(err)
	}
	set, err := shop.Tools(here, "")
	if err != nil {
		t.Fatal(err)
	}
	fetch := func(path string) tool.Result {
		args, err := json.Marshal(map[string]string{"url": site.URL + path})
		if err != nil {
			t.Fatal(err)
		}
		r, err := set.Run(t.Context(), tool.Call{ID: "1", Tool: "web_fetch", Args: args})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for value, what := range map[string]string{
		"LISTED-0123456": "a canary of the settings", "pay-me-9911": "a value of .env", "sk-hidden-4455": "the secret MODEL_KEY",
	} {
		for _, path := range []string{"/" + value, "/?d=" + strings.ToLower(value), "/?d=" + base64.URLEncoding.EncodeToString([]byte("k="+value))} {
			r := fetch(path)
			if !strings.Contains(r.Text, "its arguments hold "+what) || strings.Contains(strings.ToLower(r.Text), strings.ToLower(value)) {
				t.Errorf("%s: %s", path, r.Text)
			}
		}
	}
	if r := fetch("/harmless"); r.End != tool.EndOK && !strings.Contains(r.Text, "harmless") {
		t.Errorf("a harmless page: %s", r.Text)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(asked) != 1 || asked[0] != "/harmless" {
		t.Errorf("the server was asked for %v", asked)
	}
}
