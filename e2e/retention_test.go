//go:build services

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestOldConversationsGo has two servers delete conversations that nobody has touched for longer
// than a tenant's limit, one of which waits for a person. A younger conversation stays, and so do
// all of a tenant without a limit.
//
// Covers: P29.
func TestOldConversationsGo(t *testing.T) {
	t.Parallel()
	h := newHosted(t, writingModel)
	h.env = append(h.env, "OIDC_SECRET=none")
	h.finish(t, "migrate", "--set", "journal.dsn={env:OWNER_DSN}")
	ann, eve := h.settle(t, "ann"), h.settle(t, "eve")
	shop := "/shop=" + filepath.Join(h.dir, "shop")
	h.start(t, "worker: ready", "worker", "--workspace", ann.tenant+shop, "--workspace", eve.tenant+shop)
	at := h.serve(t)
	begin := func(who resident, days int) (id string) {
		path, _ := h.wanted(t, at, who)
		id, _, _ = strings.Cut(strings.TrimPrefix(path, "/v1/conversations/"), "/")
		h.age(t, who.tenant, id, days)
		return id
	}
	old, young, kept := begin(ann, 9), begin(ann, 5), begin(eve, 900)
	if status, text := h.call(t, at, ann, http.MethodPut, "/v1/policy", map[string]any{"second_pair": false, "retention_days": 7}); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	if status, text := h.call(t, at, ann, http.MethodPut, "/v1/policy", map[string]any{"second_pair": false}); status != http.StatusOK || !strings.Contains(text, `"retention_days":7`) {
		t.Errorf("a change that does not speak of it: %d %s", status, text)
	}
	h.serve(t) // a server looks when it starts
	for deadline := time.Now().Add(patience); ; time.Sleep(glance) {
		if status, _ := h.call(t, at, ann, http.MethodGet, "/v1/conversations/"+old, nil); status == http.StatusNotFound {
			break
		} else if time.Now().After(deadline) {
			t.Fatal("the old conversation is still there")
		}
	}
	for who, id := range map[resident]string{ann: young, eve: kept} {
		if status, text := h.call(t, at, who, http.MethodGet, "/v1/conversations/"+id, nil); status != http.StatusOK || strings.Contains(text, `"archived":true`) {
			t.Errorf("a conversation that was to stay: %d %s", status, text)
		}
	}
	if got := h.traces(t, at, ann, "conversation.delete", old); got != 1 {
		t.Errorf("%d entries say that retention deleted it, want 1", got)
	}
}

// age makes a conversation look as if nobody had touched it for some days.
func (h *hosted) age(t *testing.T, tenant, id string, days int) {
	t.Helper()
	if got := h.psql(t, fmt.Sprintf(`update conversations set updated_at = now() - interval '%d days'
		where tenant_id = '%s' and conversation_id = '%s' returning 1`, days, tenant, id)); got != "1" {
		t.Fatalf("the conversation is not aged: %q", got)
	}
}

// psql puts a statement to the journal's database, as its owner, and returns the answer.
func (h *hosted) psql(t *testing.T, statement string) string {
	t.Helper()
	out, err := exec.Command("psql", "-qAt", h.value("OWNER_DSN"), "-c", statement).CombinedOutput()
	if err != nil {
		t.Fatalf("psql: %v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// traces counts the entries of a tenant's trail that say that retention did something to a
// conversation.
func (h *hosted) traces(t *testing.T, at string, who resident, action, conversation string) (n int) {
	t.Helper()
	_, text := h.call(t, at, who, http.MethodGet, "/v1/audit?limit=1000", nil)
	var trail struct {
		Items []struct{ Action, User, Conversation string }
	}
	if err := json.Unmarshal([]byte(text), &trail); err != nil {
		t.Fatal(err)
	}
	for _, e := range trail.Items {
		if e.Action == action && e.Conversation == conversation && e.User == "retention" {
			n++
		}
	}
	return n
}
