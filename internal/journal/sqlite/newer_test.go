package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// TestARowOfANewerBuildIsRead has a row in the middle of a list whose kind this build does not
// know. The rest is read as usual, the row is handed on as it is, and it cannot be written.
func TestARowOfANewerBuildIsRead(t *testing.T) {
	path, ref := filepath.Join(t.TempDir(), "journal.db"), journal.Ref{Tenant: "acme", Conversation: "c"}
	log, now := open(t, path), time.UnixMilli(1).UTC()
	rows := []journal.Row{journal.Opened{By: "ann"}, journal.Titled{ID: "1", Title: "Birds"}, said("m", "Which one?")}
	if _, err := log.Append(t.Context(), ref, now, rows...); err != nil {
		t.Fatal(err)
	}
	if _, err := raw(t, path).Exec("update entries set kind = 'hailed' where seq = 2"); err != nil {
		t.Fatal(err)
	}
	want := []journal.Entry{
		{Seq: 1, At: now, Row: rows[0]},
		{Seq: 2, At: now, Row: journal.Newer{Of: "hailed", Body: []byte(`{"id":"1","title":"Birds"}`)}},
		{Seq: 3, Number: 1, At: now, Row: rows[2]},
	}
	got, err := log.Entries(t.Context(), ref, 0, 10)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(journal.Opened{}, journal.MessageReceived{}, journal.Newer{})); err != nil || diff != "" {
		t.Errorf("entries should be (-) and are (+): %v\n%s", err, diff)
	}
	if chat, err := log.Chat(t.Context(), ref, journal.Page{}); err != nil || len(chat) != 1 {
		t.Errorf("the chat has %d messages, %v", len(chat), err)
	}
	if _, err := log.Append(t.Context(), ref, now, want[1].Row); chat.CodeOf(err) != chat.CodeInvalid {
		t.Errorf("a row of a kind that nobody here knows was written: %v", err)
	}
}
