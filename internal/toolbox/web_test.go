package toolbox

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/secret"
	"github.com/retinue-dev/retinue/internal/tool"
)

// readPages makes the tools of settings as a worker does.
func readPages(t *testing.T, text string, environ map[string]string) *tool.Set {
	t.Helper()
	loaded := settings(t, text)
	nowhere := func(host.Workspace) string { return "" }
	shop := newSets(nowhere, NewWorktrees(nowhere, t.TempDir()), NewSandboxes(loaded.Settings.Sandbox), noServers(t), secret.New(nil))
	var err error
	shop.pages, err = Pages(loaded.Settings.Web, func(name string) (string, bool) {
		value, ok := environ[name]
		return value, ok
	})
	if err != nil {
		t.Fatal(err)
	}
	set, err := shop.Tools(host.Workspace{}, "")
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func offered(set *tool.Set) (names []string) {
	for _, d := range set.Definitions([]string{"*"}) {
		names = append(names, d.Name)
	}
	return names
}

func use(t *testing.T, set *tool.Set, name string, args map[string]any) tool.Result {
	t.Helper()
	body, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	r, err := set.Run(t.Context(), tool.Call{ID: "1.0", Tool: name, Args: body})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSettingsSayWhichPagesAreRead(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "what it says")
	})
	mux.Handle("/moved", http.RedirectHandler("/page", http.StatusFound))
	mux.Handle("/metadata", http.RedirectHandler("http://169.254.169.254/latest/", http.StatusFound))
	site := httptest.NewServer(mux)
	defer site.Close()
	at := strings.TrimPrefix(site.URL, "http://")
	for _, c := range []struct{ name, settings, path, want string }{
		{"local", "web: {local: ['" + at + "']}", "/page", "what it says"},
		{"redirect", "web: {local: ['" + at + "']}", "/moved", "what it says"},
		{"redirect inside", "web: {local: ['" + at + "']}", "/metadata", "redirects to http://169.254.169.254/latest/, which is another site"},
		{"public only", "", "/page", "no rule allows GET to 127.0.0.1"},
		{"port named", "web: {hosts: ['" + at + "']}", "/page", "127.0.0.1 leads to 127.0.0.1, which is not public"},
		{"other host", "web: {hosts: [docs.example]}", "/page", "no rule allows GET to 127.0.0.1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := use(t, readPages(t, c.settings, nil), "web_fetch", map[string]any{"url": site.URL + c.path})
			if !strings.Contains(r.Text, c.want) || (r.End == tool.EndOK) != (c.want == "what it says") {
				t.Errorf("%s %s", r.End, r.Text)
			}
		})
	}
	if got := offered(readPages(t, "web: {hosts: []}", nil)); got != nil {
		t.Errorf("with no hosts, %v are offered", got)
	}
}

func TestSearchIsOfferedWithAKey(t *testing.T) {
	var authority string
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		authority = r.Method + " " + r.URL.Path + " " + r.Header.Get("Authorization")
		_, _ = io.WriteString(w, `{"results":[{"title":"Found","url":"https://a.example/"}]}`)
	}))
	defer engine.Close()
	settings := "web: {search: {base_url: '" + engine.URL + "'}}"
	if diff := cmp.Diff([]string{"web_fetch"}, offered(readPages(t, settings, nil))); diff != "" {
		t.Error(diff)
	}
	set := readPages(t, settings, map[string]string{"TAVILY_API_KEY": "tvly-1"})
	if diff := cmp.Diff([]string{"web_fetch", "web_search"}, offered(set)); diff != "" {
		t.Error(diff)
	}
	r := use(t, set, "web_search", map[string]any{"query": "needle"})
	if r.Text != "1. Found\n   https://a.example/\n" || authority != "POST /search Bearer tvly-1" {
		t.Errorf("%s, asked with %s", r.Text, authority)
	}
	// The search engine is not open to web_fetch.
	if r := use(t, set, "web_fetch", map[string]any{"url": engine.URL}); r.End != tool.EndFailed {
		t.Errorf("%s %s", r.End, r.Text)
	}
}
