//go:build services

package postgres_test

import (
	"context"
	"flag"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/journal/postgres"
)

var figures = flag.Bool("figures", false, "measure the journal against the bare driver")

// counter counts statements.
type counter struct{ n atomic.Int64 }

func (c *counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n.Add(1)
	return ctx
}
func (c *counter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (c *counter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

func (c *counter) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) { c.n.Add(1) }
func (c *counter) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// TestFigures prints the figures of make bench/journal.
func TestFigures(t *testing.T) {
	if !*figures {
		t.Skip("run by make bench/journal")
	}
	dsn := database(t)
	var count counter
	log, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn, Role: postgres.Role, Tracer: &count})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	conn := connect(t, dsn, postgres.Role)
	journaltest.Figures(t, log, func(ctx context.Context, ref journal.Ref, in journal.In, n int, seq int64) error {
		for _, rows := range journaltest.Turn(in, n) {
			if err := bare(ctx, conn, ref, rows, seq); err != nil {
				return err
			}
			seq += int64(len(rows))
		}
		return nil
	}, count.n.Load)
}

// bare writes rows like a lone writer who knows that they are new: plain inserts and updates in the
// tenant's transaction, sent together, without a lock and without a read.
func bare(ctx context.Context, conn *pgx.Conn, ref journal.Ref, rows []journal.Row, seq int64) error {
	at := time.UnixMilli(1_700_000_000_000).UTC()
	var b pgx.Batch
	b.Queue("begin")
	b.Queue(`select set_config('app.tenant', $1, true), set_config('app.began', extract(epoch from now())::text, true)`,
		ref.Tenant)
	for _, row := range rows {
		seq++
		e, err := journal.Encode(row)
		if err != nil {
			return err
		}
		b.Queue(`insert into entries (tenant_id, conversation_id, seq, number, key, kind, agent_id, task_id, at, body)
			values ($1, $2, $3, 0, $4, $5, $6, $7, $8, $9::text::jsonb)`,
			ref.Tenant, ref.Conversation, seq, e.Key, string(e.Kind), e.Agent, e.Task, at, string(e.Body))
		bareFold(&b, ref, row, seq, at)
	}
	b.Queue(`update conversations set last_seq = $3, updated_at = $4 where tenant_id = $1 and conversation_id = $2`,
		ref.Tenant, ref.Conversation, seq, at)
	b.Queue("commit")
	return conn.SendBatch(ctx, &b).Close()
}

func bareFold(b *pgx.Batch, ref journal.Ref, row journal.Row, seq int64, at time.Time) {
	t, c := ref.Tenant, ref.Conversation
	switch r := row.(type) {
	case journal.ModelCalled:
		b.Queue(`insert into model_calls (tenant_id, conversation_id, task_id, call_id, agent_id, seq, request_type, turn,
			attempt, model, prompt_hash, status, started_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'running', $12)`,
			t, c, r.Task, r.Call, r.Agent, seq, string(r.Type), r.Turn, r.Attempt, r.Model, r.Prompt, at)
		b.Queue(`insert into leases (tenant_id, conversation_id, key, seq, agent_id, task_id, holder, tokens, cost)
			values ($1, $2, $3, $4, $5, $6, '', $7, $8)`,
			t, c, r.Key(), seq, r.Agent, r.Task, r.HoldTokens, r.HoldCost)
	case journal.ModelReplied:
		b.Queue(`update model_calls set status = $5, input = $6, output = $7, cache_read = $8, cost = $9, finished_at = $10,
			finished_seq = $11 where tenant_id = $1 and conversation_id = $2 and agent_id = $3 and seq = $4`,
			t, c, r.Agent, seq-1, string(r.Status), r.Usage.Input, r.Usage.Output, r.Usage.CacheRead, r.Usage.Cost, at, seq)
		b.Queue(`update agents set input = input + $4, output = output + $5, cache_read = cache_read + $6, cost = cost + $7
			where tenant_id = $1 and conversation_id = $2 and agent_id = $3`,
			t, c, r.Agent, r.Usage.Input, r.Usage.Output, r.Usage.CacheRead, r.Usage.Cost)
		b.Queue(`update leases set settled = true where tenant_id = $1 and conversation_id = $2 and key = $3`,
			t, c, journal.ModelCalled{In: r.In, Call: r.Call}.Key())
	case journal.MessageAdded:
		var words *string
		if r.Message.Speaker == "assistant" {
			text := strings.Join(journal.Split(journal.Words(r.Message.Parts)), " ")
			words = &text
		}
		b.Queue(`insert into messages (tenant_id, conversation_id, seq, agent_id, turn, speaker, in_chat, voided, at, words)
			values ($1, $2, $3, $4, $5, $6, $7, false, $8, array_to_tsvector(string_to_array($9, ' ')))`,
			t, c, seq, r.Agent, r.Turn, string(r.Message.Speaker), words != nil, at, words)
		for _, p := range r.Message.Parts {
			if p.Kind == "tool_use" {
				b.Queue(`insert into tool_calls (tenant_id, conversation_id, agent_id, turn, item, call_id, task_id, seq, tool, voided)
					values ($1, $2, $3, $4, 0, $5, $6, $7, $8, false)`, t, c, r.Agent, r.Turn, p.Call, r.Task, seq, p.Tool)
			}
		}
	case journal.ToolReturned:
		turn, item, _ := chat.CallID(r.Call).Parse()
		b.Queue(`update tool_calls set result = $6, finished_at = $7, duration = $8
			where tenant_id = $1 and conversation_id = $2 and agent_id = $3 and turn = $4 and item = $5`,
			t, c, r.Agent, turn, item, string(r.Status), at, r.Duration)
	default:
		// The others are only in the list.
	}
}
