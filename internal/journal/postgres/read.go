package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/postgres/query"
	"github.com/retinue-dev/retinue/internal/journal/tables"
)

// read runs one query about a conversation, which must exist.
func (l *Log) read(ctx context.Context, doing string, ref journal.Ref, do func(*query.Queries) error) error {
	pool := l.pool
	if journal.IsReading(ctx) {
		pool = l.reads
	}
	return fault(doing, pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		return do(query.New(&trip{conn: conn, ref: ref}))
	}))
}

// ask is a query: its parameters, its rows.
type ask[Params, Row any] func(*query.Queries, context.Context, Params) ([]Row, error)

// about runs a query about a conversation, which must exist, and converts its rows.
func about[P, R, T any](
	ctx context.Context, l *Log, doing string, ref journal.Ref, q ask[P, R], params P, as func([]R) ([]T, error),
) (out []T, err error) {
	err = l.read(ctx, doing, ref, func(queries *query.Queries) error {
		rows, err := q(queries, ctx, params)
		if err != nil {
			return err
		}
		out, err = as(rows)
		return err
	})
	return out, err
}

// Entries implements journal.Reader.
func (l *Log) Entries(ctx context.Context, ref journal.Ref, after int64, limit int) ([]journal.Entry, error) {
	return about(ctx, l, "read entries", ref, (*query.Queries).EntriesAfter, query.EntriesAfterParams{
		Tenant: ref.Tenant, Conversation: ref.Conversation, After: after, Count: tables.Size(limit), Bytes: journal.PageBytes,
	}, tables.Entries)
}

// Find implements journal.Reader.
func (l *Log) Find(ctx context.Context, ref journal.Ref, keys ...string) ([]journal.Entry, error) {
	return about(ctx, l, "find entries", ref, (*query.Queries).EntriesByKey, query.EntriesByKeyParams{
		Tenant: ref.Tenant, Conversation: ref.Conversation, Keys: keys,
	}, tables.Entries)
}

// Mail implements journal.Reader.
func (l *Log) Mail(ctx context.Context, ref journal.Ref, agent string) ([]journal.Entry, error) {
	return about(ctx, l, "read mail", ref, (*query.Queries).MailOf, query.MailOfParams{
		Tenant: ref.Tenant, Conversation: ref.Conversation, Agent: agent,
	}, tables.Entries)
}

// Mailboxes implements journal.Reader.
func (l *Log) Mailboxes(ctx context.Context, ref journal.Ref) ([]string, error) {
	return about(ctx, l, "read mailboxes", ref, (*query.Queries).MailboxesOf, query.MailboxesOfParams{
		Tenant: ref.Tenant, Conversation: ref.Conversation,
	}, tables.Each(func(agent string) string { return agent }))
}

// Steps implements journal.Reader.
func (l *Log) Steps(ctx context.Context, ref journal.Ref, task string, after int) ([]journal.Stepped, error) {
	return about(ctx, l, "read steps", ref, (*query.Queries).StepsOf, query.StepsOfParams{
		Tenant: ref.Tenant, Conversation: ref.Conversation, Task: task,
		AfterKey: journal.Stepped{In: journal.In{Task: task}, N: after}.Key(),
	}, tables.StepsAfter[query.StepsOfRow](after))
}

// Transcript implements journal.Reader.
func (l *Log) Transcript(ctx context.Context, ref journal.Ref, agent string, page journal.Page) ([]journal.Message, error) {
	return about(ctx, l, "read transcript", ref, (*query.Queries).TranscriptOf, query.TranscriptOfParams{
		Tenant: ref.Tenant, Conversation: ref.Conversation, Agent: agent,
		Before: tables.Before(page), Count: tables.Size(page.Limit),
	}, tables.Messages)
}

// Chat implements journal.Reader.
func (l *Log) Chat(ctx context.Context, ref journal.Ref, page journal.Page) ([]journal.Message, error) {
	return about(ctx, l, "read chat", ref, (*query.Queries).ChatOf, query.ChatOfParams{
		Tenant: ref.Tenant, Conversation: ref.Conversation, Before: tables.Before(page), Count: tables.Size(page.Limit),
		Bytes: page.Most(),
	}, tables.Messages)
}

// Marks implements journal.Reader.
func (l *Log) Marks(ctx context.Context, ref journal.Ref, page journal.Page) ([]journal.Entry, error) {
	return about(ctx, l, "read marks", ref, (*query.Queries).MarksOf, query.MarksOfParams{
		Tenant: ref.Tenant, Conversation: ref.Conversation, Before: tables.Before(page), Count: tables.Size(page.Limit),
	}, tables.Reversed)
}

// ModelCalls implements journal.Reader.
func (l *Log) ModelCalls(ctx context.Context, ref journal.Ref, agent string, page journal.Page) ([]journal.ModelCall, error) {
	return about(ctx, l, "read model calls", ref, (*query.Queries).ModelCallsOf, query.ModelCallsOfParams{
		Tenant: ref.Tenant, Conversation: ref.Conversation, Agent: agent,
		Before: tables.Before(page), Count: tables.Size(page.Limit),
	}, tables.Backward(func(c query.ModelCall) journal.ModelCall { return tables.ModelCall(c).ModelCall() }))
}

// ToolCalls implements journal.Reader.
func (l *Log) ToolCalls(ctx context.Context, ref journal.Ref, agent string, page journal.Page) ([]journal.ToolCall, error) {
	return about(ctx, l, "read tool calls", ref, (*query.Queries).ToolCallsOf, query.ToolCallsOfParams{
		Tenant: ref.Tenant, Conversation: ref.Conversation, Agent: agent,
		Before: tables.Before(page), Count: tables.Size(page.Limit),
	}, tables.Backward(func(c query.ToolCall) journal.ToolCall { return tables.ToolCall(c).ToolCall() }))
}

// Records implements journal.Reader.
func (l *Log) Records(ctx context.Context, ref journal.Ref) ([]journal.Record, error) {
	return about(ctx, l, "read records", ref, (*query.Queries).RecordsOf, query.RecordsOfParams{
		Tenant: ref.Tenant, Conversation: ref.Conversation,
	}, tables.Records(func(r query.RecordsOfRow) tables.Record { return tables.Record(r) }))
}
