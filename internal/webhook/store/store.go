// Package store keeps webhooks, how far conversations were read and the outbox, in Postgres or in a
// SQLite file. It imports webhook, database and seal. Secrets are sealed with the keys that it is
// given; without keys no webhook can be added.
package store

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/database"
	"github.com/retinue-dev/retinue/internal/seal"
	"github.com/retinue-dev/retinue/internal/webhook"
)

//go:embed migrations/*/*.sql
var migrations embed.FS

// Store is all that webhooks need of a database. All methods are safe for concurrent use.
type Store struct {
	db *database.DB
	// keys are nil where nothing can be sealed.
	keys *seal.Keys
}

var (
	_ webhook.Book    = (*Store)(nil)
	_ webhook.Cursors = (*Store)(nil)
	_ webhook.Outbox  = (*Store)(nil)
)

// OpenPostgres connects to a database that Migrate has prepared. Role is taken on unless it is
// empty.
func OpenPostgres(ctx context.Context, dsn, role string, keys *seal.Keys) (*Store, error) {
	db, err := database.OpenPostgres(ctx, dsn, role)
	if err != nil {
		return nil, fmt.Errorf("open the webhooks: %w", err)
	}
	return &Store{db: db, keys: keys}, nil
}

// OpenSQLite opens a file and brings it up to date.
func OpenSQLite(ctx context.Context, path string, keys *seal.Keys) (*Store, error) {
	db, err := database.OpenSQLite(ctx, path, migrations)
	if err != nil {
		return nil, fmt.Errorf("open the webhooks: %w", err)
	}
	return &Store{db: db, keys: keys}, nil
}

// ReadSQLite opens an existing file for reading and leaves it as it is.
func ReadSQLite(ctx context.Context, path string, keys *seal.Keys) (*Store, error) {
	db, err := database.ReadSQLite(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("open the webhooks: %w", err)
	}
	return &Store{db: db, keys: keys}, nil
}

// Migrate makes the tables in Postgres, after the journal's.
func Migrate(ctx context.Context, dsn string) error {
	return database.MigrateBeside(ctx, dsn, "webhook", migrations)
}

// Close ends all connections.
func (s *Store) Close() error { return s.db.Close() }

// mostHooks is how many hooks a tenant may have.
const mostHooks = 20

// Add implements webhook.Book.
func (s *Store) Add(ctx context.Context, h webhook.Hook) (out webhook.Hook, err error) {
	err = s.db.In(ctx, h.Tenant, func(tx *sql.Tx) error {
		if err := s.db.Lock(ctx, tx, "webhooks/"+h.Tenant); err != nil {
			return err
		}
		list, err := hooks(ctx, tx, h.Tenant)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(list, func(known webhook.Hook) bool { return known.ID == h.ID }); i >= 0 {
			err := s.unseal(ctx, tx, list[i:i+1])
			out = list[i]
			return err
		}
		if len(list) >= mostHooks {
			return &chat.Error{Code: chat.CodeLimit, Message: fmt.Sprintf("there are %d webhooks: remove one first", mostHooks)}
		}
		secret, err := s.sealed(ctx, tx, h)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `insert into webhook_tenants (tenant_id, swept_ms) values ($1, $2) on conflict (tenant_id) do nothing`,
			h.Tenant, h.At.UnixMilli())
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `insert into webhooks (tenant_id, webhook_id, url, secret, types, made_by, made_ms)
			values ($1, $2, $3, $4, $5, $6, $7)`, h.Tenant, h.ID, h.URL, secret, strings.Join(h.Types, " "), h.By, h.At.UnixMilli())
		h.At = time.UnixMilli(h.At.UnixMilli()).UTC()
		out = h
		return err
	})
	return out, err
}

// Hooks implements webhook.Book. No key is needed, so that hooks can be seen and removed although
// theirs is lost.
func (s *Store) Hooks(ctx context.Context, tenant string) (out []webhook.Hook, err error) {
	err = s.db.In(ctx, tenant, func(tx *sql.Tx) error {
		out, err = hooks(ctx, tx, tenant)
		return err
	})
	for i := range out {
		out[i].Secret = ""
	}
	return out, err
}

// Receivers implements webhook.Outbox.
func (s *Store) Receivers(ctx context.Context, tenant string) (out []webhook.Hook, err error) {
	err = s.db.In(ctx, tenant, func(tx *sql.Tx) error {
		if out, err = hooks(ctx, tx, tenant); err != nil {
			return err
		}
		return s.unseal(ctx, tx, out)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// hooks are those of a tenant, with the stored forms of their secrets.
func hooks(ctx context.Context, tx *sql.Tx, tenant string) ([]webhook.Hook, error) {
	rows, err := tx.QueryContext(ctx, `select webhook_id, url, secret, types, made_by, made_ms from webhooks
		where tenant_id = $1 order by made_ms, webhook_id`, tenant)
	return collect(rows, err, func(rows *sql.Rows) (webhook.Hook, error) {
		h := webhook.Hook{Tenant: tenant}
		var types string
		var ms int64
		err := rows.Scan(&h.ID, &h.URL, &h.Secret, &types, &h.By, &ms)
		h.Types, h.At = strings.Fields(types), moment(ms)
		return h, err
	})
}

// collect reads all rows.
func collect[T any](rows *sql.Rows, err error, one func(*sql.Rows) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err says what went wrong
	var out []T
	for rows.Next() {
		t, err := one(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, rows.Err()
}

func moment(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// changed is not_found unless a statement changed something.
func changed(result sql.Result, err error) error {
	if err != nil {
		return err
	}
	n, err := result.RowsAffected()
	if err == nil && n == 0 {
		err = notFound()
	}
	return err
}

func notFound() error {
	return &chat.Error{Code: chat.CodeNotFound, Message: "there is no such webhook"}
}

// Remove implements webhook.Book.
func (s *Store) Remove(ctx context.Context, tenant, hook string) error {
	return s.db.In(ctx, tenant, func(tx *sql.Tx) error {
		if err := s.db.Lock(ctx, tx, "webhooks/"+tenant); err != nil {
			return err
		}
		err := changed(tx.ExecContext(ctx, `delete from webhooks where tenant_id = $1 and webhook_id = $2`, tenant, hook))
		if err != nil {
			return err
		}
		return shred(ctx, tx, tenant)
	})
}

// Wipe removes all that is kept of a tenant, the key of its secrets too.
func (s *Store) Wipe(ctx context.Context, tenant string) error {
	return s.db.In(ctx, tenant, func(tx *sql.Tx) error {
		if err := s.db.Lock(ctx, tx, "webhooks/"+tenant); err != nil {
			return err
		}
		for _, table := range []string{"webhooks", "webhook_cursors", "webhook_keys", "webhook_tenants"} {
			if _, err := tx.ExecContext(ctx, "delete from "+table+" where tenant_id = $1", tenant); err != nil {
				return err
			}
		}
		return nil
	})
}

const columns = `delivery_id, conversation_id, seq, type, status, attempts, made_ms, next_ms, end_ms, tried_ms, code, problem`

func delivery(tenant, hook string) func(*sql.Rows) (webhook.Delivery, error) {
	return func(rows *sql.Rows) (webhook.Delivery, error) {
		d := webhook.Delivery{Tenant: tenant, Hook: hook}
		var made, next, end, tried int64
		err := rows.Scan(&d.ID, &d.Conversation, &d.Seq, &d.Type, &d.Status, &d.Attempts, &made, &next, &end, &tried, &d.Code, &d.Problem)
		d.At, d.Next, d.End, d.Tried = moment(made), moment(next), moment(end), moment(tried)
		return d, err
	}
}

// Deliveries implements webhook.Book.
func (s *Store) Deliveries(
	ctx context.Context, tenant, hook, cursor string, limit int,
) (out []webhook.Delivery, before string, err error) {
	made, id := int64(1)<<62, ""
	if cursor != "" {
		var ms string
		ms, id, _ = strings.Cut(cursor, ".")
		if made, err = strconv.ParseInt(ms, 10, 64); err != nil {
			return nil, "", &chat.Error{Code: chat.CodeInvalid, Message: "this is no cursor of the list"}
		}
	}
	err = s.db.In(ctx, tenant, func(tx *sql.Tx) error {
		if err := exists(ctx, tx, tenant, hook); err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, "select "+columns+` from webhook_deliveries
			where tenant_id = $1 and webhook_id = $2 and (made_ms, delivery_id) < ($3, $4)
			order by made_ms desc, delivery_id desc limit $5`, tenant, hook, made, id, limit)
		out, err = collect(rows, err, delivery(tenant, hook))
		return err
	})
	if n := len(out); n > 0 && n == limit {
		before = strconv.FormatInt(out[n-1].At.UnixMilli(), 10) + "." + out[n-1].ID
	}
	return out, before, err
}

func exists(ctx context.Context, tx *sql.Tx, tenant, hook string) error {
	var one int
	err := tx.QueryRowContext(ctx, `select 1 from webhooks where tenant_id = $1 and webhook_id = $2`, tenant, hook).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return notFound()
	}
	return err
}

// replayFor is how long the sender retries a replayed event.
const replayFor = 24 * time.Hour

// Replay implements webhook.Book.
func (s *Store) Replay(
	ctx context.Context, tenant, hook, id, command string, now time.Time,
) (out webhook.Delivery, err error) {
	err = s.db.In(ctx, tenant, func(tx *sql.Tx) error {
		err := changed(tx.ExecContext(ctx, `insert into webhook_replays (tenant_id, webhook_id, delivery_id, command)
			select tenant_id, webhook_id, delivery_id, $4 from webhook_deliveries
			where tenant_id = $1 and webhook_id = $2 and delivery_id = $3 on conflict do nothing`, tenant, hook, id, command))
		if err == nil {
			err = changed(tx.ExecContext(ctx, `update webhook_deliveries set status = 'pending', attempts = 0, next_ms = $4, end_ms = $5
			where tenant_id = $1 and webhook_id = $2 and delivery_id = $3`,
				tenant, hook, id, now.UnixMilli(), now.Add(replayFor).UnixMilli()))
		}
		if err != nil && chat.CodeOf(err) != chat.CodeNotFound { // the command was carried out before, or there is no delivery
			return err
		}
		rows, err := tx.QueryContext(ctx, "select "+columns+` from webhook_deliveries
			where tenant_id = $1 and webhook_id = $2 and delivery_id = $3`, tenant, hook, id)
		list, err := collect(rows, err, delivery(tenant, hook))
		if err != nil || len(list) == 0 {
			return cmp.Or(err, notFound())
		}
		out = list[0]
		return nil
	})
	return out, err
}
