package host

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/tool"
)

// TestWhoWroteAResult is what the host takes each kind of result for.
func TestWhoWroteAResult(t *testing.T) {
	h := New(Options{Log: journaltest.NewMemory(), Catalog: farAway{}})
	facts := func(f tool.Facts) tool.Result { return tool.Result{End: tool.EndOK, Text: "x", Facts: f} }
	shell := tool.Definition{Name: "shell", Writes: true, Network: true}
	page := tool.Definition{Name: "web_fetch", Network: true}
	plain := tool.Definition{Name: "read_file"}
	for name, c := range map[string]struct {
		d     tool.Definition
		r     tool.Result
		about string
		want  string
	}{
		"a page":                      {d: page, r: facts(tool.Facts{Fetched: []tool.Page{{URL: "https://Example.com:8443/a?b"}}}), want: "web example.com"},
		"a page that was not there":   {d: page, r: tool.Result{End: tool.EndFailed, Facts: tool.Facts{Reached: []tool.Host{{Name: "example.com", Port: 443}}}}, want: "web example.com"},
		"a page that was not reached": {d: page, r: tool.Result{End: tool.EndFailed}, about: "https://example.com/node_modules/a"},
		"no matter who":               {d: tool.Definition{Name: "look_up", Network: true}, r: facts(tool.Facts{}), want: "web look_up"},
		"a server":                    {d: tool.Definition{Name: "mcp__tracker__list_all", Writes: true, Network: true}, r: tool.Result{End: tool.EndFailed}, want: "mcp tracker"},
		"a command":                   {d: shell, r: facts(tool.Facts{Commands: []tool.Command{{Line: "make"}}}), about: "cat ./vendor/a"},
		"a command that went out":     {d: shell, r: facts(tool.Facts{Reached: []tool.Host{{Name: "proxy.example", Port: 443}}}), want: "web proxy.example"},
		"a file":                      {d: plain, r: facts(tool.Facts{Read: []tool.File{{Path: "main.go"}}}), about: "main.go"},
		"a stranger's file":           {d: plain, r: facts(tool.Facts{Read: []tool.File{{Path: "web/node_modules/a/README.md"}}}), want: "file web/node_modules/a/README.md"},
		"a link to a stranger's file": {d: plain, r: facts(tool.Facts{Read: []tool.File{{Path: "docs/a"}}}), about: "vendor/a", want: "file vendor/a"},
		"one of many files": {
			d: tool.Definition{Name: "grep"}, r: facts(tool.Facts{Read: []tool.File{{Path: "a.go"}, {Path: "third_party/b.go"}}}), about: ".", want: "file third_party/b.go",
		},
	} {
		t.Run(name, func(t *testing.T) {
			about := tool.About{}
			if c.about != "" {
				about.Matters = []tool.Matter{{Forms: []string{c.about}}}
			}
			var got []string
			for _, s := range h.strangers(c.d, about, c.r) {
				got = append(got, string(s.Kind)+" "+s.Name)
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestTaintOfAResult records a result together with the taint that it brings to its agent.
func TestTaintOfAResult(t *testing.T) {
	h := New(Options{Log: journaltest.NewMemory()})
	run := RunRef{Agent: Root, Task: Root}
	read := agent.Taint{{Kind: agent.SourceWeb, Name: "example.com"}}
	end := h.land(t.Context(), Permit{RunRef: run, Run: agent.RunTool{Call: "1.0"}}, tool.Result{End: tool.EndOK, Text: "x"}, read, h.Now())
	want := journal.Tainted{In: run.In(), Call: "1.0", Sources: []journal.Source{{Kind: "web", Name: "example.com"}}}
	if diff := cmp.Diff(want, end.Rows[len(end.Rows)-1]); diff != "" {
		t.Errorf("the rows (-want +got):\n%s", diff)
	}
	if done, _ := end.Event.(agent.ToolDone); !slices.Equal(done.Taint, read) {
		t.Errorf("the core is told %+v", end.Event)
	}
}

// TestOwnResultsBringNothing shows that what an agent reads of itself brings no taint that it has
// not got.
func TestOwnResultsBringNothing(t *testing.T) {
	h, run := New(Options{Log: journaltest.NewMemory()}), RunRef{Ref: journal.Ref{Tenant: "t", Conversation: "c"}, Agent: Root, Task: Root}
	rows := []journal.Row{
		journal.Opened{By: "ann"},
		journal.TaskAssigned{In: run.In(), Role: "main"},
		journal.Tainted{In: run.In(), Sources: []journal.Source{{Kind: "web", Name: "example.com"}}},
	}
	if _, err := h.Log.Append(t.Context(), run.Ref, h.Now(), rows...); err != nil {
		t.Fatal(err)
	}
	if taint, err := h.below(t.Context(), run, Root); len(taint) > 0 || err != nil {
		t.Errorf("its own results: %v, %v", taint, err)
	}
	above := run
	above.Agent = "above"
	if taint, err := h.below(t.Context(), above, Root); len(taint) != 2 || err != nil {
		t.Errorf("another's results: %v, %v", taint, err)
	}
}

// farAway is a catalogue that knows only which files strangers write.
type farAway struct{ Catalog }

func (farAway) Strange(path string) bool { return config.Defaults("").Taint.Strange(path) }
