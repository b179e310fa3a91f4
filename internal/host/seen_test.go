package host

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/tool"
)

// TestSeenIsWhatTheAgentKnewBeforeTheCall asks at several calls of one agent for its last view of a
// file.
//
// Covers: E-109.
func TestSeenIsWhatTheAgentKnewBeforeTheCall(t *testing.T) {
	log, ref := journaltest.NewMemory(), journal.Ref{Tenant: "t", Conversation: "c"}
	in := journal.In{Agent: "main", Task: "main"}
	rows := []journal.Row{journal.Opened{By: "ada"}, journal.TaskAssigned{In: in, Role: "main"}}
	know := func(turn, calls int, facts ...tool.Facts) {
		m := chat.Message{ID: fmt.Sprintf("t%d", turn), Speaker: chat.Assistant}
		for i := range calls {
			m.Parts = append(m.Parts, chat.Part{Kind: chat.PartToolUse, Call: fmt.Sprintf("%d.%d", turn, i), Tool: "x", Args: "{}"})
		}
		rows = append(rows, journal.MessageAdded{In: in, Turn: turn, Message: m})
		for i, f := range facts {
			body, err := json.Marshal(f)
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, journal.ToolReturned{In: in, Call: fmt.Sprintf("%d.%d", turn, i), Status: journal.CallCompleted, Text: "x", Facts: body})
		}
	}
	read := func(path, hash string) tool.Facts { return tool.Facts{Read: []tool.File{{Path: path, Hash: hash}}} }
	wrote := func(path, hash string) tool.Facts { return tool.Facts{Wrote: []tool.Change{{Path: path, After: hash}}} }
	know(1, 2, read("b", "b1"), read("a", "a1"))
	many := []tool.Facts{read("first", "f1")}
	for range 250 {
		many = append(many, read("other", "o"))
	}
	know(2, len(many), many...)
	for turn := 3; turn < 1300; turn++ {
		know(turn, 1, read("other", "o"))
	}
	know(1300, 2, wrote("a", "a2"), read("a", "a3"))
	know(1301, 1)
	if _, err := log.Append(t.Context(), ref, time.Unix(0, 0), rows...); err != nil {
		t.Fatal(err)
	}
	h := New(Options{Log: log})
	for _, c := range []struct{ before, path, want string }{
		{"1.0", "a", ""},
		{"1.1", "b", "b1"},
		{"1.1", "a", ""},
		{"2.0", "a", "a1"},
		{"1300.0", "a", "a1"},
		{"1300.1", "a", "a2"},
		{"1301.0", "a", "a3"},
		{"1301.0", "b", "b1"},
		{"2.250", "first", "f1"},
		{"1301.0", "never", ""},
	} {
		got, err := h.seen(t.Context(), RunRef{Ref: ref, Agent: "main", Task: "main"}, c.before, []string{c.path, "also " + c.path})
		if err != nil || got != c.want {
			t.Errorf("before %s of %s: %q %v, want %q", c.before, c.path, got, err, c.want)
		}
	}
}
