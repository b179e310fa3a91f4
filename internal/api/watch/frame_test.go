package watch

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/journal"
)

// TestARowOfANewerBuildIsNoEvent shows a row of a kind that this build does not know to those who
// watch: they see what is around it.
func TestARowOfANewerBuildIsNoEvent(t *testing.T) {
	t.Parallel()
	newer := journal.Newer{Of: "hailed", Body: json.RawMessage(`{"id":"1"}`)}
	frames, err := framesOf("c", []journal.Entry{{Seq: 1, Row: journal.Opened{By: "ann"}}, {Seq: 2, Row: newer}, {Seq: 3, Row: journal.Archived{By: "ann"}}})
	pieces := 0
	for _, f := range frames {
		pieces += len(f.pieces)
	}
	if err != nil || pieces != 2 {
		t.Errorf("%d of 2 events, %v", pieces, err)
	}
}

// TestEventsAreSentAsTheyWereRecorded looks at what a person approves: a terminal shows it letter
// by letter.
func TestEventsAreSentAsTheyWereRecorded(t *testing.T) {
	t.Parallel()
	const line = `{"line":"grep '<b>' < in && echo \u2028"}`
	frames, err := framesOf("c", []journal.Entry{{Seq: 1, Row: journal.ApprovalRequested{
		In: journal.In{Agent: "main", Task: "main"}, Call: "1", Tool: "shell", Hash: "h", Show: json.RawMessage(line),
	}}})
	if err != nil || len(frames) != 1 {
		t.Fatal(frames, err)
	}
	text := string(frames[0].pieces[0].bytes)
	if !strings.Contains(text, `"show":`+line) || !strings.HasPrefix(text, "id: 1\nevent: approval.requested\ndata: {") ||
		!strings.HasSuffix(text, "}\n\n") || strings.Count(text, "\n") != 4 {
		t.Errorf("%q", text)
	}
}
