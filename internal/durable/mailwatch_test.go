package durable

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
)

// TestLegsLearnOfMailFromOtherProcesses posts mail for an agent with a leg here, for one that a leg
// here carries, and for one whose leg is elsewhere. Each leg is told once of each post.
func TestLegsLearnOfMailFromOtherProcesses(t *testing.T) {
	t.Parallel()
	log, now := journaltest.NewMemory(), time.Now()
	post := func(conversation, id, to string, at time.Time) {
		t.Helper()
		rows := []journal.Row{journal.MailPosted{ID: id, Topic: "agent", To: to}}
		if id == "1" {
			rows = append([]journal.Row{journal.Opened{By: "ann"}}, rows...)
		}
		if _, err := log.Append(t.Context(), journal.Ref{Tenant: "t", Conversation: conversation}, at, rows...); err != nil {
			t.Fatal(err)
		}
	}
	legs := map[string]bool{"t/here/main": true, "t/here/main/a": true}
	var told []string
	w := &mailWatch{
		log: log, now: func() time.Time { return now }, told: map[postKey]time.Time{},
		tell: func(ref journal.Ref, agent string) bool {
			id := host.RunID(ref, agent)
			if legs[id] {
				told = append(told, id)
			}
			return legs[id]
		},
	}
	look := func(want ...string) {
		t.Helper()
		told = nil
		w.look(t.Context())
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("told (+) against the wanted (-):\n%s", diff)
		}
	}
	look()
	post("here", "1", "main", now.Add(-2*watchAge)) // its leg has read it when it began
	look()
	post("here", "2", "main", now)
	look("t/here/main")
	look()
	post("here", "3", "main/a", now)
	look("t/here/main/a")
	post("here", "4", "main/b/c", now)
	look("t/here/main")
	post("elsewhere", "1", "main", now)
	look()
	legs["t/elsewhere/main"] = true
	look("t/elsewhere/main")
	now = now.Add(2 * watchAge)
	if look(); len(w.told) != 0 {
		t.Errorf("it remembers %d posts", len(w.told))
	}
}
