package leg

import (
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
)

// TestAWorkerKnowsItsTenants gives a worker work that its queues would never bring: in a workspace
// of that name, for another tenant. It must be refused before anything is read.
//
// Covers: P22.
func TestAWorkerKnowsItsTenants(t *testing.T) {
	h := New(Options{Host: host.Options{Serves: func(at host.Workspace) bool { return at == host.Workspace{Tenant: "acme", Name: "shop"} }}})
	forged := host.RunRef{Ref: journal.Ref{Tenant: "mallory", Conversation: "c"}, Agent: host.Root, Task: host.Root, Workspace: "shop"}
	_, carried := h.Leg(t.Context(), Input{RunRef: forged}, Watch{Called: t.Context(), Gone: t.Context()})
	_, review := h.Review(t.Context(), ReviewInput{RunRef: forged, Call: "c1"})
	for name, err := range map[string]error{"leg": carried, "review": review} {
		if !host.Refused(err) || !strings.Contains(err.Error(), "does not serve the workspace mallory/shop") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
