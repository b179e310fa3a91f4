package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/sqlite/query"
	"github.com/retinue-dev/retinue/internal/journal/tables"
)

// across runs a query about conversations and converts its rows.
func across[P, R, T any](
	ctx context.Context, l *Log, doing string, q ask[P, R], params P, as func([]R) ([]T, error),
) (out []T, err error) {
	err = l.view(ctx, doing, func(queries *query.Queries) error {
		rows, err := q(queries, ctx, params)
		if err != nil {
			return err
		}
		out, err = as(rows)
		return err
	})
	return out, err
}

// Conversations implements journal.Lists.
func (l *Log) Conversations(ctx context.Context, tenant string, page journal.Page) ([]journal.Conversation, error) {
	at, id, err := journal.ParseCursor(page.Cursor)
	if err != nil {
		return nil, err
	}
	list := (*query.Queries).RecentConversations
	if page.Archived {
		list = func(q *query.Queries, ctx context.Context, p query.RecentConversationsParams) ([]query.Conversation, error) {
			return q.ArchivedConversations(ctx, query.ArchivedConversationsParams(p))
		}
	}
	return across(ctx, l, "list conversations", list, query.RecentConversationsParams{
		Tenant: tenant, Before: at.UnixMilli(), BeforeID: id, Count: tables.Size(page.Limit),
	}, tables.Each(conversation))
}

// Untouched implements journal.Lists.
func (l *Log) Untouched(ctx context.Context, tenant string, before time.Time, after string, limit int) ([]string, error) {
	return across(ctx, l, "list untouched conversations", (*query.Queries).UntouchedConversations, query.UntouchedConversationsParams{
		Tenant: tenant, After: after, Before: tables.Until(before), Count: tables.Size(limit),
	}, tables.Each(func(id string) string { return id }))
}

// Weight implements journal.Reader.
func (l *Log) Weight(ctx context.Context, ref journal.Ref) (journal.Weight, error) {
	found, err := across(ctx, l, "weigh a conversation", (*query.Queries).WeightOf, query.WeightOfParams{
		Tenant: ref.Tenant, Conversation: ref.Conversation,
	}, tables.Each(func(r query.WeightOfRow) journal.Weight {
		return journal.Weight{Rows: r.RowCount, Texts: r.Texts, Bytes: r.Bytes}
	}))
	if err != nil || len(found) == 0 {
		return journal.Weight{}, cmp.Or(err, journal.NotFound())
	}
	return found[0], nil
}

// Tails implements journal.Lists.
func (l *Log) Tails(ctx context.Context, tenant string, conversations ...string) (map[string]journal.Tail, error) {
	out := map[string]journal.Tail{}
	wanted, err := json.Marshal(conversations)
	if err != nil {
		return nil, fmt.Errorf("read tails: %w", err)
	}
	err = l.view(ctx, "read tails", func(q *query.Queries) error {
		rows, err := q.TailsOf(ctx, query.TailsOfParams{Tenant: tenant, Conversations: string(wanted)})
		for _, r := range rows {
			out[r.ConversationID] = journal.Tail{Seq: r.LastSeq, Number: r.LastNumber}
		}
		return err
	})
	return out, err
}

// Lines implements journal.Lists.
func (l *Log) Lines(ctx context.Context, tenant string, conversations ...string) (map[string]journal.Line, error) {
	out := map[string]journal.Line{}
	wanted, err := json.Marshal(conversations)
	if err != nil {
		return nil, fmt.Errorf("read lines: %w", err)
	}
	err = l.view(ctx, "read lines", func(q *query.Queries) error {
		rows, err := q.LinesOf(ctx, query.LinesOfParams{Tenant: tenant, Conversations: string(wanted)})
		for _, r := range rows {
			out[r.Conversation.ConversationID] = journal.Line{
				Conversation: conversation(r.Conversation), Running: int(r.Running), Last: chat.Status(r.Ended),
			}
		}
		return err
	})
	return out, err
}

// Inbox implements journal.Lists.
func (l *Log) Inbox(ctx context.Context, tenant string, limit int) ([]journal.Waiting, error) {
	return across(ctx, l, "read inbox", (*query.Queries).WaitingFor, query.WaitingForParams{
		Tenant: tenant, Count: tables.Size(limit),
	}, tables.Each(func(r query.WaitingForRow) journal.Waiting { return tables.Waiting(r).Waiting() }))
}

// Usage implements journal.Lists.
func (l *Log) Usage(ctx context.Context, tenant string, asked journal.UsageQuery) ([]journal.Used, error) {
	since, until := asked.Span()
	return across(ctx, l, "read usage", (*query.Queries).UsageOf, query.UsageOfParams{
		Tenant: tenant, Conversation: asked.Conversation, Grouped: string(asked.By),
		Since: tables.Until(since), Until: tables.Until(until),
	}, tables.Each(func(r query.UsageOfRow) journal.Used { return tables.Used(r).Used() }))
}

// Text implements journal.Reader.
func (l *Log) Text(ctx context.Context, ref journal.Ref, hash string) (text string, err error) {
	err = l.view(ctx, "read text", func(q *query.Queries) error {
		text, err = q.TextOf(ctx, query.TextOfParams{Tenant: ref.Tenant, Conversation: ref.Conversation, Hash: hash})
		if errors.Is(err, sql.ErrNoRows) {
			return &chat.Error{Code: chat.CodeNotFound, Message: "no text is kept under this hash"}
		}
		return err
	})
	return text, err
}

// Erased implements journal.Reader.
func (l *Log) Erased(ctx context.Context, ref journal.Ref) (journal.Tombstone, error) {
	found, err := across(ctx, l, "read tombstone", (*query.Queries).TombstoneOf, query.TombstoneOfParams{
		Tenant: ref.Tenant, Hash: journal.HashOf(ref.Conversation),
	}, tables.Each(func(r query.TombstoneOfRow) journal.Tombstone {
		return journal.Tombstone{Command: r.Command, At: time.UnixMilli(r.ErasedAt)}
	}))
	if err != nil || len(found) == 0 {
		return journal.Tombstone{}, cmp.Or(err, journal.NotFound())
	}
	return found[0], nil
}

// Working implements journal.Lists.
func (l *Log) Working(
	ctx context.Context, before time.Time, after journal.WorkingTask, limit int,
) ([]journal.WorkingTask, error) {
	return across(ctx, l, "read tasks of all tenants", (*query.Queries).WorkingTasks, query.WorkingTasksParams{
		Before: tables.Until(before), AfterTenant: after.Tenant, AfterConversation: after.Conversation,
		AfterTask: after.Task, Count: tables.Size(limit),
	}, tables.Each(func(r query.WorkingTasksRow) journal.WorkingTask { return tables.Working(r).Working() }))
}

// Pending implements journal.Lists.
func (l *Log) Pending(ctx context.Context, before time.Time, limit int) ([]journal.Post, error) {
	return across(ctx, l, "read mailbox", (*query.Queries).PendingPosts, query.PendingPostsParams{
		Before: tables.Until(before), Count: tables.Size(limit),
	}, tables.Each(func(r query.PendingPostsRow) journal.Post { return tables.Post(r).Post() }))
}

// Arrived implements journal.Lists.
func (l *Log) Arrived(ctx context.Context, after time.Time, limit int) ([]journal.Post, error) {
	return across(ctx, l, "read new mail", (*query.Queries).ArrivedPosts, query.ArrivedPostsParams{
		After: after.UnixMilli(), Count: tables.Size(limit),
	}, tables.Each(func(r query.ArrivedPostsRow) journal.Post { return tables.Post(r).Post() }))
}

// Tasks implements journal.Lists. Unfinished ones are few and have an index of their own.
func (l *Log) Tasks(ctx context.Context, tenant string, asked journal.TaskQuery) ([]journal.TaskLine, error) {
	place, err := asked.After()
	if err != nil {
		return nil, err
	}
	list := (*query.Queries).NewestTasks
	if asked.Status != "" && !asked.Status.Terminal() {
		list = func(q *query.Queries, ctx context.Context, p query.NewestTasksParams) ([]query.NewestTasksRow, error) {
			rows, err := q.OpenTasks(ctx, query.OpenTasksParams(p))
			return tables.All(rows, func(r query.OpenTasksRow) query.NewestTasksRow { return query.NewestTasksRow(r) }), err
		}
	}
	return across(ctx, l, "list tasks", list, query.NewestTasksParams{
		Tenant: tenant, Before: place.At.UnixMilli(), BeforeConversation: place.Conversation, BeforeTask: place.Task,
		Conversation: asked.Conversation, Status: string(asked.Status), Role: asked.Role, OpenedBy: asked.By,
		MinCost: asked.MinCost, Count: tables.Size(asked.Limit),
	}, tables.TaskLines(func(r query.NewestTasksRow) tables.TaskLine {
		return tables.TaskLine{
			Task: tables.Task(r.Task), Role: r.Role, OpenedBy: r.OpenedBy, Title: r.Title, Cost: r.Cost,
			Begun: r.Begun, Ended: r.Ended,
		}
	}))
}

// Runs implements journal.Lists.
func (l *Log) Runs(ctx context.Context, tenant string, since time.Time) ([]journal.RoleRuns, error) {
	return across(ctx, l, "sum runs", (*query.Queries).RoleRunsSince, query.RoleRunsSinceParams{
		Tenant: tenant, Since: tables.Until(since),
	}, tables.Each(func(r query.RoleRunsSinceRow) journal.RoleRuns { return tables.RoleRuns(r).RoleRuns() }))
}
