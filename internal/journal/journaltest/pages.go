package journaltest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// largePages reads messages of a third of a page each, of letters that take three bytes: no page
// gets much larger than it may, none is without anything, and one after the other they have
// everything.
func largePages(t *testing.T, f Fixture) {
	const count = 20
	large := strings.Repeat("語", journal.PageBytes/9)
	write(t, f.Log, ref, opening()...)
	var said []int64
	for i := range count {
		text := large
		if i == count/2 {
			text = strings.Repeat(large, 4) // larger than a page by itself
		}
		written := write(t, f.Log, ref, journal.MessageReceived{
			ID: fmt.Sprint("m", i), By: "ann", Parts: []chat.Part{{Kind: chat.PartText, Text: text}},
		})
		said = append(said, written[0].Seq)
	}
	var seqs []int64
	for after := int64(0); ; {
		entries, err := f.Log.Entries(t.Context(), ref, after, journal.PageMaxLimit)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) == 0 {
			break
		}
		if len(entries) > 6 { // the two of the opening and four messages
			t.Fatalf("a page has %d entries", len(entries))
		}
		for _, e := range entries {
			after = e.Seq
			if e.Number > 0 {
				seqs = append(seqs, e.Seq)
			}
		}
	}
	if diff := cmp.Diff(said, seqs); diff != "" {
		t.Errorf("messages read by entries (+) against those said (-):\n%s", diff)
	}
	chatPages(t, f, said)
}

// chatPages reads the same messages backwards, as a chat.
func chatPages(t *testing.T, f Fixture, said []int64) {
	t.Helper()
	var seqs []int64
	for page := (journal.Page{Limit: journal.PageMaxLimit, Bytes: journal.PageBytes}); ; {
		list, err := f.Log.Chat(t.Context(), ref, page)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			break
		}
		if len(list) > 4 {
			t.Fatalf("a page has %d messages", len(list))
		}
		var part []int64
		for _, m := range list {
			part = append(part, m.Seq)
		}
		seqs, page.Before = append(part, seqs...), part[0]
	}
	if diff := cmp.Diff(said, seqs); diff != "" {
		t.Errorf("messages read as a chat (+) against those said (-):\n%s", diff)
	}
	whole, err := f.Log.Chat(t.Context(), ref, journal.Page{})
	if err != nil || len(whole) != len(said) {
		t.Errorf("%d of %d messages when the size does not matter: %v", len(whole), len(said), err)
	}
}
