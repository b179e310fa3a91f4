package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

func said(id string, texts ...string) journal.Row {
	row := journal.MessageReceived{ID: id, By: "ann"}
	for _, text := range texts {
		row.Parts = append(row.Parts, chat.Part{Kind: chat.PartText, Text: text})
	}
	return row
}

// TestErasedWordsAreGone looks behind the journal: no word of an erased conversation is left.
func TestErasedWordsAreGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	log := open(t, path)
	places := begin(t, log, 2)
	for i := range 20 {
		for _, ref := range places {
			row := said(fmt.Sprint(i), "secret of "+ref.Conversation)
			if _, err := log.Append(t.Context(), ref, start, row); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := log.Erase(t.Context(), places[0]); err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]int{"secret": 20, places[0].Conversation: 0} {
		got := 0
		err := raw(t, path).QueryRow("select count(*) from message_words where words match ?", word).Scan(&got)
		if err != nil || got != want {
			t.Errorf("%d messages hold %q, %v; want %d", got, word, err, want)
		}
	}
	for _, table := range []string{"entries", "agents", "tasks", "messages"} {
		left := 0
		err := raw(t, path).QueryRow("select count(*) from " + table + " where conversation_id = 'c0'").Scan(&left)
		if err != nil || left != 0 {
			t.Errorf("%d rows of %s are left, %v", left, table, err)
		}
	}
}
