package leg

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/model"
	"github.com/retinue-dev/retinue/internal/tool"
)

// illustrated is a leg with calls that gave an image each, recorded, and the message with their results.
func illustrated(t *testing.T, images ...[]byte) (*leg, chat.Message) {
	t.Helper()
	whose := Whose{Place: journal.Place{Tenant: "t", Conversation: "c"}, Agent: "main", Task: "main"}
	l := NewHost(Options{Log: journaltest.NewMemory()}).newLeg(Input{Whose: whose})
	for i, data := range images {
		r := tool.Result{End: tool.EndOK, Text: "an image", Images: []tool.Image{{Type: "image/png", Data: data}}}
		end := l.land(t.Context(), permit{Whose: whose, run: agent.RunTool{Call: "1." + string(rune('0'+i))}}, r, nil, l.Now())
		row, ok := end.rows[0].(journal.Resulted)
		if !ok || len(row.Images) != 1 || len(row.Images[0]) > 64 {
			t.Fatalf("a call is recorded as %+v", end.rows)
		}
		l.desk.learn(end.rows)
	}
	rows, err := l.appended(t.Context(), agent.Append{Turn: 1, Serial: 1, Results: len(images)})
	if err != nil {
		t.Fatal(err)
	}
	spoke, ok := rows[0].(journal.Spoke)
	if !ok {
		t.Fatalf("got %+v", rows)
	}
	return l, spoke.Message
}

func TestImagesAreKeptByHashAndShown(t *testing.T) {
	l, said := illustrated(t, []byte("one"), []byte("two"))
	transcript, images, err := l.illustrate(t.Context(), chat.Transcript{said})
	if err != nil {
		t.Fatal(err)
	}
	var got []model.Image
	for _, p := range transcript[0].Parts[2:] {
		got = append(got, images[p.Image])
	}
	want := []model.Image{{MediaType: "image/png", Data: []byte("one")}, {MediaType: "image/png", Data: []byte("two")}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if p := said.Parts[3]; p.Call != "1.1" || strings.Contains(p.Image, "two") {
		t.Errorf("the second image is %+v", p)
	}
	if _, _, err := l.illustrate(t.Context(), chat.Transcript{{Parts: []chat.Part{{Kind: chat.PartImage, Image: "none"}}}}); chat.CodeOf(err) != chat.CodeNotFound {
		t.Errorf("an image that is nowhere gave %v", err)
	}
}

// TestOldImagesGiveWay has more images than a request takes: the newest are shown, of the others the
// model is told.
func TestOldImagesGiveWay(t *testing.T) {
	const each = shownImageBytes / 3
	var images [][]byte
	for _, letter := range []string{"a", "b", "c", "d", "e"} {
		images = append(images, []byte(strings.Repeat(letter, each)))
	}
	l, said := illustrated(t, images...)
	transcript, shown, err := l.illustrate(t.Context(), chat.Transcript{said})
	if err != nil {
		t.Fatal(err)
	}
	var notes []bool
	for _, p := range transcript[0].Parts[:5] {
		notes = append(notes, strings.HasSuffix(p.Text, faded))
	}
	if diff := cmp.Diff([]bool{true, true, false, false, false}, notes); diff != "" || len(shown) != 3 || len(transcript[0].Parts) != 8 {
		t.Errorf("%d of %d parts, %d shown: %s", len(transcript[0].Parts), len(said.Parts), len(shown), diff)
	}
}
