package events_test

import (
	"fmt"
	"reflect"
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
		if want := e.Type.DataType(); ok && want != reflect.TypeOf(e.Data) {
			t.Errorf("%s is a %s with %T, which the document describes as %s", row.Kind(), e.Type, e.Data, want)
		}
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
