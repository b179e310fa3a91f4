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

// TestDeletionDeletes deletes a conversation and asks for a text that was kept for it, the prompt: it went with the
// conversation. The same text of another conversation stays.
//
// Covers: P29.
func TestDeletionDeletes(t *testing.T) {
	t.Parallel()
	h := newHosted(t, readingModel)
	h.env = append(h.env, "OIDC_SECRET=none")
	h.finish(t, "migrate", "--set", "journal.dsn={env:OWNER_DSN}")
	ann := h.settle(t, "ann")
	h.write(t, "shop/people.txt", "Bea Kumquat, 12 Plum Lane\n")
	h.start(t, "worker: ready", "worker", "--workspace", ann.tenant+"/shop="+filepath.Join(h.dir, "shop"))
	at := h.serve(t)
	read := func() (id, hash string) {
		t.Helper()
		status, begun := h.call(t, at, ann, http.MethodPost, "/v1/conversations", map[string]any{"workspace": "shop", "message": "read people.txt"})
		var c struct{ ID string }
		if err := json.Unmarshal([]byte(begun), &c); err != nil || status != http.StatusCreated {
			t.Fatalf("%d %s", status, begun)
		}
		for deadline := time.Now().Add(patience); ; time.Sleep(glance) {
			_, text := h.call(t, at, ann, http.MethodGet, "/v1/conversations/"+c.ID+"/agents/main/model-calls", nil)
			var calls struct {
				Items []struct {
					Prompt string `json:"prompt"`
				}
			}
			if json.Unmarshal([]byte(text), &calls) == nil && len(calls.Items) > 1 && calls.Items[0].Prompt != "" {
				return c.ID, calls.Items[0].Prompt
			}
			if time.Now().After(deadline) {
				t.Fatalf("no prompt was kept: %.300s", text)
			}
		}
	}
	gone, hash := read()
	stays, same := read()
	text := func(id string) (int, bool) {
		status, text := h.call(t, at, ann, http.MethodGet, "/v1/conversations/"+id+"/texts/"+hash, nil)
		return status, strings.Contains(text, "main")
	}
	if status, there := text(gone); status != http.StatusOK || !there || same != hash {
		t.Fatalf("the prompt: %d, %t", status, there)
	}
	if status, said := h.call(t, at, ann, http.MethodDelete, "/v1/conversations/"+gone, nil); status != http.StatusAccepted {
		t.Fatalf("%d %s", status, said)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(glance) {
		if status, _ := h.call(t, at, ann, http.MethodGet, "/v1/conversations/"+gone, nil); status == http.StatusNotFound {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the conversation is still there")
		}
	}
	if status, there := text(gone); status != http.StatusNotFound || there {
		t.Errorf("the prompt after the deletion: %d, %t", status, there)
	}
	if status, there := text(stays); status != http.StatusOK || !there {
		t.Errorf("the same prompt of another conversation: %d, %t", status, there)
	}
}
