package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/postgres/query"
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

// The first round trip. It is sent as one, so its statements stand here and not among the
// generated ones, each of which waits for its answer.
const (
	setTenant = `select set_config('app.tenant', $1, true), set_config('app.viewer', $2, true),
		set_config('app.began', extract(epoch from now())::text, true)`

	openConversation = `insert into conversations (tenant_id, conversation_id, opened_at, updated_at)
		values ($1, $2, $3, $3) on conflict do nothing`

	lockConversation = `select birth, last_seq, last_number from conversations
		where tenant_id = $1 and conversation_id = $2 for no key update`

	// tombstone comes after the lock. An eraser holds the lock too, so its tombstone is seen.
	tombstone = `select from tombstones where tenant_id = $1 and hash = $2`

	expect = `select expect($1, $2, $3, $4, $5)`

	keepTexts = `select keep_texts($1, $2, $3, $4, $5)`

	// One look for each key: with key = any ($3) the planner may read all keys of the conversation.
	knownKeys = `select k.key, found.seq, found.number
		from unnest($3::text[]) as k (key),
		lateral (select seq, number from keys where tenant_id = $1 and conversation_id = $2 and key = k.key limit 1) found`
)

// itself is the viewer of a transaction that writes: a read found out before who may write.
const itself = ""

// The signs that a guess is wrong: the code of the error that expect raises, and the constraint
// that refuses an existing key.
const (
	wrongGuess = "RT001"
	oneOfEach  = "keys_pkey"
)

// commit writes batches to one conversation in one transaction: by a guess if it holds, or else
// after a look.
func (l *Log) commit(
	ctx context.Context, ref journal.Ref, batches []*journal.Batch,
) (written [][]journal.Written, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, commitTimeout, errors.New("the commit took too long"))
	defer cancel()
	conn, err := l.pool.Acquire(ctx)
	if err != nil {
		return nil, fault("append", err)
	}
	defer func() {
		// A connection that cannot even roll back is closed when it is released.
		if err != nil && conn.Conn().PgConn().TxStatus() != 'I' {
			_, end := conn.Exec(ctx, "rollback")
			err = errors.Join(err, end)
		}
		conn.Release()
	}()
	if g, ok := l.memory.guess(ref, batches); ok {
		written, err := l.tryGuess(ctx, conn.Conn(), ref, g)
		if !errors.Is(err, errWrongGuess) {
			return written, fault("append", err)
		}
		l.memory.doubt(ref)
	}
	found, err := lock(ctx, conn.Conn(), ref, batches)
	if err != nil {
		return nil, fault("append", err)
	}
	plan, err := journal.NewPlan(found.tail, maps.Clone(found.known), batches)
	if err != nil {
		return nil, err
	}
	if err := finish(ctx, conn.Conn(), ref, plan, &queue{}); err != nil {
		l.memory.forget(ref)
		return nil, fault("append", err)
	}
	l.memory.learn(ref, plan, &found)
	return plan.Written, nil
}

// errWrongGuess says that a guess does not hold and nothing was written.
var errWrongGuess = errors.New("the guess was wrong")

// tryGuess writes a guessed plan in one round trip, in which the database checks the guess.
func (l *Log) tryGuess(
	ctx context.Context, conn *pgx.Conn, ref journal.Ref, g guess,
) ([][]journal.Written, error) {
	out := &queue{}
	out.Queue("begin")
	out.Queue(setTenant, ref.Tenant, itself)
	out.Queue(expect, ref.Tenant, ref.Conversation, g.birth, g.tail.Seq, g.absent)
	err := finish(ctx, conn, ref, g.plan, out)
	if pgErr := (*pgconn.PgError)(nil); errors.As(err, &pgErr) && (pgErr.Code == wrongGuess || pgErr.ConstraintName == oneOfEach) {
		if _, err := conn.Exec(ctx, "rollback"); err != nil {
			return nil, err
		}
		return nil, errWrongGuess
	}
	if err != nil {
		l.memory.forget(ref)
		return nil, err
	}
	l.memory.learn(ref, g.plan, nil)
	return g.plan.Written, nil
}

// finish sends a plan after what is queued already, and commits.
func finish(
	ctx context.Context, conn *pgx.Conn, ref journal.Ref, plan journal.Plan, out *queue,
) error {
	if len(plan.Insert) > 0 {
		if err := write(ctx, query.New(out), ref, plan); err != nil {
			return err
		}
	}
	out.Queue("commit")
	results := conn.SendBatch(ctx, &out.Batch)
	for range out.Len() {
		tag, err := results.Exec()
		if err == nil && tag.String() == "ROLLBACK" {
			err = errors.New("the transaction was rolled back")
		}
		if err != nil {
			return errors.Join(err, results.Close())
		}
	}
	return results.Close()
}

// lock begins a transaction that owns the conversation, and reads what it holds.
func lock(
	ctx context.Context, conn *pgx.Conn, ref journal.Ref, batches []*journal.Batch,
) (look, error) {
	found := look{known: map[string]journal.Written{}}
	var b pgx.Batch
	b.Queue("begin")
	b.Queue(setTenant, ref.Tenant, itself)
	for _, batch := range batches {
		if batch.Opens() {
			b.Queue(openConversation, ref.Tenant, ref.Conversation, batch.At.UnixMilli())
			break
		}
	}
	b.Queue(lockConversation, ref.Tenant, ref.Conversation).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			if err := rows.Scan(&found.birth, &found.tail.Seq, &found.tail.Number); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	gone := false
	if slices.ContainsFunc(batches, (*journal.Batch).OpensOnce) {
		b.Queue(tombstone, ref.Tenant, journal.HashOf(ref.Conversation)).Query(func(rows pgx.Rows) error {
			gone = rows.Next()
			rows.Close()
			return rows.Err()
		})
	}
	b.Queue(knownKeys, ref.Tenant, ref.Conversation, journal.LookUp(batches)).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var key string
			w := journal.Written{Existed: true}
			if err := rows.Scan(&key, &w.Seq, &w.Number); err != nil {
				return err
			}
			found.known[key] = w
		}
		return rows.Err()
	})
	if err := conn.SendBatch(ctx, &b).Close(); err != nil {
		return look{}, fmt.Errorf("lock conversation: %w", err)
	}
	if gone && found.tail.Seq == 0 {
		return look{}, journal.Gone()
	}
	if found.birth == "" {
		return look{}, journal.NotFound()
	}
	return found, nil
}

// queue collects statements for the second round trip.
type queue struct{ pgx.Batch }

// Exec implements query.DBTX: the statement is sent later.
func (q *queue) Exec(_ context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	q.Queue(sql, args...)
	return pgconn.CommandTag{}, nil
}

// Query and QueryRow implement query.DBTX. Nothing is read in the second round trip.
func (q *queue) Query(context.Context, string, ...any) (pgx.Rows, error) {
	panic("postgres: a queued statement has no answer")
}

func (q *queue) QueryRow(context.Context, string, ...any) pgx.Row {
	panic("postgres: a queued statement has no answer")
}

// write queues the inserts of a plan and their fold.
func write(ctx context.Context, q *query.Queries, ref journal.Ref, plan journal.Plan) error {
	p, bytes, keys := query.InsertEntriesParams{Tenant: ref.Tenant, Conversation: ref.Conversation}, 0, []string(nil)
	for _, n := range plan.Insert {
		bytes += len(n.Body)
		keys = append(keys, n.Key)
		p.Seqs, p.Numbers = append(p.Seqs, n.Seq), append(p.Numbers, n.Number)
		p.Agents, p.Tasks = append(p.Agents, n.Agent), append(p.Tasks, n.Task)
		p.Ats, p.Kinds, p.Bodies = append(p.Ats, n.At.UnixMilli()), append(p.Kinds, string(n.Kind)), append(p.Bodies, string(n.Body))
	}
	err := q.InsertKeys(ctx, query.InsertKeysParams{
		Tenant: ref.Tenant, Conversation: ref.Conversation, Keys: keys, Seqs: p.Seqs, Numbers: p.Numbers,
	})
	if err != nil {
		return err
	}
	if err := q.InsertEntries(ctx, p); err != nil {
		return err
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
	var hashes, bodies []string
	for _, text := range texts {
		text = journal.Printable(text)
		hashes, bodies = append(hashes, journal.HashOf(text)), append(bodies, text)
	}
	may := false
	err := l.pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		var b pgx.Batch
		b.Queue(toWrite)
		b.Queue(setTenant, ref.Tenant, itself)
		b.Queue(keepTexts, ref.Tenant, ref.Conversation, journal.HashOf(ref.Conversation), hashes, bodies).
			QueryRow(func(row pgx.Row) error { return row.Scan(&may) })
		b.Queue("commit")
		err := conn.SendBatch(ctx, &b).Close()
		if err != nil { // a connection that cannot even roll back is closed when it is released
			_, end := conn.Exec(ctx, "rollback")
			return errors.Join(err, end)
		}
		return nil
	})
	if err == nil && !may {
		err = journal.NotFound()
	}
	return fault("keep texts", err)
}

// Erase implements journal.Writer. A writer holds the conversation, and so does an eraser: a
// message that came in between would stay behind.
func (l *Log) Erase(ctx context.Context, ref journal.Ref) error {
	return l.inTenant(ctx, "erase", ref.Tenant, toWrite, func(q *query.Queries) error {
		_, err := q.LockConversation(ctx, query.LockConversationParams{
			Tenant: ref.Tenant, Conversation: ref.Conversation,
		})
		if err != nil {
			return err
		}
		if err := bury(ctx, q, ref); err != nil {
			return err
		}
		there, err := q.EraseConversation(ctx, query.EraseConversationParams{
			Tenant: ref.Tenant, Conversation: ref.Conversation,
		})
		if err == nil && !there {
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

// inTenant runs statements in a transaction that sees one tenant.
func (l *Log) inTenant(
	ctx context.Context, doing, tenant string, begin string, do func(*query.Queries) error,
) error {
	pool := l.pool
	if begin == toRead && journal.IsReading(ctx) {
		pool = l.reads
	}
	return l.inTenantOf(ctx, pool, doing, tenant, begin, do)
}

// inTenantOf is inTenant on a connection of a pool.
func (l *Log) inTenantOf(
	ctx context.Context, pool *pgxpool.Pool, doing, tenant, begin string, do func(*query.Queries) error,
) error {
	err := pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		var b pgx.Batch
		b.Queue(begin)
		b.Queue(setTenant, tenant, journal.ViewerOf(ctx))
		if err := conn.SendBatch(ctx, &b).Close(); err != nil {
			return err
		}
		// Without a commit the connection is closed when it is released.
		if err := do(query.New(conn)); err != nil {
			if _, end := conn.Exec(ctx, "rollback"); end != nil {
				return errors.Join(err, end)
			}
			return err
		}
		_, err := conn.Exec(ctx, "commit")
		return err
	})
	return fault(doing, err)
}

// How a transaction begins. A reading one sees one moment, however many statements it has.
const (
	toWrite = "begin"
	toRead  = "begin isolation level repeatable read read only"
)
