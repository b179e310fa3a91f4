//go:build services

package postgres_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/journal/postgres"
)

// trips counts round trips.
type trips struct {
	counter
	n atomic.Int64
}

func (c *trips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	c.n.Add(1)
	return ctx
}

// TestGuesses counts the round trips of appends: one while the program is alone, and no wrong row
// when it is not.
func TestGuesses(t *testing.T) {
	t.Parallel()
	dsn := database(t)
	var count trips
	log, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn, Role: postgres.Role, Tracer: &count})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	other := open(t, dsn)
	ref := journal.Ref{Tenant: "acme", Conversation: "c"}
	root := journal.In{Agent: "root", Task: "root"}
	n := 0
	write := func(to journal.Log, rows ...journal.Row) int64 {
		t.Helper()
		before := count.n.Load()
		if _, err := to.Append(t.Context(), ref, time.UnixMilli(1), rows...); err != nil {
			t.Fatal(err)
		}
		return count.n.Load() - before
	}
	said := func() journal.Row {
		n++
		return journal.MessageReceived{ID: fmt.Sprint(n), By: "ann"}
	}
	write(log, journaltest.Opening()...)
	voided := chat.Message{ID: "t3", Speaker: chat.Assistant, Parts: []chat.Part{{Kind: chat.PartText, Text: "no"}}}
	steps := []struct {
		name string
		by   journal.Log
		rows []journal.Row
		want int64
	}{
		{"alone", log, []journal.Row{said()}, 1},
		{"alone, about a task", log, []journal.Row{journal.StatusChanged{In: root, Serial: 1, Status: "running"}}, 1},
		{"a request", log, []journal.Row{journal.ModelCalled{In: root, Call: "1.1", Type: "prompt"}}, 1},
		{"its response", log, []journal.Row{journal.ModelReplied{In: root, Call: "1.1", Status: "completed"}}, 1},
		{"the same again", log, []journal.Row{said(), journal.MessageReceived{ID: "1"}}, 3},
		{"after a wrong guess it looks", log, []journal.Row{said()}, 2},
		{"and then guesses again", log, []journal.Row{said()}, 1},
		{"another program", other, []journal.Row{said()}, 0},
		{"somebody else wrote", log, []journal.Row{said()}, 3},
		{"it looks", log, []journal.Row{said()}, 2},
		{"a void from elsewhere", other, []journal.Row{journal.ReplyVoided{In: root, Turn: 3}}, 0},
		{"the voided reply", log, []journal.Row{journal.MessageAdded{In: root, Turn: 3, Message: voided}}, 3},
		{"doubt has grown", log, []journal.Row{said()}, 2},
	}
	for _, s := range steps {
		if got := write(s.by, s.rows...); got != s.want {
			t.Errorf("%s: %d round trips, want %d", s.name, got, s.want)
		}
	}
	if err := journaltest.Verify(t.Context(), log, ref); err != nil {
		t.Error(err)
	}
	messages, err := log.Transcript(t.Context(), ref, "root", journal.Page{})
	if diff := cmp.Diff(0, len(messages)); diff != "" || err != nil {
		t.Errorf("a voided reply is shown: %v, %v", messages, err)
	}
}
