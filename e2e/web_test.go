//go:build services

package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/tool"
)

const webModel = `
name: web
rules:
  - {name: send, when: {role: main, turn: 0}, reply: {calls: [{tool: spawn_agents, args: {tasks: [{role: researcher, task: 'Read the page.'}]}}]}}
  - {name: fetch, when: {role: researcher, turn: 0}, reply: {calls: [{tool: web_fetch, args: {url: 'SITE/page'}}]}}
  - {name: follow, when: {role: researcher, turn: 1, result: 'a canary \*\*sings'}, reply: {calls: [{tool: WebFetch, args: {url: 'SITE/metadata', prompt: 'What?'}}]}}
  - {name: report, when: {role: researcher, turn: 2, result: '169\.254\.169\.254 leads to .*, which is not public'}, reply: {calls: [{tool: submit_result, args: {summary: 'It sings.'}}]}}
  - {name: answer, when: {role: main, turn: 1, result: 'It sings'}, reply: {text: 'A canary sings.'}}
`

// TestWeb has a sub-agent read a page of a server on this machine, which the settings allow. A redirect
// from there to a metadata service is refused, and the model reads why.
func TestWeb(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<p>a canary <b>sings</b></p>")
	})
	mux.Handle("/metadata", http.RedirectHandler("http://169.254.169.254/latest/meta-data/", http.StatusFound))
	site := httptest.NewServer(mux)
	t.Cleanup(site.Close)
	s := newScenario(t, "web", strings.ReplaceAll(webModel, "SITE", site.URL))
	s.settings = "web: {local: ['" + strings.TrimPrefix(site.URL, "http://") + "']}\npermissions: {allow: ['web_fetch(" + site.URL + "/*)']}\n"
	for _, on := range stacks(t, sqliteStack) {
		for legs := range 2 {
			st := newStage(t, s, on, legs)
			for _, line := range []string{"open", "say m1: Read it", "wait turn 1"} {
				st.do(t, line)
			}
			entries := st.settle(t)
			st.check(t, entries)
			var got []tool.Page
			var failed []string
			for _, e := range entries {
				r, ok := e.Row.(journal.Resulted)
				if !ok || r.Agent != "main/1.0.0" {
					continue
				}
				if r.Status == journal.CallFailed {
					failed = append(failed, st.normal(r.Text))
				}
				var facts tool.Facts
				if err := json.Unmarshal(r.Facts, &facts); len(r.Facts) > 0 && err != nil {
					t.Fatal(err)
				}
				got = append(got, facts.Fetched...)
			}
			if len(got) != 1 || got[0].URL != site.URL+"/page" || got[0].Status != http.StatusOK || len(got[0].Hash) != 64 {
				t.Errorf("the journal has these pages: %+v", got)
			}
			want := []string{"http://169.254.169.254/latest/meta-data/ cannot be read: 169.254.169.254 leads to 169.254.169.254, which is not public"}
			if diff := cmp.Diff(want, failed); diff != "" {
				t.Error(diff)
			}
		}
	}
}
