//go:build services

package postgres_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/postgres"
)

// TestPlansOfYoungTables has connections plan when the tables hold a few rows, whether Postgres has
// looked at them or not: it thinks then that to read them whole is cheapest, or that all indexes
// that begin alike are. The plans stay when a conversation grows to a thousand sub-agents within
// the minute, so each statement must find what it wants by the whole of a key.
func TestPlansOfYoungTables(t *testing.T) {
	t.Parallel()
	for _, young := range []struct {
		name    string
		rows    int
		analyze bool
	}{{"empty", 0, false}, {"one, looked at", 1, true}, {"a few", 6, false}, {"a few, looked at", 6, true}} {
		t.Run(young.name, func(t *testing.T) {
			t.Parallel()
			dsn := database(t)
			admin := connect(t, dsn, "")
			work := func(from, to int) {
				log := open(t, dsn)
				defer log.Close()
				for i := range to - from {
					sibling(t, log, from+i)
				}
			}
			work(0, young.rows)
			if young.analyze {
				query(t, admin, "analyze")
			}
			whole := wholeReads(t, admin)
			work(young.rows, 60)
			if after := wholeReads(t, admin); after != whole {
				t.Errorf("tables were read whole:\nbefore %s\nafter  %s", whole, after)
			}
			// A look finds one row, or the few of one agent. One that reads the rows of the siblings too finds
			// some hundred.
			const most = 8
			for _, line := range query(t, admin, `select indexrelname || ': ' || idx_tup_read / idx_scan || ' rows a look, ' || idx_scan || ' looks'
				from pg_stat_user_indexes where idx_scan > 50 and idx_tup_read > idx_scan * `+strconv.Itoa(most)) {
				t.Errorf("an index is read for more than is wanted: %s", line)
			}
		})
	}
}

// sibling writes and reads what a sub-agent of a conversation does.
func sibling(t *testing.T, log *postgres.Log, n int) {
	t.Helper()
	ctx, ref, now := t.Context(), journal.Ref{Tenant: "acme", Conversation: "c"}, time.Now()
	task := fmt.Sprintf("main/1.0.%d", n)
	in, root := journal.In{Agent: task, Task: task}, journal.In{Agent: "main", Task: "main"}
	call := "1.0"
	for _, rows := range [][]journal.Row{
		{journal.Opened{By: "ann"}, journal.TaskAssigned{In: root, Role: "main"}},
		{
			journal.TaskAssigned{In: in, Parent: "main", Depth: 1, Role: "helper", Call: "1.0", Item: n},
			journal.MessageAdded{In: in, Message: chat.Message{ID: "a", Speaker: chat.User, Parts: []chat.Part{{Kind: chat.PartText, Text: "Go."}}}},
		},
		{
			journal.StatusChanged{In: in, Serial: 1, Status: chat.StatusRunning},
			journal.Stepped{In: in, N: 1, Event: []byte(`{}`)},
			journal.ModelCalled{In: in, Call: "1.1", Turn: 1, Attempt: 1, Model: "m"},
		},
		{
			journal.ModelReplied{In: in, Call: "1.1", Status: chat.StatusCompleted},
			journal.Stepped{In: in, N: 2, Event: []byte(`{}`)},
			journal.MessageAdded{In: in, Turn: 1, Message: chat.Message{ID: "t1", Speaker: chat.Assistant, Parts: []chat.Part{
				{Kind: chat.PartToolUse, Call: call, Tool: "read_file", Args: "{}"},
			}}},
			journal.ToolStarted{In: in, Call: call, Attempt: 1, Worker: "w"},
		},
		{journal.ToolReturned{In: in, Call: call, Status: journal.CallCompleted, Text: "x"}, journal.Stepped{In: in, N: 3, Event: []byte(`{}`)}},
		{journal.MailPosted{ID: task + "#stop", Topic: "agent", To: task, Event: []byte(`{}`)}},
		{journal.Stepped{In: in, N: 4, Event: []byte(`{}`)}, journal.MailDelivered{ID: task + "#stop"}},
		{journal.TaskEnded{In: in, Status: chat.StatusCompleted}, journal.Stepped{In: root, N: n + 1, Event: []byte(`{}`)}},
		{journal.MailPosted{ID: task + "#end", Topic: "agent", To: task, Event: []byte(`{}`)}}, // nobody takes it
	} {
		if _, err := log.Append(ctx, ref, now, rows...); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Keep(ctx, ref, "prompt of "+task); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Find(ctx, ref, journal.TaskAssigned{In: in}.Key(), journal.TaskEnded{In: in}.Key()); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Steps(ctx, ref, task, 0); err != nil {
		t.Fatal(err)
	}
	if steps, err := log.Steps(ctx, ref, "main", n); err != nil || len(steps) != 1 { // a leg reads what it does not know yet
		t.Fatalf("the parent has %d steps after its step %d: %v", len(steps), n, err)
	}
	if _, err := log.Transcript(ctx, ref, task, journal.Page{}); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Mail(ctx, ref, task); err != nil {
		t.Fatal(err)
	}
	if _, err := log.ModelCalls(ctx, ref, task, journal.Page{Limit: 1}); err != nil {
		t.Fatal(err)
	}
}

// wholeReads is how often each table was read from one end to the other. The server counts what a
// connection did when that has left.
func wholeReads(t *testing.T, admin *pgx.Conn) string {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		others := query(t, admin, "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'")
		if others[0] == "0" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s connections have not left", others[0])
		}
	}
	return strings.Join(query(t, admin, `select relname || ' ' || seq_scan from pg_stat_user_tables
		where relname not like 'goose%' order by relname`), ", ")
}
