package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/sqlite/query"
)

// view runs statements that see one moment, however many they are.
func (l *Log) view(ctx context.Context, doing string, do func(*query.Queries) error) error {
	tx, err := l.reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fault(doing, err)
	}
	defer tx.Rollback() //nolint:errcheck // nothing was written
	return fault(doing, do(l.reads.WithTx(tx)))
}

// read runs statements about one conversation, which must exist.
func (l *Log) read(
	ctx context.Context, doing string, ref journal.Ref, do func(*query.Queries, query.Conversation) error,
) error {
	return l.view(ctx, doing, func(q *query.Queries) error {
		c, err := q.ConversationOf(ctx, query.ConversationOfParams{
			Tenant: ref.Tenant, Conversation: ref.Conversation,
		})
		if errors.Is(err, sql.ErrNoRows) {
			return journal.NotFound()
		}
		if err != nil {
			return err
		}
		return do(q, c)
	})
}

// stored is an entry as the queries return it.
type stored struct {
	Seq    int64
	Number int64
	Kind   string
	At     int64
	Body   string
}

func (s stored) entry() (journal.Entry, error) {
	row, err := journal.Read(journal.Kind(s.Kind), []byte(s.Body))
	return journal.Entry{Seq: s.Seq, Number: s.Number, At: moment(s.At), Row: row}, err
}

func entries[R ~struct {
	Seq    int64
	Number int64
	Kind   string
	At     int64
	Body   string
}](rows []R) ([]journal.Entry, error) {
	out := make([]journal.Entry, 0, len(rows))
	for _, row := range rows {
		e, err := stored(row).entry()
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// Entries implements journal.Reader.
func (l *Log) Entries(
	ctx context.Context, ref journal.Ref, after int64, limit int,
) (out []journal.Entry, err error) {
	err = l.read(ctx, "read entries", ref, func(q *query.Queries, _ query.Conversation) error {
		rows, err := q.EntriesAfter(ctx, query.EntriesAfterParams{
			Tenant: ref.Tenant, Conversation: ref.Conversation, After: after,
			Count: int64(journal.Page{Limit: limit}.Size()), Bytes: journal.PageBytes,
		})
		if err != nil {
			return err
		}
		out, err = entries(rows)
		return err
	})
	return out, err
}

// Find implements journal.Reader.
func (l *Log) Find(
	ctx context.Context, ref journal.Ref, keys ...string,
) (out []journal.Entry, err error) {
	wanted, err := json.Marshal(keys)
	if err != nil {
		return nil, fmt.Errorf("find entries: %w", err)
	}
	err = l.read(ctx, "find entries", ref, func(q *query.Queries, _ query.Conversation) error {
		rows, err := q.EntriesByKey(ctx, query.EntriesByKeyParams{
			Tenant: ref.Tenant, Conversation: ref.Conversation, Keys: string(wanted),
		})
		if err != nil {
			return err
		}
		out, err = entries(rows)
		return err
	})
	return out, err
}

// Mail implements journal.Reader.
func (l *Log) Mail(ctx context.Context, ref journal.Ref, agent string) (out []journal.Entry, err error) {
	err = l.read(ctx, "read mail", ref, func(q *query.Queries, _ query.Conversation) error {
		rows, err := q.MailOf(ctx, query.MailOfParams{Tenant: ref.Tenant, Conversation: ref.Conversation, Agent: agent})
		if err != nil {
			return err
		}
		out, err = entries(rows)
		return err
	})
	return out, err
}

// Mailboxes implements journal.Reader.
func (l *Log) Mailboxes(ctx context.Context, ref journal.Ref) (out []string, err error) {
	err = l.read(ctx, "read mailboxes", ref, func(q *query.Queries, _ query.Conversation) error {
		out, err = q.MailboxesOf(ctx, query.MailboxesOfParams{Tenant: ref.Tenant, Conversation: ref.Conversation})
		return err
	})
	return out, err
}

// Steps implements journal.Reader.
func (l *Log) Steps(
	ctx context.Context, ref journal.Ref, task string, after int,
) (out []journal.Stepped, err error) {
	err = l.read(ctx, "read steps", ref, func(q *query.Queries, _ query.Conversation) error {
		rows, err := q.StepsOf(ctx, query.StepsOfParams{
			Tenant: ref.Tenant, Conversation: ref.Conversation, Task: task,
			AfterKey: journal.Stepped{In: journal.In{Task: task}, N: after}.Key(),
		})
		if err != nil {
			return err
		}
		found, err := entries(rows)
		for _, e := range found {
			if step, ok := e.Row.(journal.Stepped); ok && step.N > after {
				out = append(out, step)
			}
		}
		return err
	})
	return out, err
}

// Transcript implements journal.Reader.
func (l *Log) Transcript(
	ctx context.Context, ref journal.Ref, agent string, page journal.Page,
) (out []journal.Message, err error) {
	err = l.read(ctx, "read transcript", ref, func(q *query.Queries, _ query.Conversation) error {
		rows, err := q.TranscriptOf(ctx, query.TranscriptOfParams{
			Tenant: ref.Tenant, Conversation: ref.Conversation, Agent: agent,
			Before: before(page), Count: int64(page.Size()),
		})
		if err != nil {
			return err
		}
		found, err := entries(rows)
		out = messages(found)
		return err
	})
	return out, err
}

// Chat implements journal.Reader.
func (l *Log) Chat(
	ctx context.Context, ref journal.Ref, page journal.Page,
) (out []journal.Message, err error) {
	err = l.read(ctx, "read chat", ref, func(q *query.Queries, _ query.Conversation) error {
		rows, err := q.ChatOf(ctx, query.ChatOfParams{
			Tenant: ref.Tenant, Conversation: ref.Conversation, Before: before(page),
			Count: int64(page.Size()), Bytes: page.Most(),
		})
		if err != nil {
			return err
		}
		found, err := entries(rows)
		out = messages(found)
		return err
	})
	return out, err
}

// Marks implements journal.Reader.
func (l *Log) Marks(
	ctx context.Context, ref journal.Ref, page journal.Page,
) (out []journal.Entry, err error) {
	err = l.read(ctx, "read marks", ref, func(q *query.Queries, _ query.Conversation) error {
		rows, err := q.MarksOf(ctx, query.MarksOfParams{
			Tenant: ref.Tenant, Conversation: ref.Conversation, Before: before(page),
			Count: int64(page.Size()),
		})
		if err != nil {
			return err
		}
		out, err = entries(rows)
		slices.Reverse(out)
		return err
	})
	return out, err
}

// messages turns entries, the newest first, into messages, the oldest first.
func messages(found []journal.Entry) []journal.Message {
	out := make([]journal.Message, 0, len(found))
	for _, e := range slices.Backward(found) {
		out = append(out, journal.MessageOf(e))
	}
	return out
}

// before is the sequence number under which a page lies.
func before(page journal.Page) int64 {
	if page.Before > 0 {
		return page.Before
	}
	return math.MaxInt64
}

// Records implements journal.Reader.
func (l *Log) Records(ctx context.Context, ref journal.Ref) (out []journal.Record, err error) {
	err = l.read(ctx, "read records", ref, func(q *query.Queries, _ query.Conversation) error {
		rows, err := q.RecordsOf(ctx, query.RecordsOfParams{
			Tenant: ref.Tenant, Conversation: ref.Conversation,
		})
		if err != nil {
			return err
		}
		for _, row := range rows {
			r, err := record(row)
			if err != nil {
				return err
			}
			out = append(out, r)
		}
		return nil
	})
	return out, err
}

func record(r query.RecordsOfRow) (journal.Record, error) {
	out := journal.Record{
		ID: r.ID, Session: r.SessionID, Parent: r.ParentMessageID, StartedAt: moment(r.StartedAt),
		CompletedAt: momentIf(r.CompletedAt), Duration: r.DurationMs, Role: r.AgentRole,
		Depth: int(r.AgentDepth), Model: r.ModelID, Prompt: r.SystemPromptID,
		RequestType: journal.RequestType(r.RequestType), Request: r.RequestContent,
		ContextMode: r.ContextMode, ContextTokens: r.ContextTokenCount,
		Response: r.ResponseContent, Summary: r.ResponseSummary, PromptTokens: r.PromptTokens,
		CompletionTokens: r.CompletionTokens, Iterations: int(r.IterationCount),
		MaxIterations: int(r.MaxIterations), MaxDuration: r.MaxDurationMs, Bailout: r.BailoutReason,
		Status: chat.Status(r.Status), Error: r.ErrorMessage,
	}
	err := errors.Join(
		json.Unmarshal([]byte(r.ToolCallsJson), &out.ToolCalls),
		json.Unmarshal([]byte(r.FilesModifiedJson), &out.Files),
		json.Unmarshal([]byte(r.MetadataJson), &out.Details),
	)
	if err != nil {
		return out, fmt.Errorf("record %d: %w", r.ID, err)
	}
	return out, nil
}
