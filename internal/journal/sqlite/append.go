package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/sqlite/query"
)

// Append implements journal.Writer.
func (l *Log) Append(
	ctx context.Context, ref journal.Ref, at time.Time, rows ...journal.Row,
) ([]journal.Written, error) {
	batch, err := journal.NewBatch(ref, at, rows)
	if err != nil {
		return nil, err
	}
	return l.combiner.Append(ctx, ref, batch)
}

// commit writes batches to one conversation in one transaction.
func (l *Log) commit(
	ctx context.Context, ref journal.Ref, batches []*journal.Batch,
) (written [][]journal.Written, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, commitTimeout, errors.New("the commit took too long"))
	defer cancel()
	err = l.write(ctx, "append", func(ctx context.Context, q *query.Queries) error {
		tail, known, err := look(ctx, q, ref, batches)
		if err != nil {
			return err
		}
		plan, err := journal.NewPlan(tail, known, batches)
		if err != nil || len(plan.Insert) == 0 {
			written = plan.Written
			return err
		}
		written = plan.Written
		return insert(ctx, q, ref, plan)
	})
	if err != nil {
		return nil, err
	}
	return written, nil
}

// look makes sure that the conversation exists, and reads what it holds.
func look(
	ctx context.Context, q *query.Queries, ref journal.Ref, batches []*journal.Batch,
) (tail journal.Tail, known map[string]journal.Written, err error) {
	for _, batch := range batches {
		if !batch.Opens() {
			continue
		}
		err := q.OpenConversation(ctx, query.OpenConversationParams{
			Tenant: ref.Tenant, Conversation: ref.Conversation, At: batch.At.UnixMilli(),
		})
		if err != nil {
			return tail, nil, err
		}
		break
	}
	keys, err := json.Marshal(journal.LookUp(batches))
	if err != nil {
		return tail, nil, err
	}
	found, err := q.LookUp(ctx, query.LookUpParams{
		Tenant: ref.Tenant, Conversation: ref.Conversation, Keys: string(keys),
	})
	if err != nil {
		return tail, nil, err
	}
	known = make(map[string]journal.Written, len(found))
	for _, k := range found {
		known[k.Key] = journal.Written{Seq: k.Seq, Number: k.Number, Existed: true}
	}
	end, ok := known[""]
	if !ok {
		return tail, nil, journal.NotFound()
	}
	delete(known, "")
	if end.Seq == 0 && slices.ContainsFunc(batches, (*journal.Batch).OpensOnce) {
		gone, err := q.TombstoneOf(ctx, query.TombstoneOfParams{Tenant: ref.Tenant, Hash: journal.HashOf(ref.Conversation)})
		if err != nil {
			return tail, nil, err
		}
		if len(gone) > 0 {
			return tail, nil, journal.Gone()
		}
	}
	return journal.Tail{Seq: end.Seq, Number: end.Number}, known, nil
}

// insert writes the new rows of a plan, and their fold.
func insert(ctx context.Context, q *query.Queries, ref journal.Ref, plan journal.Plan) error {
	bytes := 0
	for _, n := range plan.Insert {
		bytes += len(n.Body)
		err := q.InsertEntry(ctx, query.InsertEntryParams{
			Tenant: ref.Tenant, Conversation: ref.Conversation, Seq: n.Seq, Number: n.Number,
			Key: n.Key, Kind: string(n.Kind), Agent: n.Agent, Task: n.Task, At: n.At.UnixMilli(),
			Body: string(n.Body),
		})
		if err != nil {
			return fmt.Errorf("insert row %.60q: %w", n.Key, err)
		}
	}
	if err := fold(ctx, q, ref, plan); err != nil {
		return err
	}
	return q.AdvanceConversation(ctx, query.AdvanceConversationParams{
		Tenant: ref.Tenant, Conversation: ref.Conversation,
		LastSeq: plan.Tail.Seq, LastNumber: plan.Tail.Number, At: plan.At.UnixMilli(), Bytes: int64(bytes),
	})
}

// Keep implements journal.Writer.
func (l *Log) Keep(ctx context.Context, ref journal.Ref, texts ...string) error {
	return l.write(ctx, "keep texts", func(ctx context.Context, q *query.Queries) error {
		may, err := q.MayKeep(ctx, query.MayKeepParams{
			Tenant: ref.Tenant, Conversation: ref.Conversation, Hash: journal.HashOf(ref.Conversation),
		})
		if err != nil {
			return err
		}
		if may == 0 {
			return journal.NotFound()
		}
		for _, text := range texts {
			text = journal.Printable(text)
			err := q.KeepText(ctx, query.KeepTextParams{
				Tenant: ref.Tenant, Conversation: ref.Conversation, Hash: journal.HashOf(text), Text: text,
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Erase implements journal.Writer. Everything in a conversation goes with it; messages go first,
// because to find them again for each agent takes longer.
func (l *Log) Erase(ctx context.Context, ref journal.Ref) error {
	return l.write(ctx, "erase", func(ctx context.Context, q *query.Queries) error {
		if err := bury(ctx, q, ref); err != nil {
			return err
		}
		err := q.EraseMessages(ctx, query.EraseMessagesParams{
			Tenant: ref.Tenant, Conversation: ref.Conversation,
		})
		if err != nil {
			return err
		}
		err = q.EraseTexts(ctx, query.EraseTextsParams{Tenant: ref.Tenant, Conversation: ref.Conversation})
		if err != nil {
			return err
		}
		n, err := q.EraseConversation(ctx, query.EraseConversationParams{
			Tenant: ref.Tenant, Conversation: ref.Conversation,
		})
		if err == nil && n == 0 {
			return journal.NotFound()
		}
		return err
	})
}

// bury writes a tombstone for a conversation that is about to be erased.
func bury(ctx context.Context, q *query.Queries, ref journal.Ref) error {
	post, err := q.BodyOf(ctx, query.BodyOfParams{
		Tenant: ref.Tenant, Conversation: ref.Conversation, Key: journal.ErasureKey(),
	})
	if err != nil {
		return err
	}
	return q.Bury(ctx, query.BuryParams{
		Tenant: ref.Tenant, Hash: journal.HashOf(ref.Conversation), Command: journal.CommandOf(post),
	})
}

func (l *Log) write(
	ctx context.Context, doing string, do func(context.Context, *query.Queries) error,
) error {
	return fault(doing, l.writer.write(ctx, do))
}
