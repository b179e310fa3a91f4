//go:build services

package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/people"
	peoplestore "github.com/retinue-dev/retinue/internal/people/postgres"
)

// writingModel writes a file, which a person must allow.
const writingModel = `
name: writing
rules:
  - {name: write, when: {turn: 0}, reply: {calls: [{tool: write_file, args: {path: note.txt, content: 'A note.'}}]}}
  - {name: done, when: {turn: 1, results: true}, reply: {text: 'got: ${result}'}}
`

// TestASecondPairOfEyes has a person try to allow a call that they asked for, in a tenant that
// requires a second person.
//
// Covers: P23.
func TestASecondPairOfEyes(t *testing.T) {
	t.Parallel()
	h := newHosted(t, writingModel)
	h.env = append(h.env, "OIDC_SECRET=none")
	h.finish(t, "migrate", "--set", "journal.dsn={env:OWNER_DSN}")
	ann := h.settle(t, "ann")
	bob := h.invite(t, ann, "bob")
	h.start(t, "worker: ready", "worker", "--workspace", ann.tenant+"/shop="+filepath.Join(h.dir, "shop"))
	at := h.serve(t)

	if status, text := h.call(t, at, bob, http.MethodPut, "/v1/policy", map[string]any{"second_pair": true}); status != http.StatusForbidden {
		t.Errorf("a member changes the policy: %d %s", status, text)
	}
	if status, text := h.call(t, at, ann, http.MethodPut, "/v1/policy", map[string]any{"second_pair": true}); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	private := map[string]any{"message": "write it down", "visibility": "private"}
	if status, text := h.call(t, at, ann, http.MethodPost, "/v1/conversations", private); status != http.StatusConflict || !strings.Contains(text, "second pair of eyes") {
		t.Errorf("ann begins a conversation that no second pair of eyes can see: %d %s", status, text)
	}
	path, body := h.wanted(t, at, ann)
	if status, text := h.call(t, at, ann, http.MethodPost, path, body); status != http.StatusForbidden || !strings.Contains(text, "second pair of eyes") {
		t.Fatalf("ann allows what she asked for: %d %s", status, text)
	}
	if _, err := os.Stat(filepath.Join(h.dir, "shop", "note.txt")); err == nil {
		t.Fatal("it was written")
	}
	if status, text := h.call(t, at, bob, http.MethodPost, path, body); status != http.StatusOK {
		t.Fatalf("bob allows it: %d %s", status, text)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(glance) {
		if _, err := os.Stat(filepath.Join(h.dir, "shop", "note.txt")); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("what bob allowed was not done: %v", err)
		}
	}
	path, body = h.wanted(t, at, bob)
	body["allow"] = false
	if status, text := h.call(t, at, bob, http.MethodPost, path, body); status != http.StatusOK {
		t.Errorf("bob denies what he asked for: %d %s", status, text)
	}
	if status, _ := h.call(t, at, ann, http.MethodPut, "/v1/policy", map[string]any{"second_pair": false}); status != http.StatusOK {
		t.Fatal("the policy cannot be taken back")
	}
	path, body = h.wanted(t, at, ann)
	if status, text := h.call(t, at, ann, http.MethodPost, path, body); status != http.StatusOK {
		t.Errorf("without the policy: %d %s", status, text)
	}
}

// wanted begins a conversation, and returns where and with what its first approval is decided.
func (h *hosted) wanted(t *testing.T, at string, who resident) (path string, body map[string]any) {
	t.Helper()
	status, begun := h.call(t, at, who, http.MethodPost, "/v1/conversations", map[string]any{"workspace": "shop", "message": "write it down"})
	var c struct{ ID string }
	if err := json.Unmarshal([]byte(begun), &c); err != nil || status != http.StatusCreated {
		t.Fatalf("%d %s", status, begun)
	}
	path = "/v1/conversations/" + c.ID + "/approvals"
	for deadline := time.Now().Add(patience); ; time.Sleep(glance) {
		_, text := h.call(t, at, who, http.MethodGet, path, nil)
		var list struct{ Items []struct{ ID, Hash string } }
		if err := json.Unmarshal([]byte(text), &list); err == nil && len(list.Items) > 0 {
			return path + "/" + list.Items[0].ID + "/decision", map[string]any{"allow": true, "hash": list.Items[0].Hash, "scope": "once"}
		}
		if time.Now().After(deadline) {
			t.Fatalf("nothing is to be approved: %s", text)
		}
	}
}

// invite lets somebody into a tenant, and gives them a key there.
func (h *hosted) invite(t *testing.T, host resident, name string) resident {
	t.Helper()
	kept, err := peoplestore.Open(t.Context(), peoplestore.Options{DSN: h.value("JOURNAL_DSN"), Connections: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	err = kept.AddMember(t.Context(), host.tenant, people.Member{
		ID: "m" + name, Email: name + "@example.org", Role: people.RoleMember, AddedBy: "ann@example.org", AddedAt: time.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return h.arrive(t, kept, name, host.tenant)
}
