package durable

import (
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/journal"
)

// TestAWorkerKnowsItsTenants gives a worker work that its queues would never bring: in a workspace of that name, for
// another tenant. It must be refused before anything is read.
//
// Covers: P22.
func TestAWorkerKnowsItsTenants(t *testing.T) {
	h := NewHost(Options{Serves: func(at Workspace) bool { return at == Workspace{Tenant: "acme", Name: "shop"} }})
	forged := Whose{Place: journal.Place{Tenant: "mallory", Conversation: "c"}, Agent: Root, Task: Root, Workspace: "shop"}
	_, leg := h.Leg(t.Context(), LegInput{Whose: forged})
	_, review := h.Review(t.Context(), ReviewInput{Whose: forged, Call: "c1"})
	for name, err := range map[string]error{"leg": leg, "review": review} {
		if err == nil || !strings.Contains(err.Error(), "does not serve the workspace mallory/shop") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestQueuesOfTenants(t *testing.T) {
	seen := map[string]Workspace{}
	for _, at := range []Workspace{{"acme", "shop"}, {"mallory", "shop"}, {"acme", "stall"}, {"local", "/srv/shop"}, {"acme", ""}} {
		if other, taken := seen[at.queue()]; taken {
			t.Errorf("%v and %v share %s", at, other, at.queue())
		}
		seen[at.queue()] = at
	}
	if got := (Workspace{Tenant: "acme"}).queue(); got != controlQueue {
		t.Errorf("without a workspace: %s", got)
	}
}
