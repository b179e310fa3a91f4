package sqlite_test

import (
	"context"
	"database/sql"
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/journal/sqlite"
)

var figures = flag.Bool("figures", false, "measure the journal against the bare driver")

// TestFigures prints the figures of make bench/journal.
func TestFigures(t *testing.T) {
	if !*figures {
		t.Skip("run by make bench/journal")
	}
	path := filepath.Join(t.TempDir(), "journal.db")
	var count journaltest.Counter
	counted := "counted " + path
	sql.Register(counted, &count)
	log, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Driver: counted})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close() //nolint:errcheck // the measurements are read before
	b := newBare(t, path)
	journaltest.Figures(t, log, b.turn, count.N.Load)
}

// bare writes rows like a writer who knows that they are new: plain inserts and updates with
// statements that are prepared once, on one connection that is set up as the journal's is.
type bare struct {
	statements map[string]*sql.Stmt
}

func newBare(t *testing.T, path string) *bare {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)"+
		"&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&_pragma=temp_store(MEMORY)&_dqs=0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	b := &bare{statements: map[string]*sql.Stmt{}}
	for _, text := range []string{
		bareBegin, bareCommit, bareEntry, bareRequest, bareLease, bareResponse, bareUsage, bareSettled,
		bareWords, bareMessage, bareCall, bareResult, bareTail,
	} {
		statement, err := conn.PrepareContext(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = statement.Close() })
		b.statements[text] = statement
	}
	return b
}

// The parameters of a where stand in likely() as they do in the journal's statements: else SQLite
// would plan these each time anew.
const (
	bareBegin  = `begin immediate`
	bareCommit = `commit`
	bareEntry  = `insert into entries (tenant_id, conversation_id, seq, number, key, kind, agent_id, task_id, at, body)
		values (?1, ?2, ?3, 0, ?4, ?5, ?6, ?7, ?8, ?9)`
	bareRequest = `insert into model_calls (tenant_id, conversation_id, task_id, call_id, agent_id, seq, request_type,
		turn, attempt, model, prompt_hash, status, started_at)
		values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 'running', ?12)`
	bareLease = `insert into leases (tenant_id, conversation_id, key, seq, agent_id, task_id, holder, tokens, cost)
		values (?1, ?2, ?3, ?4, ?5, ?6, '', ?7, ?8)`
	bareResponse = `update model_calls set status = ?5, input = ?6, output = ?7, cache_read = ?8, cost = ?9,
		finished_at = ?10 where tenant_id = likely(?1) and conversation_id = likely(?2) and agent_id = likely(?3)
		and seq = likely(?4)`
	bareUsage = `update agents set input = input + ?4, output = output + ?5, cache_read = cache_read + ?6,
		cost = cost + ?7 where tenant_id = likely(?1) and conversation_id = likely(?2) and agent_id = likely(?3)`
	bareSettled = `update leases set settled = 1
		where tenant_id = likely(?1) and conversation_id = likely(?2) and key = likely(?3)`
	bareWords   = `insert into message_words (words) values (?1)`
	bareMessage = `insert into messages (tenant_id, conversation_id, seq, agent_id, turn, speaker, in_chat, voided, at,
		word_row) values (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?8, ?9)`
	bareCall = `insert into tool_calls (tenant_id, conversation_id, agent_id, turn, item, call_id, task_id, seq, tool,
		voided) values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0)`
	bareResult = `update tool_calls set result = ?6, finished_at = ?7, duration = ?8
		where tenant_id = likely(?1) and conversation_id = likely(?2) and agent_id = likely(?3) and turn = likely(?4)
		and item = likely(?5)`
	bareTail = `update conversations set last_seq = ?3, updated_at = ?4
		where tenant_id = likely(?1) and conversation_id = likely(?2)`
)

func (b *bare) turn(ctx context.Context, ref journal.Ref, in journal.In, n int, seq int64) error {
	// The driver watches a context that can end with a goroutine for each statement; the journal
	// spares itself that, and so does this.
	ctx = context.WithoutCancel(ctx)
	for _, rows := range journaltest.Turn(in, n) {
		if err := b.append(ctx, ref, rows, seq); err != nil {
			return err
		}
		seq += int64(len(rows))
	}
	return nil
}

func (b *bare) append(ctx context.Context, ref journal.Ref, rows []journal.Row, seq int64) error {
	w := bareWriter{ctx: ctx, bare: b, at: start.UnixMilli()}
	w.run(bareBegin)
	for _, row := range rows {
		seq++
		e, err := journal.Encode(row)
		if err != nil {
			return err
		}
		w.run(bareEntry, ref.Tenant, ref.Conversation, seq, e.Key, string(e.Kind), e.Agent, e.Task, w.at, string(e.Body))
		w.fold(ref, row, seq)
	}
	w.run(bareTail, ref.Tenant, ref.Conversation, seq, w.at)
	w.run(bareCommit)
	return w.err
}

// bareWriter runs statements until one fails.
type bareWriter struct {
	*bare
	ctx context.Context // it lives for one append
	at  int64
	err error
}

func (w *bareWriter) run(text string, args ...any) (id int64) {
	if w.err != nil {
		return 0
	}
	var result sql.Result
	if result, w.err = w.statements[text].ExecContext(w.ctx, args...); w.err != nil {
		return 0
	}
	id, w.err = result.LastInsertId()
	return id
}

func (w *bareWriter) fold(ref journal.Ref, row journal.Row, seq int64) {
	t, c := ref.Tenant, ref.Conversation
	switch r := row.(type) {
	case journal.ModelCalled:
		w.run(bareRequest, t, c, r.Task, r.Call, r.Agent, seq, string(r.Type), r.Turn, r.Attempt, r.Model, r.Prompt, w.at)
		w.run(bareLease, t, c, r.Key(), seq, r.Agent, r.Task, r.HoldTokens, r.HoldCost)
	case journal.ModelReplied:
		u := r.Usage
		w.run(bareResponse, t, c, r.Agent, seq-1, string(r.Status), u.Input, u.Output, u.CacheRead, u.Cost, w.at)
		w.run(bareUsage, t, c, r.Agent, u.Input, u.Output, u.CacheRead, u.Cost)
		w.run(bareSettled, t, c, journal.ModelCalled{In: r.In, Call: r.Call}.Key())
	case journal.MessageAdded:
		var words any
		if r.Message.Speaker == chat.Assistant {
			words = w.run(bareWords, strings.Join(journal.Split(journal.Words(r.Message.Parts)), " "))
		}
		w.run(bareMessage, t, c, seq, r.Agent, r.Turn, string(r.Message.Speaker), words != nil, w.at, words)
		for _, p := range r.Message.Parts {
			if turn, item, _ := chat.CallID(p.Call).Parse(); p.Kind == chat.PartToolUse {
				w.run(bareCall, t, c, r.Agent, turn, item, p.Call, r.Task, seq, p.Tool)
			}
		}
	case journal.ToolReturned:
		turn, item, _ := chat.CallID(r.Call).Parse()
		w.run(bareResult, t, c, r.Agent, turn, item, string(r.Status), w.at, r.Duration)
	default: // A turn has no others, or they are in the list only.
	}
}
