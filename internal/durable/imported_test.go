package durable

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/leg"
)

// TestImportedIsNotCarriedOn asks for everything that would tell the engine. There is none: a
// program that told it would not come back.
func TestImportedIsNotCarriedOn(t *testing.T) {
	log := journaltest.NewMemory()
	c := &Client{Log: log}
	ref := journal.Ref{Tenant: "acme", Conversation: journal.ImportPrefix + "x"}
	rows := []journal.Row{
		journal.Opened{By: "ann"},
		journal.TaskAssigned{In: journal.In{Agent: host.Root, Task: host.Root}, Role: "main"},
		journal.MessageReceived{ID: "m", By: "ann"},
		journal.MailPosted{ID: "message:m", Topic: leg.TopicMessage, To: host.Root},
	}
	if _, err := log.Append(t.Context(), ref, time.UnixMilli(1), rows...); err != nil {
		t.Fatal(err)
	}
	_, err := c.Say(t.Context(), ref, Message{ID: "n", By: "ann"})
	asked := map[string]error{
		"say": err, "cancel": c.Cancel(t.Context(), ref, "x", "ann", ""),
		"decide": c.Decide(t.Context(), ref, journal.ApprovalDecided{In: journal.In{Agent: host.Root, Task: host.Root}, Call: "1.0"}),
	}
	for what, err := range asked {
		if chat.CodeOf(err) != chat.CodeConflict {
			t.Errorf("%s gives %v", what, err)
		}
	}
	if _, err := (&Sweeper{Client: c}).Pass(t.Context()); err != nil {
		t.Error(err)
	}
	entries, err := log.Entries(t.Context(), ref, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	var got []journal.Kind
	for _, e := range entries {
		got = append(got, e.Row.Kind())
	}
	want := []journal.Kind{journal.KindOpened, journal.KindTaskAssigned, journal.KindMessageReceived, journal.KindMailPosted}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the list (+) against what was imported (-):\n%s", diff)
	}
}
