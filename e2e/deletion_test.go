//go:build services

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/measure"
)

// TestDeletionDeletes deletes a conversation and searches for its content in every possible way,
// over the API and in the database itself: all of it was deleted with the conversation. The same
// prompt of another conversation stays.
//
// Covers: P29.
func TestDeletionDeletes(t *testing.T) {
	t.Parallel()
	h := newHosted(t, readingModel)
	h.env = append(h.env, "OIDC_SECRET=none")
	h.finish(t, "migrate", "--set", "journal.dsn={env:OWNER_DSN}")
	ann := h.settle(t, "ann")
	h.write(t, "shop/people.txt", "Bea Kumquat, 12 Plum Lane\n")
	h.write(t, "shop/others.txt", "nobody in particular\n")
	h.start(t, "worker: ready", "worker", "--workspace", ann.tenant+"/shop="+filepath.Join(h.dir, "shop"))
	at := h.serve(t)
	read := func(file string) (id, hash string) {
		t.Helper()
		status, begun := h.call(t, at, ann, http.MethodPost, "/v1/conversations", map[string]any{"workspace": "shop", "message": "read " + file})
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
			_, said := h.call(t, at, ann, http.MethodGet, "/v1/conversations/"+c.ID+"/messages", nil)
			if json.Unmarshal([]byte(text), &calls) == nil && len(calls.Items) > 1 && calls.Items[0].Prompt != "" && strings.Contains(said, "got: ") {
				return c.ID, calls.Items[0].Prompt
			}
			if time.Now().After(deadline) {
				t.Fatalf("no prompt was kept: %.300s", text)
			}
		}
	}
	gone, hash := read("people.txt")
	stays, same := read("others.txt")
	text := func(id string) (int, bool) {
		status, text := h.call(t, at, ann, http.MethodGet, "/v1/conversations/"+id+"/texts/"+hash, nil)
		return status, strings.Contains(text, "main")
	}
	if status, there := text(gone); status != http.StatusOK || !there || same != hash {
		t.Fatalf("the prompt: %d, %t", status, there)
	}
	kept := h.tablesWith(t, "Kumquat")
	ways := []string{"/v1/search?q=Kumquat"}
	for _, part := range []string{"", "/messages", "/export", "/agents/main/tool-calls", "/agents/main/model-calls/1.1", "/agents/main/model-calls/2.1"} {
		ways = append(ways, "/v1/conversations/"+gone+part)
	}
	ways = slices.DeleteFunc(ways, func(path string) bool {
		_, text := h.call(t, at, ann, http.MethodGet, path, nil)
		return !strings.Contains(text, "Kumquat")
	})
	t.Logf("before the deletion the tables %v have it, and %v tell of it", kept, ways)
	if len(ways) < 4 || len(kept) == 0 {
		t.Fatal("that is too little to show anything")
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
	wall := measure.NewWall(t, "1.8")
	status, there := text(gone)
	wall.Try(status != http.StatusNotFound || there, "the prompt after the deletion: %d, %t", status, there)
	for _, path := range ways {
		_, text := h.call(t, at, ann, http.MethodGet, path, nil)
		wall.Try(strings.Contains(text, "Kumquat"), "%s after the deletion: %s", path, text)
	}
	left := h.tablesWith(t, "Kumquat")
	for _, table := range kept {
		wall.Try(slices.Contains(left, table), "the table %s has it after the deletion", table)
	}
	if len(left) > 0 {
		t.Errorf("after the deletion the tables %v have it", left)
	}
	if status, there := text(stays); status != http.StatusOK || !there {
		t.Errorf("the same prompt of another conversation: %d, %t", status, there)
	}
}

// tablesWith are the tables of the journal's database with a row that has a word in it, as text or
// as bytes.
func (h *hosted) tablesWith(t *testing.T, word string) (found []string) {
	t.Helper()
	for _, table := range strings.Fields(h.psql(t, `select format('%I.%I', table_schema, table_name) from information_schema.tables
		where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`)) {
		if h.psql(t, fmt.Sprintf("select count(*) from %[1]s x where x::text ilike '%%%[2]s%%' or x::text like '%%%[3]x%%'", table, word, []byte(word))) != "0" {
			found = append(found, table)
		}
	}
	return found
}
