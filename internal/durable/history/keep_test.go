package history

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	pb "go.temporal.io/api/history/v1"
)

// run is a run with so many events.
func run(id string, events int) Run {
	r := Run{Workflow: "w", ID: id, History: &pb.History{}}
	for i := range events {
		r.History.Events = append(r.History.Events, &pb.HistoryEvent{EventId: int64(i + 1)})
	}
	return r
}

// files are the contents of a folder by name.
func files(t *testing.T, folder string) map[string]string {
	t.Helper()
	out := map[string]string{}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(data)
	}
	return out
}

func TestWhatIsStoredStays(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "histories", "unreleased")
	if kept, err := Keep(folder, "talk", []Run{run("a", 3), run("b", 2)}); err != nil || !kept {
		t.Fatalf("the first is not stored: %v", err)
	}
	before := files(t, folder)
	// A later build makes other runs of the same conversation, and more of them.
	if kept, err := Keep(folder, "talk", []Run{run("c", 9), run("d", 9), run("e", 9)}); err != nil || kept {
		t.Errorf("kept %v, %v: it was stored already", kept, err)
	}
	if kept, err := Keep(folder, "other", []Run{run("f", 1)}); err != nil || !kept {
		t.Errorf("kept %v, %v: a new conversation is added", kept, err)
	}
	after := files(t, folder)
	for name, data := range before {
		if after[name] != data {
			t.Errorf("%s was changed", name)
		}
	}
	names := []string{"other.0.json.gz", "talk.0.json.gz", "talk.1.json.gz"}
	for name := range after {
		if !slices.Contains(names, name) {
			t.Errorf("%s was written", name)
		}
	}
	if len(after) != len(names) {
		t.Errorf("there are %d files, not %d", len(after), len(names))
	}
	if got, err := Load(filepath.Join(folder, "talk.0.json.gz")); err != nil || got.ID != "a" || len(got.History.Events) != 3 {
		t.Errorf("read back %+v, %v", got, err)
	}
}

// TestHalfAConversationIsRefused shows that a history whose storing was cut off is refused: its
// first run, with which it counts as stored, is missing.
func TestHalfAConversationIsRefused(t *testing.T) {
	folder := t.TempDir()
	if err := run("b", 2).Store(filepath.Join(folder, "talk.1.json.gz")); err != nil {
		t.Fatal(err)
	}
	before := files(t, folder)
	kept, err := Keep(folder, "talk", []Run{run("a", 3), run("b", 9)})
	if kept || !errors.Is(err, fs.ErrExist) {
		t.Errorf("kept %v, %v: nothing is overwritten", kept, err)
	}
	if after := files(t, folder); len(after) != 1 || after["talk.1.json.gz"] != before["talk.1.json.gz"] {
		t.Errorf("the folder was changed")
	}
}
