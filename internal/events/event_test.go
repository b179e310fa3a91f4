package events_test

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/events"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

// unseen are the kinds of rows that are no event, or only some of the time.
var unseen = map[journal.Kind]bool{
	journal.KindStepped: true, journal.KindMailPosted: true, journal.KindMailDelivered: true, journal.KindEditProposed: true,
	journal.KindHostReached: true, journal.KindTainted: true,
}

// TestEveryKindHasAnEvent gives a row of every kind to those who watch.
func TestEveryKindHasAnEvent(t *testing.T) {
	t.Parallel()
	for _, row := range journal.Kinds() {
		e, ok := events.Of("c", journal.Entry{Seq: 1, Row: row})
		if ok == unseen[row.Kind()] {
			t.Errorf("%s is an event: %v", row.Kind(), ok)
		}
		if want := e.Type.DataType(); ok && (want == nil || want != reflect.TypeOf(e.Data)) {
			t.Errorf("%s is a %q with %T, which the document describes as %v", row.Kind(), e.Type, e.Data, want)
		}
	}
}

// TestThePageListsEveryEvent compares the table of events in docs/api.md with the types of what is
// recorded. A name that begins with a full stop goes on with the noun before it.
func TestThePageListsEveryEvent(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n| event | data |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var listed []wire.EventType
	noun := ""
	for _, row := range strings.Split(table, "\n") {
		names, _, _ := strings.Cut(strings.TrimPrefix(row, "|"), "|")
		for _, m := range regexp.MustCompile("`([a-z]*)(\\.[a-z]+)`").FindAllStringSubmatch(names, -1) {
			if m[1] != "" {
				noun = m[1]
			}
			listed = append(listed, wire.EventType(noun+m[2]))
		}
	}
	slices.Sort(listed)
	if diff := cmp.Diff(wire.Recorded(), listed); diff != "" {
		t.Errorf("the types of events that are recorded (-) and those in docs/api.md (+):\n%s", diff)
	}
}

// TestEveryStatusHasAType moves a task to every status. One at rest is not said to be queued.
func TestEveryStatusHasAType(t *testing.T) {
	t.Parallel()
	got := map[string]wire.EventType{}
	for serial := 1; serial <= 2; serial++ {
		for _, status := range []chat.Status{
			chat.StatusQueued, chat.StatusPending, chat.StatusRunning, chat.StatusWaiting, chat.StatusCompleted, chat.StatusFailed,
			chat.StatusCancelled, chat.StatusTimedOut,
		} {
			e, _ := events.Of("c", journal.Entry{Seq: 1, Row: journal.StatusChanged{Serial: serial, Status: status}})
			got[fmt.Sprint(status, " ", serial)] = e.Type
		}
	}
	want := map[string]wire.EventType{
		"queued 1": wire.AgentQueued, "pending 1": wire.AgentQueued, "running 1": wire.AgentStarted, "waiting 1": wire.AgentWaiting,
		"completed 1": wire.AgentSettled, "failed 1": wire.AgentSettled, "cancelled 1": wire.AgentSettled, "timed_out 1": wire.AgentSettled,
		"queued 2": wire.AgentQueued, "pending 2": wire.AgentQueued, "running 2": wire.AgentResumed, "waiting 2": wire.AgentWaiting,
		"completed 2": wire.AgentSettled, "failed 2": wire.AgentSettled, "cancelled 2": wire.AgentSettled, "timed_out 2": wire.AgentSettled,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the types that moves should have (-) and those that they have (+):\n%s", diff)
	}
}
