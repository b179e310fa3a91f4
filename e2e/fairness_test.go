//go:build services

package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/measure"
)

// crowdedModel takes as long as a test lasts for slow requests, and a moment for all others.
const crowdedModel = `
name: crowded
rules:
  - {name: never, when: {text: 'never'}, reply: {text: 'at last', delay: 20m}}
  - {name: soon, when: {text: 'soon'}, reply: {text: 'got: it', delay: 300ms}}
  - {name: at_once, when: {text: 'now'}, reply: {text: 'got: it'}}
`

// TestATenantLeavesRoom has one tenant ask for more turns than a worker has slots, all of which
// take for ever. Another one's turn ends all the same. Turns that wait for a slot are not lost.
//
// Covers: P18.
func TestATenantLeavesRoom(t *testing.T) {
	t.Parallel()
	h := newHosted(t, crowdedModel)
	h.env = append(h.env, "OIDC_SECRET=none")
	h.finish(t, "migrate", "--set", "journal.dsn={env:OWNER_DSN}")
	ann, mallory := h.settle(t, "ann"), h.settle(t, "mallory")
	h.start(t, "worker: ready", "worker", "--set", "worker.slots=6", "--set", "worker.tenant_slots=2")
	at := h.serve(t)
	ask := func(who resident, text string) {
		t.Helper()
		if status, said := h.call(t, at, who, http.MethodPost, "/v1/conversations", map[string]any{"message": text}); status != http.StatusCreated {
			t.Fatalf("%d %s", status, said)
		}
	}
	tasks := func(who resident, status string) int {
		_, text := h.call(t, at, who, http.MethodGet, "/v1/tasks?limit=200&status="+status, nil)
		return strings.Count(text, `"conversation":`)
	}
	for range 8 {
		ask(ann, "soon")
	}
	for deadline := time.Now().Add(patience); tasks(ann, "completed") < 8; time.Sleep(glance) {
		if time.Now().After(deadline) {
			t.Fatalf("%d of 8 turns ended, two at a time", tasks(ann, "completed"))
		}
	}
	for range 30 {
		ask(mallory, "never")
	}
	for deadline := time.Now().Add(patience); tasks(mallory, "running") < 2; time.Sleep(glance) {
		if time.Now().After(deadline) {
			t.Fatal("nothing of mallory's runs")
		}
	}
	wall := measure.NewWall(t, "1.7")
	for n := 0; n < 3 && !t.Failed(); n++ {
		said := h.talk(t, at, ann, "", "now")
		wall.Try(!strings.Contains(said, "got: it"), "ann's turn does not end, and she is told %q", said)
	}
	if failed := tasks(mallory, "failed"); failed > 0 {
		t.Errorf("%d turns of mallory's failed: they only wait", failed)
	}
}
