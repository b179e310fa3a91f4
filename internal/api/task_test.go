package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/sqlite"
	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/wire"
)

// TestLimitOfConversation asks how much a conversation may cost. The limits of its agents are
// theirs.
func TestLimitOfConversation(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path, _ := o.begin(t, "key-begin")
	if got := o.snapshot(t, path).MaxCost; got != 0 {
		t.Errorf("a conversation without a limit may cost %d", got)
	}
	ref := journal.Ref{Tenant: "t", Conversation: "climited"}
	child := journal.In{Agent: "main/1.0.0", Task: "main/1.0.0"}
	o.write(t, ref, journal.Opened{By: "ada"},
		journal.TaskAssigned{
			In: journal.In{Agent: "main", Task: "main"}, Role: "main", Brief: json.RawMessage(`{"limits":{"cost":5000000}}`),
		},
		journal.TaskAssigned{In: child, Parent: "main", Role: "coder", Depth: 1, Brief: json.RawMessage(`{"limits":{"cost":7}}`)})
	if got := o.snapshot(t, "/v1/conversations/climited").MaxCost; got != 5_000_000 {
		t.Errorf("a conversation that may cost 5000000 says %d", got)
	}
}

// TestLinesOfTasks asks for tasks as a chat shows them: little of each, and whole where one is
// asked for.
func TestLinesOfTasks(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path, ref := o.begin(t, "key-begin")
	in := journal.In{Agent: "main/1.0.0", Task: "main/1.0.0"}
	long := strings.Repeat("über ", 300)
	files := make([]string, 30)
	for i := range files {
		files[i] = fmt.Sprint("f", i)
	}
	o.write(t, ref,
		journal.TaskAssigned{
			In: in, Parent: "main", Role: "coder", Depth: 1, Instruction: "Fix\n\nthe " + long, Criteria: "green",
			Files: []string{"start.go"}, MaxIterations: 20, MaxDuration: 90_000,
		},
		journal.TaskEnded{
			In: in, Status: chat.StatusFailed, ErrorKind: chat.KindAuth, Message: "no " + long, Summary: long, Files: files, Iterations: 7,
			Receipt: json.RawMessage(`{"verdict":"contradicted","claims":[{"verdict":"verified"}]}`),
		})
	var list wire.Page[wire.Task]
	o.send(t, http.MethodGet, path+"/tasks", "", "").into(t, http.StatusOK, &list)
	got := list.Items[1]
	if n := utf8.RuneCountInString(got.Title); n != 200 || !strings.HasPrefix(got.Title, "Fix the über über") || !strings.HasSuffix(got.Title, "…") {
		t.Errorf("the title has %d characters: %q", n, got.Title)
	}
	for name, text := range map[string]string{"summary": got.Summary, "message": got.Message} {
		if n := utf8.RuneCountInString(text); n != 400 || !utf8.ValidString(text) {
			t.Errorf("the %s has %d characters: %q", name, n, text)
		}
	}
	want := []any{files[:20], 30, "contradicted", 7, 20, int64(90_000)}
	if diff := cmp.Diff(want, []any{got.Changed, got.ChangedCount, got.Verdict, got.Iterations, got.MaxIterations, got.MaxDuration}); diff != "" {
		t.Errorf("the line (+) against the wanted (-):\n%s", diff)
	}
	if diff := cmp.Diff(list.Items, o.snapshot(t, path).Tasks); diff != "" {
		t.Errorf("the snapshot (+) has other lines than the list (-):\n%s", diff)
	}
	var view wire.TaskView
	o.send(t, http.MethodGet, path+"/tasks/main~1.0.0", "", "").into(t, http.StatusOK, &view)
	if view.Instruction != "Fix\n\nthe "+long || view.Summary != long || len(view.Changed) != 30 || view.Files[0] != "start.go" {
		t.Errorf("the task is not whole: %+v", view)
	}
}

// TestMarksOfShownMessages has more messages than a snapshot shows: it has the notes and ends of
// turns that lie between those it shows.
func TestMarksOfShownMessages(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path, ref := o.begin(t, "key-begin")
	for i := range 150 {
		o.write(t, ref,
			journal.MessageReceived{ID: fmt.Sprint("m", i), By: "ann", Parts: []chat.Part{{Kind: chat.PartText, Text: "x"}}},
			journal.NoteAdded{In: mainTask, Serial: i + 1, Note: "steered", Number: int64(i + 1)},
			journal.TurnEnded{In: mainTask, Serial: i + 1, Turn: i + 1, Status: chat.StatusCompleted})
	}
	state := o.snapshot(t, path)
	if len(state.Messages) != 100 || len(state.Notes) != 100 || len(state.Turns) != 100 {
		t.Fatalf("%d messages, %d notes, %d ends of turns; want 100 each", len(state.Messages), len(state.Notes), len(state.Turns))
	}
	if state.Notes[0].Number != state.Messages[0].Number || state.Turns[99].Turn != 150 {
		t.Errorf("message %d comes with note %d and the last turn is %d", state.Messages[0].Number, state.Notes[0].Number, state.Turns[99].Turn)
	}
}

// TestSnapshotOfAThousand asks a SQLite file for a conversation with 1,000 sub-agents, and compares
// what that costs with writing and reading the same answer as JSON, which is the least it can cost.
func TestSnapshotOfAThousand(t *testing.T) {
	log, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "journal.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	counted := &finding{Log: log}
	o := newOfficeOn(t, counted)
	path, ref := o.begin(t, "key-begin")
	brief, _ := json.Marshal(map[string]string{"all": strings.Repeat("b", 2000)})
	receipt, _ := json.Marshal(map[string]any{"verdict": "verified", "facts": map[string]string{"files": strings.Repeat("f", 2000)}})
	for i := range 1000 {
		in := journal.In{Agent: fmt.Sprintf("main/%d.0.%d", i/100+1, i%100)}
		in.Task = in.Agent
		o.write(t, ref,
			journal.TaskAssigned{
				In: in, Parent: "main", Role: "coder", Depth: 1, Instruction: strings.Repeat("Do this. ", 100), Brief: brief, MaxIterations: 20,
			},
			journal.StatusChanged{In: in, Serial: 1, Status: chat.StatusRunning},
			journal.TaskEnded{
				In: in, Status: chat.StatusCompleted, Summary: strings.Repeat("Done. ", 100), Files: []string{"a.go"}, Iterations: 3,
				Receipt: receipt, Outcome: brief,
			})
	}
	counted.times.Store(0)
	o.snapshot(t, path)
	if n := counted.times.Load(); n != 1 {
		t.Errorf("a snapshot of 1,000 sub-agents looks for rows %d times, want once", n)
	}
	asked, bare := time.Hour, time.Hour
	for range 7 {
		began := busy(t)
		state := o.snapshot(t, path)
		if asked = min(asked, busy(t)-began); len(state.Tasks) != 1001 || state.Tasks[1000].Verdict != "verified" {
			t.Fatalf("%d tasks, the last is %+v", len(state.Tasks), state.Tasks[len(state.Tasks)-1])
		}
		began = busy(t)
		text, err := json.Marshal(state)
		if err == nil {
			err = json.Unmarshal(text, new(wire.Snapshot))
		}
		if bare = min(bare, busy(t)-began); err != nil {
			t.Fatal(err)
		}
	}
	times := float64(asked) / float64(bare)
	t.Logf("a snapshot of 1,000 sub-agents takes %s of a processor, its JSON alone %s", asked, bare)
	measure.Most(t, "api: processor time of a snapshot of 1,000 sub-agents next to its JSON's", times, 20)
}

// finding counts how often rows are looked for by their keys.
type finding struct {
	journal.Log
	times atomic.Int64
}

func (f *finding) Find(ctx context.Context, ref journal.Ref, keys ...string) ([]journal.Entry, error) {
	f.times.Add(1)
	return f.Log.Find(ctx, ref, keys...)
}

// busy is how long the process has kept processors busy: what time has passed would say more of its
// neighbours.
func busy(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// TestAllTasks lists tasks across conversations.
func TestAllTasks(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for i := range 3 {
		_, ref := o.begin(t, fmt.Sprint("key-begin-", i))
		in := journal.In{Agent: "main/1.0.0", Task: "main/1.0.0"}
		o.write(t, ref,
			journal.TaskAssigned{In: in, Parent: "main", Role: "coder", Depth: 1, Instruction: fmt.Sprint("do ", i)},
			journal.ModelCalled{In: in, Call: "1.1", Turn: 1},
			journal.ModelReplied{In: in, Call: "1.1", Status: chat.StatusCompleted, Usage: chat.Usage{Cost: int64(i)}},
			journal.TaskEnded{In: in, Status: chat.StatusCompleted, Summary: fmt.Sprint("did ", i)})
	}
	var got []string
	for cursor := ""; ; {
		var page wire.TaskLines
		o.send(t, http.MethodGet, "/v1/tasks?status=completed&role=coder&limit=2&by=ann&cursor="+url.QueryEscape(cursor), "", "").
			into(t, http.StatusOK, &page)
		for _, l := range page.Items {
			got = append(got, fmt.Sprint(l.Title, ", ", l.Summary, ", ", l.Role, ", ", l.By, ", ", l.Cost, ", ", l.Verdict))
		}
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	want := []string{"do 2, did 2, coder, ann, 2, none", "do 1, did 1, coder, ann, 1, none", "do 0, did 0, coder, ann, 0, none"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tasks (+) against the wanted (-):\n%s", diff)
	}
	for query, n := range map[string]int{"min_cost_micro_usd=1": 2, "by=eve": 0, "status=pending": 3, "conversation=none": 0, "": 6} {
		var page wire.TaskLines
		o.send(t, http.MethodGet, "/v1/tasks?"+query, "", "").into(t, http.StatusOK, &page)
		if len(page.Items) != n {
			t.Errorf("%q gives %d tasks, want %d", query, len(page.Items), n)
		}
	}
	if a := o.send(t, http.MethodGet, "/v1/tasks?cursor=x", "", ""); a.Status != http.StatusUnprocessableEntity && a.Status != http.StatusBadRequest {
		t.Errorf("a cursor that is none is answered with %d", a.Status)
	}
}
