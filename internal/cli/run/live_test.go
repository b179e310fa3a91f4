package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/agent/receipt"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/cli/output"
	"github.com/retinue-dev/retinue/internal/events"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/progress"
)

// story is a tree with one agent in each state that a person should tell apart.
func story(now time.Time) *progress.Tree {
	tree := progress.New("c", "m")
	root := journal.In{Agent: "main", Task: "main"}
	rows := []journal.Row{
		journal.TaskAssigned{In: root, Role: "main"},
		journal.StatusChanged{In: root, Serial: 1, Status: chat.StatusRunning},
		journal.ModelReplied{In: root, Call: "1.1", Status: chat.StatusCompleted, Usage: chat.Usage{Input: 1200, Output: 34, Cost: 12300}},
	}
	for _, id := range []string{"main/1.0.0", "main/1.0.1", "main/1.0.2"} {
		in := journal.In{Agent: id, Task: id}
		rows = append(rows, journal.TaskAssigned{
			In: in, Parent: "main", Call: "1.0", Depth: 1, Role: "researcher", Instruction: "Read the notes on the flaky login test",
		}, journal.StatusChanged{In: in, Serial: 1, Status: chat.StatusRunning})
	}
	second, third := journal.In{Agent: "main/1.0.1", Task: "main/1.0.1"}, journal.In{Agent: "main/1.0.2", Task: "main/1.0.2"}
	rows = append(rows,
		journal.TaskEnded{In: journal.In{Agent: "main/1.0.0", Task: "main/1.0.0"}, Status: chat.StatusCompleted, Summary: "It waits for a clock."},
		journal.QuestionAsked{In: second, Question: "q", Text: "Which browser?"},
		journal.StatusChanged{In: second, Serial: 2, Status: chat.StatusWaiting, Reason: chat.WaitUserInput},
		journal.TaskEnded{In: third, Status: chat.StatusTimedOut, ErrorKind: chat.KindTimedOut, Message: "no time left"})
	for i, row := range rows {
		apply(tree, journal.Entry{Seq: int64(i + 1), At: now.Add(time.Duration(i) * time.Second), Row: row})
	}
	return tree
}

// apply folds an entry as those who watch are told of it.
func apply(tree *progress.Tree, entry journal.Entry) []progress.Event {
	e, _ := events.Of("c", entry)
	return tree.Apply(e)
}

// TestFrameShowsReceipts shows what a person sees of claims that hold and of those that do not.
func TestFrameShowsReceipts(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tree := progress.New("c", "m")
	bodies := []string{
		`{"verdict":"verified","claims":[{"kind":"modified","claim":"a.go","verdict":"verified"}],"facts":{}}`,
		`{"verdict":"unverified","claims":[{"kind":"tests","claim":"5 tests passed","verdict":"unverified","reason":"stale"}],"facts":{}}`,
		`{"verdict":"contradicted","claims":[{"kind":"created","claim":"a.go","verdict":"verified"},` +
			`{"kind":"modified","claim":"\u001b[2Jb.go","verdict":"contradicted","reason":"untouched"}],"facts":{}}`,
		`{"verdict":"none","facts":{}}`,
	}
	apply(tree, journal.Entry{At: now, Row: journal.TaskAssigned{In: journal.In{Agent: "main", Task: "main"}, Role: "main"}})
	for i, body := range bodies {
		id := fmt.Sprintf("main/1.0.%d", i)
		in := journal.In{Agent: id, Task: id}
		apply(tree, journal.Entry{Seq: int64(2*i + 1), At: now, Row: journal.TaskAssigned{In: in, Parent: "main", Depth: 1, Role: "coder", Instruction: "Do it"}})
		told := apply(tree, journal.Entry{Seq: int64(2*i + 2), At: now, Row: journal.TaskEnded{
			In: in, Status: chat.StatusCompleted, Summary: "Done.", Receipt: json.RawMessage(body),
		}})
		if told[0].Receipt == nil {
			t.Errorf("the event of %s has no receipt", id)
		}
	}
	v := &liveView{screen: output.Screen{Out: &bytes.Buffer{}}, tree: tree}
	var got []string
	for _, a := range tree.Agents() {
		if a.Depth > 0 {
			got = append(got, v.about(a, 100))
		}
	}
	want := []string{
		"Do it · ✓ verified · Done.",
		"Do it · ? unverified: 5 tests passed: stale · Done.",
		"Do it · ✗ contradicted: modified [2Jb.go: untouched · Done.",
		"Do it · Done.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if w := worst(tree.Agents()); w != receipt.Contradicted {
		t.Errorf("the worst is %s", w)
	}
}

func TestFrame(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	v := &liveView{screen: output.Screen{Out: &bytes.Buffer{}}, tree: story(now), label: "DEMO"}
	v.draft("So far\n\nthe notes say little.")
	got := v.frame(now.Add(75*time.Second), 100, 24)
	want := []string{
		"DEMO",
		"● main          running    1m14s   1.2k tok $0.0123  ",
		"✓   researcher  completed   6.0s      0 tok      $0  Read the notes on the… · It waits for a clock.",
		"?   researcher  question?  1m10s      0 tok      $0  Read the notes on the… · asks: Which browser?",
		"✗   researcher  timed out   5.0s      0 tok      $0  Read the notes on the… · no time left",
		"  │ So far",
		"  │ the notes say little.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, line := range v.frame(now.Add(time.Hour), minWidth+20, 24) {
		if n := utf8.RuneCountInString(line); n >= minWidth+20 {
			t.Errorf("a line of %d characters wraps: %q", n, line)
		}
	}
	small := strings.Join(v.frame(now.Add(75*time.Second), 100, minHeight-1), "\n")
	if !strings.Contains(small, "question?") || !strings.Contains(small, "… and 2 agents that ended") {
		t.Errorf("what is left out is not what ended:\n%s", small)
	}
}
