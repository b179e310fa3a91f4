//go:build services

package e2e

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// TestTextInAHistoryIsFound shows that the search for text in histories finds some.
func TestTextInAHistoryIsFound(t *testing.T) {
	entries := []journal.Entry{
		{Row: journal.MessageReceived{Parts: []chat.Part{{Kind: chat.PartText, Text: "Please feed the \"canary\" before it is dark outside"}}}},
	}
	snippets := snippetsOf(entries)
	if diff := cmp.Diff([]string{"before it is dark outside"}, snippets); diff != "" {
		t.Fatal(diff)
	}
	if found := contained([]byte(`{"text":"feed it before it is dark outside"}`), snippets); found == "" {
		t.Error("a text in a history was not found")
	}
	if found := contained([]byte(`{"call":"1.0","task":"main/1.0.0"}`), snippets); found != "" {
		t.Errorf("%q was found where it is not", found)
	}
}

// TestOrderIsPartOfTheJournal shows which differences the comparison accepts.
func TestOrderIsPartOfTheJournal(t *testing.T) {
	in := journal.In{Agent: "main", Task: "main"}
	end := func(call string) journal.Entry {
		return journal.Entry{Row: journal.ToolReturned{In: in, Call: call, Status: journal.CallCompleted, Duration: 7}}
	}
	turn := journal.Entry{Row: journal.TurnEnded{In: in, Serial: 1, Turn: 1, Status: chat.StatusCompleted}}
	text := func(entries ...journal.Entry) string {
		out, err := normalJournal(entries, func(s string) string { return s })
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if diff := cmp.Diff(text(end("1.0"), end("1.1"), turn), text(end("1.1"), end("1.0"), turn)); diff != "" {
		t.Errorf("results that come side by side are told apart:\n%s", diff)
	}
	if text(end("1.0"), turn) == text(turn, end("1.0")) {
		t.Error("a result after the end of a turn was not noticed")
	}
	if text(end("1.0"), turn) == text(turn) {
		t.Error("a missing result was not noticed")
	}
}
