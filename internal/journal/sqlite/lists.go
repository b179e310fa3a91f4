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
)

// Conversations implements journal.Lists.
func (l *Log) Conversations(
	ctx context.Context, tenant string, page journal.Page,
) (out []journal.Conversation, err error) {
	at, id, err := journal.ParseCursor(page.Cursor)
	if err != nil {
		return nil, err
	}
	err = l.view(ctx, "list conversations", func(q *query.Queries) error {
		asked := query.RecentConversationsParams{Tenant: tenant, Before: at.UnixMilli(), BeforeID: id, Count: int64(page.Size())}
		list := q.RecentConversations
		if page.Archived {
			list = func(ctx context.Context, p query.RecentConversationsParams) ([]query.Conversation, error) {
				return q.ArchivedConversations(ctx, query.ArchivedConversationsParams(p))
			}
		}
		rows, err := list(ctx, asked)
		out = each(rows, conversation)
		return err
	})
	return out, err
}

// Untouched implements journal.Lists.
func (l *Log) Untouched(
	ctx context.Context, tenant string, before time.Time, after string, limit int,
) (out []string, err error) {
	err = l.view(ctx, "list untouched conversations", func(q *query.Queries) error {
		out, err = q.UntouchedConversations(ctx, query.UntouchedConversationsParams{
			Tenant: tenant, After: after, Before: before.UnixMilli(), Count: int64(journal.Page{Limit: limit}.Size()),
		})
		return err
	})
	return out, err
}

// Weight implements journal.Reader.
func (l *Log) Weight(ctx context.Context, ref journal.Ref) (w journal.Weight, err error) {
	err = l.view(ctx, "weigh a conversation", func(q *query.Queries) error {
		rows, err := q.WeightOf(ctx, query.WeightOfParams{Tenant: ref.Tenant, Conversation: ref.Conversation})
		if err == nil && len(rows) == 0 {
			return journal.NotFound()
		}
		for _, r := range rows {
			w = journal.Weight{Rows: r.RowCount, Texts: r.Texts, Bytes: r.Bytes}
		}
		return err
	})
	return w, err
}

// Tails implements journal.Lists.
func (l *Log) Tails(
	ctx context.Context, tenant string, conversations ...string,
) (map[string]journal.Tail, error) {
	wanted, err := json.Marshal(conversations)
	if err != nil {
		return nil, fmt.Errorf("read tails: %w", err)
	}
	out := map[string]journal.Tail{}
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
func (l *Log) Lines(
	ctx context.Context, tenant string, conversations ...string,
) (map[string]journal.Line, error) {
	wanted, err := json.Marshal(conversations)
	if err != nil {
		return nil, fmt.Errorf("read lines: %w", err)
	}
	out := map[string]journal.Line{}
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
func (l *Log) Inbox(ctx context.Context, tenant string, limit int) (out []journal.Waiting, err error) {
	err = l.view(ctx, "read inbox", func(q *query.Queries) error {
		rows, err := q.WaitingFor(ctx, query.WaitingForParams{
			Tenant: tenant, Count: int64(journal.Page{Limit: limit}.Size()),
		})
		out = each(rows, func(w query.WaitingForRow) journal.Waiting {
			return journal.Waiting{
				Conversation: w.ConversationID, Seq: w.Seq, At: moment(w.At), Agent: w.AgentID,
				Task: w.TaskID, Key: w.EntryKey, Until: w.Until, PrivateTo: w.PrivateTo,
			}
		})
		return err
	})
	return out, err
}

// Usage implements journal.Lists.
func (l *Log) Usage(ctx context.Context, tenant string, asked journal.UsageQuery) (out []journal.Used, err error) {
	since, until := asked.Span()
	err = l.view(ctx, "read usage", func(q *query.Queries) error {
		rows, err := q.UsageOf(ctx, query.UsageOfParams{
			Tenant: tenant, Conversation: asked.Conversation, Grouped: string(asked.By), Since: since.UnixMilli(),
			Until: until.UnixMilli(),
		})
		out = each(rows, func(u query.UsageOfRow) journal.Used {
			return journal.Used{Name: u.Name, Calls: u.Calls, Usage: chat.Usage{
				Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Reasoning: u.Reasoning,
				Cost: u.Cost, Unpriced: u.Unpriced,
			}}
		})
		return err
	})
	return out, err
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
func (l *Log) Erased(ctx context.Context, ref journal.Ref) (stone journal.Tombstone, err error) {
	err = l.view(ctx, "read tombstone", func(q *query.Queries) error {
		rows, err := q.TombstoneOf(ctx, query.TombstoneOfParams{Tenant: ref.Tenant, Hash: journal.HashOf(ref.Conversation)})
		if err != nil || len(rows) == 0 {
			return cmp.Or(err, journal.NotFound())
		}
		stone = journal.Tombstone{Command: rows[0].Command, At: time.UnixMilli(rows[0].ErasedAt)}
		return nil
	})
	return stone, err
}

// Working implements journal.Lists.
func (l *Log) Working(
	ctx context.Context, before time.Time, after journal.WorkingTask, limit int,
) (out []journal.WorkingTask, err error) {
	err = l.view(ctx, "read tasks of all tenants", func(q *query.Queries) error {
		rows, err := q.WorkingTasks(ctx, query.WorkingTasksParams{
			Before: before.Add(time.Millisecond - 1).UnixMilli(), AfterTenant: after.Tenant, AfterConversation: after.Conversation,
			AfterTask: after.Task, Count: int64(journal.Page{Limit: limit}.Size()),
		})
		out = each(rows, func(t query.WorkingTasksRow) journal.WorkingTask {
			return journal.WorkingTask{
				Ref:  journal.Ref{Tenant: t.TenantID, Conversation: t.ConversationID},
				Task: t.TaskID, Agent: t.AgentID, Parent: t.ParentID, Background: t.Background,
			}
		})
		return err
	})
	return out, err
}

// Pending implements journal.Lists.
func (l *Log) Pending(
	ctx context.Context, before time.Time, limit int,
) (out []journal.Post, err error) {
	err = l.view(ctx, "read mailbox", func(q *query.Queries) error {
		rows, err := q.PendingPosts(ctx, query.PendingPostsParams{
			Before: before.Add(time.Millisecond - 1).UnixMilli(), Count: int64(journal.Page{Limit: limit}.Size()),
		})
		out = each(rows, func(p query.PendingPostsRow) journal.Post { return postOf(query.ArrivedPostsRow(p)) })
		return err
	})
	return out, err
}

// Arrived implements journal.Lists.
func (l *Log) Arrived(
	ctx context.Context, after time.Time, limit int,
) (out []journal.Post, err error) {
	err = l.view(ctx, "read new mail", func(q *query.Queries) error {
		rows, err := q.ArrivedPosts(ctx, query.ArrivedPostsParams{After: after.UnixMilli(), Count: int64(journal.Page{Limit: limit}.Size())})
		out = each(rows, postOf)
		return err
	})
	return out, err
}

func postOf(p query.ArrivedPostsRow) journal.Post {
	return journal.Post{
		Ref: journal.Ref{Tenant: p.TenantID, Conversation: p.ConversationID},
		ID:  p.PostID, Topic: p.Topic, To: p.AgentID, At: moment(p.At),
	}
}
