//go:build services

package e2e

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAPrivateConversation has ann keep a conversation to herself while bob, of the same tenant,
// asks for it in every way that a program has, and then has her share it.
//
// Covers: P21.
func TestAPrivateConversation(t *testing.T) {
	t.Parallel()
	h := newHosted(t, writingModel)
	h.env = append(h.env, "OIDC_SECRET=none")
	h.finish(t, "migrate", "--set", "journal.dsn={env:OWNER_DSN}")
	ann := h.settle(t, "ann")
	bob := h.invite(t, ann, "bob")
	h.start(t, "worker: ready", "worker", "--workspace", ann.tenant+"/shop="+filepath.Join(h.dir, "shop"))
	at := h.serve(t)
	const word = "kumquat"
	status, begun := h.call(t, at, ann, http.MethodPost, "/v1/conversations", map[string]any{
		"workspace": "shop", "title": word, "message": "write " + word + " down", "visibility": "private",
	})
	var c struct{ ID, Visibility string }
	if err := json.Unmarshal([]byte(begun), &c); err != nil || status != http.StatusCreated || c.Visibility != "private" {
		t.Fatalf("%d %s", status, begun)
	}
	lists := []string{"/v1/conversations", "/v1/inbox", "/v1/search?q=" + word, "/v1/tasks", "/v1/usage?by=conversation"}
	here := "/v1/conversations/" + c.ID
	inbox := func(who resident) string {
		_, text := h.call(t, at, who, http.MethodGet, "/v1/inbox", nil)
		return text
	}
	for deadline := time.Now().Add(patience); !strings.Contains(inbox(ann), c.ID); time.Sleep(glance) {
		if time.Now().After(deadline) {
			t.Fatalf("nothing waits for ann: %s", inbox(ann))
		}
	}
	_, text := h.call(t, at, ann, http.MethodGet, here+"/approvals", nil)
	var open struct{ Items []struct{ ID, Hash string } }
	if err := json.Unmarshal([]byte(text), &open); err != nil || len(open.Items) != 1 {
		t.Fatalf("%s", text)
	}
	decision := here + "/approvals/" + open.Items[0].ID + "/decision"
	yes := map[string]any{"allow": true, "hash": open.Items[0].Hash, "scope": "once"}
	attempts := 0
	for _, path := range lists {
		for who, sees := range map[*resident]bool{&ann: true, &bob: false} {
			status, text := h.call(t, at, *who, http.MethodGet, path, nil)
			if status != http.StatusOK || strings.Contains(text, c.ID) != sees {
				t.Errorf("%s, sees it: %t, want %t (%d): %s", path, strings.Contains(text, c.ID), sees, status, text)
			}
		}
		attempts++
	}
	for _, try := range []struct {
		method, path string
		body         any
	}{
		{http.MethodGet, here, nil},
		{http.MethodGet, here + "/messages", nil},
		{http.MethodGet, here + "/agents", nil},
		{http.MethodGet, here + "/agents/main", nil},
		{http.MethodGet, here + "/tasks", nil},
		{http.MethodGet, here + "/approvals", nil},
		{http.MethodGet, here + "/events", nil},
		{http.MethodGet, here + "/export", nil},
		{http.MethodGet, here + "/usage", nil},
		{http.MethodPost, here + "/messages", map[string]any{"text": "hello"}},
		{http.MethodPost, here + "/cancel", map[string]any{}},
		{http.MethodPost, decision, yes},
		{http.MethodPost, here + "/share", nil},
		{http.MethodPost, here + "/archive", nil},
		{http.MethodDelete, here, nil},
	} {
		attempts++
		if status, text := h.call(t, at, bob, try.method, try.path, try.body); status != http.StatusNotFound || strings.Contains(text, word) {
			t.Errorf("bob: %s %s: %d %s", try.method, try.path, status, text)
		}
	}
	t.Logf("%d attempts, 0 may succeed", attempts)
	if status, text := h.call(t, at, ann, http.MethodPost, here+"/share", nil); status != http.StatusAccepted {
		t.Fatalf("ann shares it: %d %s", status, text)
	}
	if status, text := h.call(t, at, bob, http.MethodGet, here, nil); status != http.StatusOK || !strings.Contains(text, word) {
		t.Errorf("bob looks at what is shared: %d %s", status, text)
	}
	if !strings.Contains(inbox(bob), c.ID) {
		t.Errorf("nothing waits for bob: %s", inbox(bob))
	}
	if status, text := h.call(t, at, bob, http.MethodPost, decision, yes); status != http.StatusOK {
		t.Errorf("bob decides: %d %s", status, text)
	}
}
