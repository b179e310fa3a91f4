package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/retinue-dev/retinue/internal/database"
	"github.com/retinue-dev/retinue/internal/webhook"
)

// Tenants implements webhook.Cursors and webhook.Outbox.
func (s *Store) Tenants(ctx context.Context) (out []webhook.Tenant, err error) {
	err = s.db.In(ctx, database.Everybody, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, `select tenant_id, swept_ms from webhook_tenants order by tenant_id`)
		out, err = collect(rows, err, func(rows *sql.Rows) (t webhook.Tenant, err error) {
			var ms int64
			err = rows.Scan(&t.ID, &ms)
			t.Swept = moment(ms)
			return t, err
		})
		return err
	})
	return out, err
}

// Swept implements webhook.Cursors.
func (s *Store) Swept(ctx context.Context, tenant string, at time.Time) error {
	return s.db.In(ctx, tenant, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `update webhook_tenants set swept_ms = $2 where tenant_id = $1 and swept_ms < $2`,
			tenant, at.UnixMilli())
		return err
	})
}

// Cursor implements webhook.Cursors.
func (s *Store) Cursor(ctx context.Context, tenant, conversation string) (seq int64, err error) {
	err = s.db.In(ctx, tenant, func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, `select seq from webhook_cursors where tenant_id = $1 and conversation_id = $2`,
			tenant, conversation).Scan(&seq)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	return seq, err
}

// Enqueue implements webhook.Cursors.
func (s *Store) Enqueue(ctx context.Context, tenant, conversation string, from, to int64, list []webhook.Delivery) error {
	moved := false
	err := s.db.In(ctx, tenant, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `insert into webhook_cursors (tenant_id, conversation_id, seq) values ($1, $2, 0)
			on conflict (tenant_id, conversation_id) do nothing`, tenant, conversation)
		if err != nil {
			return err
		}
		err = changed(tx.ExecContext(ctx, `update webhook_cursors set seq = $4
			where tenant_id = $1 and conversation_id = $2 and seq = $3`, tenant, conversation, from, to))
		if err != nil {
			moved = true
			return err
		}
		for _, d := range list {
			// A hook that was removed meanwhile gets nothing.
			_, err := tx.ExecContext(ctx, `insert into webhook_deliveries
				(tenant_id, webhook_id, delivery_id, conversation_id, seq, type, status, made_ms, next_ms, end_ms)
				select tenant_id, webhook_id, $3, $4, cast($5 as bigint), $6, $7, cast($8 as bigint), cast($9 as bigint),
				cast($10 as bigint) from webhooks where tenant_id = $1 and webhook_id = $2
				on conflict (tenant_id, webhook_id, delivery_id) do nothing`,
				tenant, d.Hook, d.ID, conversation, d.Seq, d.Type, string(d.Status), millis(d.At), millis(d.Next), millis(d.End))
			if err != nil {
				return err
			}
		}
		return nil
	})
	if moved {
		return fmt.Errorf("%w: %w", webhook.ErrMoved, err)
	}
	return err
}

// Watch implements webhook.Cursors.
func (s *Store) Watch(ctx context.Context, tenant, conversation string, until time.Time) error {
	return s.db.In(ctx, tenant, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `insert into webhook_cursors (tenant_id, conversation_id, seq, watch_ms)
			select tenant_id, $2, 0, cast($3 as bigint) from webhook_tenants where tenant_id = $1
			on conflict (tenant_id, conversation_id) do update set watch_ms = excluded.watch_ms`, tenant, conversation, until.UnixMilli())
		return err
	})
}

// Watched implements webhook.Cursors.
func (s *Store) Watched(ctx context.Context, tenant string, now time.Time) (out []string, err error) {
	err = s.db.In(ctx, tenant, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, `select conversation_id from webhook_cursors
			where tenant_id = $1 and watch_ms > 0 and watch_ms >= $2`, tenant, now.UnixMilli())
		out, err = collect(rows, err, func(rows *sql.Rows) (id string, err error) { return id, rows.Scan(&id) })
		return err
	})
	return out, err
}

// Forget implements webhook.Cursors.
func (s *Store) Forget(ctx context.Context, tenant, conversation string) error {
	return s.db.In(ctx, tenant, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `delete from webhook_cursors where tenant_id = $1 and conversation_id = $2`, tenant, conversation)
		return err
	})
}

// Prune implements webhook.Cursors.
func (s *Store) Prune(ctx context.Context, tenant string, before time.Time) error {
	return s.db.In(ctx, tenant, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `delete from webhook_deliveries where tenant_id = $1 and status <> 'pending' and made_ms < $2`,
			tenant, before.UnixMilli())
		return err
	})
}

// Claim implements webhook.Outbox. Others pass by the rows that one has locked.
func (s *Store) Claim(
	ctx context.Context, h webhook.Hook, now, until time.Time, limit int,
) (out []webhook.Delivery, err error) {
	due := "select " + columns + ` from webhook_deliveries
		where tenant_id = $1 and webhook_id = $2 and status = 'pending' and next_ms <= $3 order by next_ms limit $4`
	if s.db.Dialect == database.Postgres {
		due += " for update skip locked"
	}
	err = s.db.In(ctx, h.Tenant, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, due, h.Tenant, h.ID, now.UnixMilli(), limit)
		if out, err = collect(rows, err, delivery(h.Tenant, h.ID)); err != nil {
			return err
		}
		for i := range out {
			out[i].Attempts++
			_, err := tx.ExecContext(ctx, `update webhook_deliveries set attempts = $4, next_ms = $5
				where tenant_id = $1 and webhook_id = $2 and delivery_id = $3`, h.Tenant, h.ID, out[i].ID, out[i].Attempts, until.UnixMilli())
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Report implements webhook.Outbox.
func (s *Store) Report(ctx context.Context, d webhook.Delivery) error {
	return s.db.In(ctx, d.Tenant, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `update webhook_deliveries set status = $5, next_ms = $6, tried_ms = $7, code = $8, problem = $9
			where tenant_id = $1 and webhook_id = $2 and delivery_id = $3 and attempts = $4 and status = 'pending'`,
			d.Tenant, d.Hook, d.ID, d.Attempts, string(d.Status), millis(d.Next), millis(d.Tried), d.Code, d.Problem)
		return err
	})
}
