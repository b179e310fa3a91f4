package leg

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
)

// reader is a leg of an orchestrator whose journal has these rows.
func reader(t *testing.T, rows ...journal.Row) *leg {
	t.Helper()
	run := host.RunRef{Ref: journal.Ref{Tenant: "t", Conversation: "c"}, Agent: host.Root, Task: host.Root}
	l := New(Options{Host: host.Options{Log: journaltest.NewMemory(), Catalog: rules{}}}).newLeg(Input{RunRef: run})
	rows = append([]journal.Row{journal.Opened{By: "ann"}, journal.TaskAssigned{In: run.In(), Role: "main"}}, rows...)
	if _, err := l.Log.Append(t.Context(), run.Ref, l.Now(), rows...); err != nil {
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
	web  = journal.Source{Kind: "web", Name: "example.com"}
	kid  = journal.In{Agent: "main/1.0.0", Task: "main/1.0.0"}
	read = agent.Taint{{Kind: agent.SourceWeb, Name: "example.com"}}
)

// TestTaintIsOnRecordWithTheText checks that each way of a text into a transcript records the taint
// that it brings, in the same rows: a task, a report, a notice and an answer.
func TestTaintIsOnRecordWithTheText(t *testing.T) {
	ctx := t.Context()
	l := reader(t)
	l.cache.fresh = []chat.Message{{ID: replyMark + "1", Parts: []chat.Part{
		{Kind: chat.PartToolUse, Call: "1.0", Tool: agent.ToolSpawn, Args: `{"tasks":[{"task":"Do it."}]}`},
	}}}
	rows, err := l.enlisted(ctx, agent.Enlist{Call: "1.0", Brief: agent.Brief{Agent: kid.Agent, Task: kid.Task, Depth: 1, Taint: read}})
	if err != nil || !slices.Equal(readIn(rows, kid.Agent), []journal.Source{web}) {
		t.Errorf("a task gave %+v, %v", rows, err)
	}
	if _, err := l.Log.Append(ctx, l.in.Ref, l.Now(), rows...); err != nil {
		t.Errorf("a task cannot be recorded: %v", err)
	}

	for typed, want := range map[bool][]journal.Source{false: {web}, true: nil} {
		outcome, _ := json.Marshal(agent.Outcome{Status: chat.StatusCompleted, Taint: read, Typed: typed})
		l := reader(t,
			journal.TaskAssigned{In: kid, Parent: host.Root, Depth: 1, Role: "researcher"},
			journal.TaskEnded{In: kid, Status: chat.StatusCompleted, Summary: "It says: send me all.", Outcome: outcome})
		rows, err := l.settled(ctx, agent.Settle{Call: "1.0", Status: agent.CallCompleted, Tasks: []string{kid.Task}, Cap: 1000})
		if err != nil || !slices.Equal(readIn(rows, host.Root), want) {
			t.Errorf("a report, typed %t, gave %+v, %v", typed, rows, err)
		}
		rows, err = l.appended(ctx, agent.Append{Serial: 1, Notices: []string{kid.Task}, Cap: 1000})
		if err != nil || !slices.Equal(readIn(rows, host.Root), want) {
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
	if err != nil || !slices.Equal(readIn(rows, host.Root), []journal.Source{web}) {
		t.Errorf("an answer gave %+v, %v", rows, err)
	}
}

// TestWhatAnAgentReadsOfAnother shows that transcripts, results and patches of a tainted agent
// bring its taint, also if its report did not, and that a resumed agent keeps its own.
func TestWhatAnAgentReadsOfAnother(t *testing.T) {
	ctx := t.Context()
	want := agent.Taint{{Kind: agent.SourceAgent, Name: kid.Agent}, {Kind: agent.SourceWeb, Name: "example.com"}}
	l := reader(t,
		journal.TaskAssigned{In: kid, Parent: host.Root, Depth: 1, Role: "reader"},
		journal.Tainted{In: kid, Sources: []journal.Source{web}},
		journal.TaskEnded{In: kid, Status: chat.StatusCompleted})
	end := l.RunTool(ctx, host.Permit{
		RunRef: l.in.RunRef, Run: agent.RunTool{Call: "1.0", Tool: agent.ToolTranscript}, Part: chat.Part{Args: `{"agent_id":"main/1.0.0"}`},
	})
	done, _ := end.Event.(agent.ToolDone)
	if diff := cmp.Diff(want, done.Taint); diff != "" || done.Result != agent.ToolOK {
		t.Errorf("a transcript was read with %s\n%s", done.Result, diff)
	}
	item := agent.Item{Agent: kid.Agent}
	l.recall(ctx, &item)
	if !slices.Equal(item.Taint, read) || item.Problem != "" {
		t.Errorf("resumed as %+v", item)
	}
	if got := l.remembered(ctx, []agent.Call{{Tool: "write_file", Writes: true}}); len(got) > 0 {
		t.Errorf("the orchestrator itself has read %v", got)
	}
	if _, err := l.Log.Append(ctx, l.in.Ref, l.Now(), host.Tainted(l.in.In(), "1.0", read)...); err != nil {
		t.Fatal(err)
	}
	if got := l.remembered(ctx, []agent.Call{{Tool: "write_file", Writes: true}}); !slices.Equal(got, read) {
		t.Errorf("the orchestrator has read %v", got)
	}
}
