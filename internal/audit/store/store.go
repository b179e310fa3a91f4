// Package store keeps audit trails in Postgres or in a SQLite file. It imports audit and database.
//
// A chain has one writer at a time: in Postgres by a lock that ends with the transaction, in SQLite
// by the file. The role of the program may add and read; triggers refuse every change to a role
// that is not the owner of the tables with them turned off.
package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/retinue-dev/retinue/internal/audit"
	"github.com/retinue-dev/retinue/internal/database"
)

//go:embed migrations/*/*.sql
var migrations embed.FS

// Store keeps trails. All methods are safe for concurrent use.
type Store struct{ db *database.DB }

var _ audit.Store = (*Store)(nil)

// OpenPostgres connects to a database that Migrate has prepared. Role is taken on unless it is
// empty.
func OpenPostgres(ctx context.Context, dsn, role string) (*Store, error) {
	db, err := database.OpenPostgres(ctx, dsn, role)
	if err != nil {
		return nil, fmt.Errorf("open the audit trail: %w", err)
	}
	return &Store{db: db}, nil
}

// OpenSQLite opens a file and brings it up to date.
func OpenSQLite(ctx context.Context, path string) (*Store, error) {
	db, err := database.OpenSQLite(ctx, path, migrations)
	if err != nil {
		return nil, fmt.Errorf("open the audit trail: %w", err)
	}
	return &Store{db: db}, nil
}

// Migrate makes the tables in Postgres, after the journal's.
func Migrate(ctx context.Context, dsn string) error {
	return database.MigrateBeside(ctx, dsn, "audit", migrations)
}

// Close ends all connections.
func (s *Store) Close() error { return s.db.Close() }

const columns = `seq, at_ms, action, outcome, actor, credential, source, conversation_id, object, digest, detail, dedup, hash`

// width is how many parameters an entry takes: its columns and the tenant.
const width = 14

// Add implements audit.Store.
func (s *Store) Add(ctx context.Context, tenant string, at time.Time, records []audit.Record) error {
	return s.db.In(ctx, tenant, func(tx *sql.Tx) error {
		if err := s.db.Lock(ctx, tx, "audit/"+tenant); err != nil {
			return err
		}
		fresh, err := unknown(ctx, tx, tenant, records)
		if err != nil || len(fresh) == 0 {
			return err
		}
		head, err := last(ctx, tx, tenant)
		if err != nil {
			return err
		}
		args := make([]any, 0, len(fresh)*width)
		for _, r := range fresh {
			e := audit.Entry{Seq: head.Seq + 1, At: at, Record: r}
			head.Seq, head.Hash = e.Seq, audit.Sum(tenant, head.Hash, e)
			args = append(args, tenant, e.Seq, at.UnixMilli(), string(r.Action), string(r.Outcome), r.Actor.User, r.Actor.Credential,
				r.Actor.Source, r.Conversation, r.Object, r.Digest, r.Detail, r.Key, slices.Clone(head.Hash[:]))
		}
		_, err = tx.ExecContext(ctx, "insert into audit_rows (tenant_id, "+columns+") values "+
			database.Placeholders(len(fresh), width, 1), args...)
		return err
	})
}

// unknown leaves out records whose key exists already, or comes twice.
func unknown(ctx context.Context, tx *sql.Tx, tenant string, records []audit.Record) ([]audit.Record, error) {
	known := map[string]bool{}
	args := []any{tenant}
	for _, r := range records {
		if r.Key != "" {
			args = append(args, r.Key)
		}
	}
	if len(args) > 1 {
		rows, err := tx.QueryContext(ctx, "select dedup from audit_rows where tenant_id = $1 and dedup <> '' and dedup in "+
			database.Placeholders(1, len(args)-1, 2), args...)
		if err != nil {
			return nil, err
		}
		defer rows.Close() //nolint:errcheck // Err says what went wrong
		for rows.Next() {
			var key string
			if err := rows.Scan(&key); err != nil {
				return nil, err
			}
			known[key] = true
		}
		if err := rows.Err(); err != nil {
			return nil, err
		}
	}
	var fresh []audit.Record
	for _, r := range records {
		if r.Key != "" && known[r.Key] {
			continue
		}
		known[r.Key] = true
		fresh = append(fresh, r)
	}
	return fresh, nil
}

// last is the end of a chain.
func last(ctx context.Context, tx *sql.Tx, tenant string) (audit.Head, error) {
	head := audit.Head{Tenant: tenant, Hash: audit.Origin(tenant)}
	var hash []byte
	err := tx.QueryRowContext(ctx, `select seq, hash from audit_rows where tenant_id = $1 order by seq desc limit 1`, tenant).
		Scan(&head.Seq, &hash)
	if errors.Is(err, sql.ErrNoRows) {
		return head, nil
	}
	if err == nil {
		copy(head.Hash[:], hash)
	}
	return head, err
}

// Last implements audit.Store.
func (s *Store) Last(ctx context.Context, tenant string) (head audit.Head, err error) {
	err = s.db.In(ctx, tenant, func(tx *sql.Tx) error {
		head, err = last(ctx, tx, tenant)
		return err
	})
	return head, err
}

// Find implements audit.Store.
func (s *Store) Find(ctx context.Context, tenant, key string) (r audit.Record, found bool, err error) {
	err = s.db.In(ctx, tenant, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `select action, outcome, actor, credential, source, conversation_id, object, digest, detail, dedup
			from audit_rows where tenant_id = $1 and dedup = $2 and dedup <> ''`, tenant, key).
			Scan(&r.Action, &r.Outcome, &r.Actor.User, &r.Actor.Credential, &r.Actor.Source, &r.Conversation, &r.Object, &r.Digest, &r.Detail, &r.Key)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return audit.Record{}, false, nil
	}
	return r, err == nil, err
}

// Tenants implements audit.Store. It sees the first entry of each chain and nothing else of it.
func (s *Store) Tenants(ctx context.Context) (out []string, err error) {
	err = s.db.In(ctx, database.Everybody, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, `select tenant_id from audit_rows where seq = 1 order by tenant_id`)
		if err != nil {
			return err
		}
		defer rows.Close() //nolint:errcheck // Err says what went wrong
		for rows.Next() {
			var tenant string
			if err := rows.Scan(&tenant); err != nil {
				return err
			}
			out = append(out, tenant)
		}
		return rows.Err()
	})
	return out, err
}

// Read implements audit.Reader.
func (s *Store) Read(ctx context.Context, tenant string, after int64, limit int) (out []audit.Entry, err error) {
	err = s.db.In(ctx, tenant, func(tx *sql.Tx) error {
		out, err = read(ctx, tx, tenant, after, limit)
		return err
	})
	return out, err
}

func read(ctx context.Context, tx *sql.Tx, tenant string, after int64, limit int) ([]audit.Entry, error) {
	rows, err := tx.QueryContext(ctx, "select "+columns+
		" from audit_rows where tenant_id = $1 and seq > $2 order by seq limit $3", tenant, after, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err says what went wrong
	var out []audit.Entry
	for rows.Next() {
		var e audit.Entry
		var ms int64
		var hash []byte
		if err := rows.Scan(&e.Seq, &ms, &e.Action, &e.Outcome, &e.Actor.User, &e.Actor.Credential, &e.Actor.Source,
			&e.Conversation, &e.Object, &e.Digest, &e.Detail, &e.Key, &hash); err != nil {
			return nil, err
		}
		e.At = time.UnixMilli(ms).UTC()
		if len(hash) == len(e.Hash) { // another length is no hash, and none fits it
			copy(e.Hash[:], hash)
		}
		out = append(out, e)
	}
	return out, rows.Err()
}
