package leg

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/model"
	"github.com/retinue-dev/retinue/internal/tool"
)

// camera is a tool that gives an image for each call, by the number of the call.
type camera [][]byte

func (camera) Definition() tool.Definition {
	return tool.Definition{Name: "look", Description: "Looks.", Class: chat.ClassPure, Schema: json.RawMessage(`{"type": "object"}`)}
}

func (c camera) Run(_ context.Context, call tool.Call) (tool.Result, error) {
	_, n, _ := strings.Cut(call.ID, "#1.")
	i, err := strconv.Atoi(n)
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Result{End: tool.EndOK, Text: "an image", Images: []tool.Image{{Type: "image/png", Data: c[i]}}}, nil
}

// illustrated is a leg with calls that gave an image each, recorded, and the message with their
// results.
func illustrated(t *testing.T, images ...[]byte) (*leg, chat.Message) {
	t.Helper()
	run := host.RunRef{Ref: journal.Ref{Tenant: "t", Conversation: "c"}, Agent: "main", Task: "main"}
	set, err := tool.NewSet(tool.Options{}, camera(images))
	if err != nil {
		t.Fatal(err)
	}
	l := New(Options{Host: host.Options{Log: journaltest.NewMemory(), Catalog: rules{}, Tools: oneShelf{set}}}).newLeg(Input{RunRef: run})
	for i := range images {
		call := fmt.Sprint("1.", i)
		end := l.RunTool(t.Context(), host.Permit{RunRef: run, Run: agent.RunTool{Call: call}, Part: chat.Part{Call: call, Tool: "look", Args: "{}"}})
		row, ok := end.Rows[0].(journal.ToolReturned)
		if !ok || len(row.Images) != 1 || len(row.Images[0]) > 64 {
			t.Fatalf("a call is recorded as %+v", end.Rows)
		}
		l.cache.learn(end.Rows)
	}
	rows, err := l.appended(t.Context(), agent.Append{Turn: 1, Serial: 1, Results: len(images)})
	if err != nil {
		t.Fatal(err)
	}
	spoke, ok := rows[0].(journal.MessageAdded)
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

// TestOldImagesGiveWay has more images than a request takes: the model sees the newest, and a note
// for each of the others.
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
