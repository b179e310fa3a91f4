package journaltest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// runs fills three conversations with four tasks each beside the orchestrator's: one still runs,
// one failed, two completed. The i-th takes i seconds and costs i. Then the orchestrator has a turn
// in the second conversation and two in the third, the last of them cancelled.
func runs(t *testing.T, log journal.Log) {
	t.Helper()
	for c := range 3 {
		ref := journal.Ref{Tenant: "acme", Conversation: fmt.Sprint("c", c)}
		at := start.Add(time.Duration(c) * time.Minute)
		record := func(rows ...journal.Row) {
			t.Helper()
			if _, err := log.Append(t.Context(), ref, at, rows...); err != nil {
				t.Fatal(err)
			}
		}
		record(journal.Opened{By: []string{"ann", "bob"}[c%2], Title: fmt.Sprint("talk ", c)}, journal.TaskAssigned{In: root, Role: "main"})
		for i := range 4 {
			in := journal.In{Agent: fmt.Sprint("root/1.0.", i), Task: fmt.Sprint("root/1.0.", i)}
			record(journal.TaskAssigned{In: in, Parent: "root", Role: []string{"coder", "tester"}[i%2], Depth: 1, Instruction: fmt.Sprint("do ", i)},
				journal.StatusChanged{In: in, Serial: 1, Status: chat.StatusRunning},
				journal.ModelCalled{In: in, Call: "1.1", Turn: 1},
				journal.ModelReplied{In: in, Call: "1.1", Status: chat.StatusCompleted, Usage: chat.Usage{Cost: int64(i)}},
				journal.QuestionAsked{In: in, Question: fmt.Sprint("q", i), Text: "?"})
			if i > 0 {
				at = at.Add(time.Duration(i) * time.Second)
				record(journal.TaskEnded{In: in, Status: []chat.Status{"", chat.StatusFailed, chat.StatusCompleted, chat.StatusCompleted}[i], Summary: "so"})
			}
		}
		for turn := 1; turn <= c; turn++ { // none, one and two
			call := fmt.Sprint("t", turn)
			record(journal.ModelCalled{In: root, Call: call, Turn: turn})
			at = at.Add(time.Duration(turn) * 3 * time.Second)
			record(journal.ModelReplied{In: root, Call: call, Status: chat.StatusCompleted, Usage: chat.Usage{Cost: 10}},
				journal.TurnEnded{In: root, Serial: turn, Turn: turn, Status: []chat.Status{chat.StatusCompleted, chat.StatusCancelled}[turn-1]})
		}
	}
}

// taskList asks for tasks by everything that they can be asked by, in pages of every size.
func taskList(t *testing.T, f Fixture) {
	runs(t, f.Log)
	memory := NewMemory()
	runs(t, memory)
	for _, q := range []journal.TaskQuery{
		{},
		{Status: chat.StatusRunning},
		{Status: chat.StatusFailed},
		{Role: "tester"},
		{By: "bob"},
		{MinCost: 2},
		{Conversation: "c2"},
		{Role: "coder", By: "ann", Status: chat.StatusCompleted, MinCost: 1},
		{Role: "nobody"},
	} {
		same(t, fmt.Sprintf("tasks %+v", q), memory, f.Log, func(l journal.Log) (any, error) { return l.Tasks(t.Context(), "acme", q) })
		whole, err := f.Log.Tasks(t.Context(), "acme", q)
		if err != nil {
			t.Fatal(err)
		}
		for q.Limit = 1; q.Limit <= 4; q.Limit++ {
			var paged []journal.TaskLine
			for q.Cursor = ""; ; {
				page, err := f.Log.Tasks(t.Context(), "acme", q)
				if err != nil {
					t.Fatal(err)
				}
				if paged = slices.Concat(paged, page); len(page) < q.Limit {
					break
				}
				q.Cursor = page[len(page)-1].Cursor()
			}
			if diff := cmp.Diff(whole, paged, alike); diff != "" {
				t.Fatalf("in pages of %d (+) against all at once (-):\n%s", q.Limit, diff)
			}
		}
	}
	all, err := f.Log.Tasks(t.Context(), "acme", journal.TaskQuery{})
	if err != nil || len(all) != 15 || all[0].Conversation != "c2" || all[0].Begun.Instruction != "do 3" || all[0].Ended.Summary != "so" {
		t.Errorf("%d tasks, %v, the first is %+v", len(all), err, all[:min(len(all), 1)])
	}
	if _, err := f.Log.Tasks(t.Context(), "acme", journal.TaskQuery{Cursor: "nonsense"}); chat.CodeOf(err) != chat.CodeInvalid {
		t.Errorf("a cursor that is none: %v", err)
	}
}

// runsByRole asks what became of tasks.
func runsByRole(t *testing.T, f Fixture) {
	runs(t, f.Log)
	memory := NewMemory()
	runs(t, memory)
	for _, since := range []time.Time{start.Add(-time.Hour), start.Add(time.Minute), start.Add(time.Hour)} {
		same(t, fmt.Sprint("runs since ", since), memory, f.Log, func(l journal.Log) (any, error) { return l.Runs(t.Context(), "acme", since) })
	}
	got, err := f.Log.Runs(t.Context(), "acme", start.Add(-time.Hour))
	want := []journal.RoleRuns{
		{Role: "coder", Runs: 3, Completed: 3, Cost: 6, Questions: 3, Duration: 2000},
		{Role: "main", Runs: 3, Completed: 2, Cost: 30, Duration: 3000},
		{Role: "tester", Runs: 6, Completed: 3, Cost: 12, Questions: 6, Duration: 1000},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("runs (+) against the wanted (-): %v\n%s", err, diff)
	}
	lasts(t, f.Log)
}

// lasts asks how the last turns ended.
func lasts(t *testing.T, log journal.Log) {
	t.Helper()
	lines, err := log.Lines(t.Context(), "acme", "c0", "c1", "c2")
	got := map[string]chat.Status{}
	for id, line := range lines {
		got[id] = line.Last
	}
	want := map[string]chat.Status{"c0": "", "c1": chat.StatusCompleted, "c2": chat.StatusCancelled}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("how the last turns ended (+) against the wanted (-): %v\n%s", err, diff)
	}
}
