package host

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/agent/receipt"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/tool"
)

// TestEvidenceOfCalls shows the evidence from the record of one writing call: its facts, and
// whether it may have had further effects.
func TestEvidenceOfCalls(t *testing.T) {
	run := RunRef{Agent: "main/1.0.0", Task: "main/1.0.0"}
	const wrote = `{"wrote":[{"path":"a.go","before":"1","after":"2","bytes":1}]}`
	const ran = `{"commands":[{"line":"go test","exit":1,"duration_ms":5,"tests":{"runner":"go","passed":2,"failed":1}}]`
	change := receipt.Evidence{Changed: []receipt.Change{{Path: "a.go", Before: "1", After: "2", First: 7, Last: 7}}}
	command := receipt.Evidence{Commands: []receipt.Command{{Line: "go test", Exit: 1, Tests: &receipt.Tests{Passed: 2, Failed: 1}, At: 7}}}
	unseen := receipt.Evidence{Perhaps: 1}
	partly := command
	partly.Partial = true
	for name, c := range map[string]struct {
		class   chat.EffectClass
		began   bool
		result  agent.ToolResult
		status  journal.CallStatus
		facts   string
		want    receipt.Evidence
		reading bool
	}{
		"wrote":                     {class: chat.ClassIdempotent, began: true, result: agent.ToolOK, status: journal.CallCompleted, facts: wrote, want: change},
		"was refused by its tool":   {class: chat.ClassReconcilable, began: true, result: agent.ToolFailed, status: journal.CallFailed},
		"ran":                       {class: chat.ClassOnce, began: true, result: agent.ToolFailed, status: journal.CallFailed, facts: ran + "}", want: command},
		"ran, not all looked at":    {class: chat.ClassOnce, began: true, result: agent.ToolOK, status: journal.CallCompleted, facts: ran + `,"partial":true}`, want: partly},
		"once, and tells nothing":   {class: chat.ClassOnce, began: true, result: agent.ToolOK, status: journal.CallCompleted, want: unseen},
		"indeterminate":             {class: chat.ClassReconcilable, began: true, result: agent.ToolIndeterminate, status: journal.CallFailed, want: unseen},
		"cancelled":                 {class: chat.ClassIdempotent, began: true, result: agent.ToolCancelled, status: journal.CallCancelled, want: unseen},
		"timed out":                 {class: chat.ClassIdempotent, began: true, result: agent.ToolTimedOut, status: journal.CallTimedOut, want: unseen},
		"timed out, and looked at":  {class: chat.ClassOnce, began: true, result: agent.ToolTimedOut, status: journal.CallTimedOut, facts: wrote, want: change},
		"never ended":               {class: chat.ClassIdempotent, began: true, want: unseen},
		"denied":                    {class: chat.ClassOnce, status: journal.CallDenied},
		"cancelled before it began": {class: chat.ClassOnce, status: journal.CallCancelled},
		"read": {
			class: chat.ClassPure, reading: true, began: true, result: agent.ToolOK, status: journal.CallCompleted,
			facts: `{"read":[{"path":"b.go","hash":"1","bytes":1}],"fetched":[{"url":"https://a.test/","status":200}]}`,
			want:  receipt.Evidence{Read: []receipt.File{{Path: "b.go", Hash: "1"}}, Pages: []receipt.Page{{URL: "https://a.test/", Status: 200}}},
		},
		"cancelled, but it only read": {class: chat.ClassPure, reading: true, began: true, result: agent.ToolCancelled, status: journal.CallCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			events := []agent.Event{agent.Replied{Turn: 1, Calls: []agent.Call{{Tool: "x", Class: c.class, Writes: !c.reading}}}}
			if c.result != "" {
				events = append(events, agent.ToolDone{Call: "1.0", Result: c.result, Facts: min(len(c.facts), 1)})
			}
			found := map[string]journal.Entry{}
			if c.began && !c.reading {
				row := journal.ToolStarted{In: run.In(), Call: "1.0", Attempt: 1}
				found[row.Key()] = journal.Entry{Seq: 6, Row: row}
			}
			if c.status != "" && (!c.reading || c.facts != "") {
				row := journal.ToolReturned{In: run.In(), Call: "1.0", Status: c.status, Facts: json.RawMessage(c.facts)}
				found[row.Key()] = journal.Entry{Seq: 7, Row: row}
			}
			check(t, run, events, found, c.want)
		})
	}
}

// TestUnknownIsTheSameWord holds the two words for a hash that nobody knows together: facts are
// copied.
func TestUnknownIsTheSameWord(t *testing.T) {
	if tool.Unknown != receipt.Unknown {
		t.Errorf("%q in facts, %q in receipts", tool.Unknown, receipt.Unknown)
	}
}

// TestEvidenceOfSubAgents shows that a run rests on what those did whom it sent, as far as it is
// known.
func TestEvidenceOfSubAgents(t *testing.T) {
	run := RunRef{Agent: "main/1.0.0", Task: "main/1.0.0"}
	found := map[string]journal.Entry{}
	put := func(rows ...journal.Row) {
		for _, row := range rows {
			found[row.Key()] = journal.Entry{Row: row}
		}
	}
	task := func(id string) journal.In { return journal.In{Agent: id, Task: id} }
	told := `{"verdict":"none","facts":{"changed":[{"path":"a.go","after":"2","first":3,"last":4}],"calls":9,"tokens":9,"duration_ms":9}}`
	put(
		journal.TaskAssigned{In: task("main/1.0.0/2.0.0")},
		journal.TaskEnded{In: task("main/1.0.0/2.0.0"), Receipt: json.RawMessage(told)},
		journal.TaskAssigned{In: task("main/1.0.0/2.0.1")},
		journal.TaskEnded{In: task("main/1.0.0/2.0.1")},
		journal.TaskAssigned{In: task("main/1.0.0/2.0.2")},
	)
	events := []agent.Event{agent.Replied{Turn: 2, Calls: []agent.Call{{Kind: agent.CallSpawn, Items: make([]agent.Item, 4)}}}}
	check(t, run, events, found, receipt.Evidence{
		Changed: []receipt.Change{{Path: "a.go", After: "2", First: 3, Last: 4}},
		Perhaps: 2, // one that nobody looked at and one that has not ended; the last was never assigned
	})
}

func check(t *testing.T, run RunRef, events []agent.Event, found map[string]journal.Entry, want receipt.Evidence) {
	t.Helper()
	var steps []journal.Stepped
	for _, e := range events {
		body, err := agent.MarshalEvent(e)
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, journal.Stepped{Event: body})
	}
	d, err := taskEvidenceOf(run, steps)
	if err != nil {
		t.Fatal(err)
	}
	for key := range found {
		if !slices.Contains(d.keys(run), key) {
			t.Errorf("%s is not asked for", key)
		}
	}
	got, err := d.evidence(run, found)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
