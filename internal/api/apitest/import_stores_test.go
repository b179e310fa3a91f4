//go:build services

package apitest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/client"
	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/journal/postgres"
	"github.com/retinue-dev/retinue/internal/journal/postgres/postgrestest"
	"github.com/retinue-dev/retinue/internal/journal/sqlite"
)

var mainTask = journal.In{Agent: "main", Task: "main"}

// stores are the journals that a conversation may be taken from and to.
func stores(t *testing.T) map[string]journal.Log {
	t.Helper()
	file, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "journal.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	database := postgrestest.New(t)
	if err := postgres.Migrate(t.Context(), database.DSN); err != nil {
		t.Fatal(err)
	}
	server, err := postgres.Open(t.Context(), postgres.Options{DSN: database.As("retinue_app")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return map[string]journal.Log{"memory": journaltest.NewMemory(), "sqlite": file, "postgres": server}
}

// TestImportBetweenStores takes a conversation from each store to each.
func TestImportBetweenStores(t *testing.T) {
	all := stores(t)
	clients := map[string]*client.Client{}
	for name, log := range all {
		s := apitest.Start(t, func(o *api.Options) { o.Log = log })
		clients[name] = &client.Client{BaseURL: s.URL, Key: apitest.Token, HTTP: s.Contract.Client(t)}
	}
	const rows = 400
	for from, log := range all {
		ref := journal.Ref{Tenant: apitest.Tenant, Conversation: "talk"}
		write := func(at int64, rows ...journal.Row) {
			if _, err := log.Append(t.Context(), ref, time.UnixMilli(1_700_000_000_000+at), rows...); err != nil {
				t.Fatal(err)
			}
		}
		write(0, journal.Opened{By: "ann", Title: "Talk"}, journal.TaskAssigned{In: mainTask, Role: "main", Brief: json.RawMessage(`{"b":1,"a":[2]}`)})
		for i := range rows {
			write(int64(i/3), journal.MessageAdded{In: mainTask, Turn: i + 1, Message: chat.Message{
				ID: fmt.Sprint("m", i), Speaker: chat.Assistant, Parts: []chat.Part{{Kind: chat.PartText, Text: "Hello <b>\u2028 ✓"}},
			}}, journal.Stepped{In: mainTask, N: i + 1, Event: json.RawMessage(`{"z":0,"a":1}`)})
		}
		first := export(t, clients[from], "talk")
		for to := range all {
			c, err := clients[to].Import(t.Context(), strings.NewReader(first))
			if err != nil {
				t.Fatalf("from %s to %s: %v", from, to, err)
			}
			at := journal.Ref{Tenant: apitest.Tenant, Conversation: c.ID}
			if err := journaltest.Verify(t.Context(), all[to], at); err != nil {
				t.Errorf("from %s to %s: %v", from, to, err)
			}
			second := export(t, clients[to], c.ID)
			if diff := cmp.Diff(entries(t, first), entries(t, second)[:2*rows+2]); diff != "" {
				t.Errorf("from %s to %s: the second export (+) against the first (-):\n%.2000s", from, to, diff)
			}
		}
	}
}

func export(t *testing.T, c *client.Client, conversation string) string {
	t.Helper()
	var out bytes.Buffer
	if err := c.Export(t.Context(), conversation, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// entries are the entries of an export, by what they say.
func entries(t *testing.T, export string) (out []any) {
	t.Helper()
	for line := range strings.Lines(export) {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatal(err)
		}
		if entry["kind"] != nil {
			out = append(out, entry)
		}
	}
	return out
}
