package api_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/wire"
)

// TestUsageIsSummed sums what two agents of one conversation used, by agent and for all
// conversations.
func TestUsageIsSummed(t *testing.T) {
	t.Parallel()
	s, ref := apitest.Crowded(t, journaltest.NewMemory(), nil), journal.Ref{Tenant: "a", Conversation: "c1"}
	below := journal.In{Agent: "main/1.0", Task: "main/1.0"}
	rows := []journal.Row{
		journal.Opened{By: "ann"},
		journal.TaskAssigned{In: mainTask, Role: "main"},
		journal.TaskAssigned{In: below, Parent: "main", Call: "1.0", Depth: 1, Role: "coder"},
	}
	for _, in := range []journal.In{mainTask, below} {
		rows = append(rows, journal.ModelCalled{In: in, Call: "1.1", Turn: 1, Model: "acme/quick"},
			journal.ModelReplied{In: in, Call: "1.1", Status: chat.StatusCompleted, Model: "acme/quick", Usage: chat.Usage{Input: 30, Output: 2, Cost: 5}})
	}
	if _, err := s.Log.Append(t.Context(), ref, time.Now().Add(-time.Minute), rows...); err != nil {
		t.Fatal(err)
	}
	one, both := wire.Usage{Input: 30, Output: 2, Cost: 5}, wire.Usage{Input: 60, Output: 4, Cost: 10}
	for path, want := range map[string]wire.UsageSums{
		"/v1/conversations/c1/usage": {Total: both, Items: []wire.UsageLine{
			{Name: "main", Calls: 1, Own: one, Subtree: &both}, {Name: "main/1.0", Calls: 1, Own: one, Subtree: &one},
		}},
		"/v1/usage?by=conversation":                     {Total: both, Items: []wire.UsageLine{{Name: "c1", Calls: 2, Own: both}}},
		"/v1/usage?until=2020-01-01T00:00:00Z":          {Items: []wire.UsageLine{}},
		"/v1/usage?by=model&since=2020-01-01T00:00:00Z": {Total: both, Items: []wire.UsageLine{{Name: "acme/quick", Calls: 2, Own: both}}},
	} {
		status, body := s.Ask(t, "a/ann", http.MethodGet, path, "", "")
		var got wire.UsageSums
		if err := json.Unmarshal([]byte(body), &got); err != nil || status != http.StatusOK {
			t.Fatalf("%s: status %d, %v: %s", path, status, err, body)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: sums (+) against the wanted (-):\n%s", path, diff)
		}
	}
	if status, _ := s.Ask(t, "a/ann", http.MethodGet, "/v1/usage?since=2021-01-01T00:00:00Z&until=2020-01-01T00:00:00Z", "", ""); status != http.StatusUnprocessableEntity {
		t.Errorf("a span that ends before it begins: status %d", status)
	}
}
