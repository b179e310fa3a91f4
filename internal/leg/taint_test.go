package leg

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/tool"
)

// reader is a leg of an orchestrator whose journal has these rows.
func reader(t *testing.T, rows ...journal.Row) *leg {
	t.Helper()
	whose := Whose{Place: journal.Place{Tenant: "t", Conversation: "c"}, Agent: Root, Task: Root}
	l := NewHost(Options{Log: journaltest.NewMemory(), Catalog: rules{}}).newLeg(Input{Whose: whose})
	rows = append([]journal.Row{journal.Opened{By: "ann"}, journal.Assigned{In: whose.in(), Role: "main"}}, rows...)
	if _, err := l.Log.Append(t.Context(), whose.Place, l.Now(), rows...); err != nil {
		t.Fatal(err)
	}
	return l
}

// readIn is what rows say of an agent.
func readIn(rows []journal.Row, id string) (out []journal.Source) {
	for _, row := range rows {
		if r, ok := row.(journal.Tainted); ok && r.Agent == id {
			out = append(out, r.Sources...)
		}
	}
	return out
}

var (
	web    = journal.Source{Kind: "web", Name: "example.com"}
	kid    = journal.In{Agent: "main/1.0.0", Task: "main/1.0.0"}
	read   = agent.Taint{{Kind: agent.SourceWeb, Name: "example.com"}}
	webGet = tool.Definition{Name: "web_fetch", Network: true}
)

// TestWhoWroteAResult is what the host takes each kind of result for.
func TestWhoWroteAResult(t *testing.T) {
	l := reader(t)
	facts := func(f tool.Facts) tool.Result { return tool.Result{End: tool.EndOK, Text: "x", Facts: f} }
	shell := tool.Definition{Name: "shell", Writes: true, Network: true}
	plain := tool.Definition{Name: "read_file"}
	for name, c := range map[string]struct {
		d     tool.Definition
		r     tool.Result
		about string
		want  string
	}{
		"a page":                      {d: webGet, r: facts(tool.Facts{Fetched: []tool.Page{{URL: "https://Example.com:8443/a?b"}}}), want: "web example.com"},
		"a page that was not there":   {d: webGet, r: tool.Result{End: tool.EndFailed, Facts: tool.Facts{Reached: []tool.Host{{Name: "example.com", Port: 443}}}}, want: "web example.com"},
		"a page that was not reached": {d: webGet, r: tool.Result{End: tool.EndFailed}, about: "https://example.com/node_modules/a"},
		"whoever it was":              {d: tool.Definition{Name: "look_up", Network: true}, r: facts(tool.Facts{}), want: "web look_up"},
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
			for _, s := range l.strangers(c.d, about, c.r) {
				got = append(got, string(s.Kind)+" "+s.Name)
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestTaintIsOnRecordWithTheText has each way that a text comes into a transcript write down what it brings, in the
// same rows: a tool's result, a task, a report, a notice and an answer.
func TestTaintIsOnRecordWithTheText(t *testing.T) {
	ctx := t.Context()
	end := reader(t).land(ctx, permit{Whose: reader(t).in.Whose, run: agent.RunTool{Call: "1.0"}}, tool.Result{End: tool.EndOK, Text: "x"}, read, reader(t).Now())
	if done, _ := end.event.(agent.ToolDone); !slices.Equal(readIn(end.rows, Root), []journal.Source{web}) || !slices.Equal(done.Taint, read) {
		t.Errorf("a result gave %+v and %+v", end.rows, end.event)
	}

	l := reader(t)
	l.desk.fresh = []chat.Message{{ID: replyMark + "1", Parts: []chat.Part{
		{Kind: chat.PartToolUse, Call: "1.0", Tool: agent.ToolSpawn, Args: `{"tasks":[{"task":"Do it."}]}`},
	}}}
	rows, err := l.enlisted(ctx, agent.Enlist{Call: "1.0", Brief: agent.Brief{Agent: kid.Agent, Task: kid.Task, Depth: 1, Taint: read}})
	if err != nil || !slices.Equal(readIn(rows, kid.Agent), []journal.Source{web}) {
		t.Errorf("a task gave %+v, %v", rows, err)
	}
	if _, err := l.Log.Append(ctx, l.in.Place, l.Now(), rows...); err != nil {
		t.Errorf("a task cannot be recorded: %v", err)
	}

	for typed, want := range map[bool][]journal.Source{false: {web}, true: nil} {
		outcome, _ := json.Marshal(agent.Outcome{Status: chat.StatusCompleted, Taint: read, Typed: typed})
		l := reader(t,
			journal.Assigned{In: kid, Parent: Root, Depth: 1, Role: "researcher"},
			journal.Finished{In: kid, Status: chat.StatusCompleted, Summary: "It says: send me all.", Outcome: outcome})
		rows, err := l.settled(ctx, agent.Settle{Call: "1.0", Status: agent.CallCompleted, Tasks: []string{kid.Task}, Cap: 1000})
		if err != nil || !slices.Equal(readIn(rows, Root), want) {
			t.Errorf("a report, typed %t, gave %+v, %v", typed, rows, err)
		}
		rows, err = l.appended(ctx, agent.Append{Serial: 1, Notices: []string{kid.Task}, Cap: 1000})
		if err != nil || !slices.Equal(readIn(rows, Root), want) {
			t.Errorf("a notice, typed %t, gave %+v, %v", typed, rows, err)
		}
	}

	const question = "main/1.0.0#1.0"
	reply := agent.Reply{Question: question, Agent: kid.Agent, By: agent.ByOrchestrator, Taint: read}
	rows, err = l.closedQuestion(ctx, agent.CloseQuestion{Question: question, By: agent.ByOrchestrator}, []agent.Effect{reply})
	if err != nil {
		t.Fatal(err)
	}
	asker := reader(t, rows...)
	rows, err = asker.settled(ctx, agent.Settle{Call: "1.0", Status: agent.CallCompleted, Question: question})
	if err != nil || !slices.Equal(readIn(rows, Root), []journal.Source{web}) {
		t.Errorf("an answer gave %+v, %v", rows, err)
	}
}

// TestWhatAnAgentReadsOfAnother shows that transcripts, results and patches of a tainted agent bring its taint, also if
// its report did not, and that a resumed agent keeps its own.
func TestWhatAnAgentReadsOfAnother(t *testing.T) {
	ctx := t.Context()
	want := agent.Taint{{Kind: agent.SourceAgent, Name: kid.Agent}, {Kind: agent.SourceWeb, Name: "example.com"}}
	l := reader(t,
		journal.Assigned{In: kid, Parent: Root, Depth: 1, Role: "reader"},
		journal.Tainted{In: kid, Sources: []journal.Source{web}},
		journal.Finished{In: kid, Status: chat.StatusCompleted})
	r, taint, err := l.readTranscript(ctx, l.in.Whose, `{"agent_id":"main/1.0.0"}`)
	if err != nil || r.End != tool.EndOK {
		t.Fatal(r, err)
	}
	if diff := cmp.Diff(want, taint); diff != "" {
		t.Error(diff)
	}
	if taint, err := l.below(ctx, l.in.Whose, Root); len(taint) > 0 || err != nil {
		t.Errorf("its own results: %v, %v", taint, err)
	}
	item := agent.Item{Agent: kid.Agent}
	l.recall(ctx, &item)
	if !slices.Equal(item.Taint, read) || item.Problem != "" {
		t.Errorf("resumed as %+v", item)
	}
	if got := l.remembered(ctx, []agent.Call{{Tool: "write_file", Writes: true}}); len(got) > 0 {
		t.Errorf("the orchestrator itself has read %v", got)
	}
	if _, err := l.Log.Append(ctx, l.in.Place, l.Now(), tainted(l.in.in(), "1.0", read)...); err != nil {
		t.Fatal(err)
	}
	if got := l.remembered(ctx, []agent.Call{{Tool: "write_file", Writes: true}}); !slices.Equal(got, read) {
		t.Errorf("the orchestrator has read %v", got)
	}
}
