package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/retinue-dev/retinue/internal/journal"
)

// trip sends the one query of a reading transaction together with everything around it: one round
// trip instead of four.
type trip struct {
	conn *pgxpool.Conn
	ref  journal.Ref
}

// thereIs finds a row if the conversation exists.
const thereIs = `select from conversations where tenant_id = $1 and conversation_id = $2`

// Query implements query.DBTX.
func (t *trip) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	b := &pgx.Batch{}
	b.Queue(toRead)
	b.Queue(setTenant, t.ref.Tenant, journal.ViewerOf(ctx))
	b.Queue(thereIs, t.ref.Tenant, t.ref.Conversation)
	b.Queue(sql, args...)
	b.Queue("commit")
	results := t.conn.SendBatch(ctx, b)
	for range 2 {
		if _, err := results.Exec(); err != nil {
			_ = results.Close() // it says the same
			return nil, err
		}
	}
	switch tag, err := results.Exec(); {
	case err != nil:
		_ = results.Close()
		return nil, err
	case tag.RowsAffected() == 0:
		if err := results.Close(); err != nil {
			return nil, err
		}
		return nil, journal.NotFound()
	}
	rows, err := results.Query()
	return tripRows{Rows: rows, results: results}, err
}

// tripRows end their transaction when they are closed. Nothing was written, so nobody asks how it
// ended: a connection in the middle of a transaction is closed when it is released.
type tripRows struct {
	pgx.Rows
	results pgx.BatchResults
}

// Close implements pgx.Rows.
func (r tripRows) Close() {
	r.Rows.Close()
	_ = r.results.Close()
}

// Exec and QueryRow implement query.DBTX. No query about a conversation uses them.
func (*trip) Exec(context.Context, string, ...any) (pgconn.CommandTag, error) {
	panic("postgres: a trip only reads")
}

func (*trip) QueryRow(context.Context, string, ...any) pgx.Row {
	panic("postgres: a trip reads rows")
}
