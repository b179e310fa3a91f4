// Package postgres keeps people in the Postgres database that holds the journal.
//
// A transaction belongs to one tenant, as the journal's do, and row level security shows it nothing
// else; the few things that are looked for across tenants are shown to a transaction that names the
// person, the address or the login that they are about. It imports people, database and chat.
package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/database"
	"github.com/retinue-dev/retinue/internal/people"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Options say which database to use.
type Options struct {
	DSN string
	// Role is taken on by every connection; empty leaves the DSN's user.
	Role string
	// Connections is the most that are open at a time; zero means 8.
	Connections int
}

// The time limits of a connection.
const (
	statementTimeout = "5s"
	lockTimeout      = "2s"
	idleTimeout      = "10s"
)

// Store keeps people in Postgres.
type Store struct{ pool *pgxpool.Pool }

var _ people.Store = (*Store)(nil)

// Open connects to a database that Migrate has prepared.
func Open(ctx context.Context, o Options) (*Store, error) {
	cfg, err := pgxpool.ParseConfig(o.DSN)
	if err != nil {
		return nil, fmt.Errorf("open people: %w", err)
	}
	cfg.MaxConns = 8
	if o.Connections > 0 {
		cfg.MaxConns = int32(o.Connections)
	}
	for name, value := range map[string]string{
		"application_name": "retinue people", "timezone": "UTC", "statement_timeout": statementTimeout,
		"lock_timeout": lockTimeout, "idle_in_transaction_session_timeout": idleTimeout,
	} {
		cfg.ConnConfig.RuntimeParams[name] = value
	}
	cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error { return database.Prepare(ctx, conn, o.Role) }
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open people: %w", err)
	}
	s := &Store{pool: pool}
	if _, err := s.Changes(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("open people; has 'retinue migrate' been run? %w", err)
	}
	return s, nil
}

// Close ends all connections.
func (s *Store) Close() { s.pool.Close() }

// Migrate brings a database up to date that the journal's migrations have prepared.
func Migrate(ctx context.Context, dsn string) error {
	return database.Migrate(ctx, dsn, "people_migrations", migrations, "migrations")
}

// began ties the settings of a transaction to it: they name nobody in another.
const began = `set_config('app.began', extract(epoch from now())::text, true)`

// inTenant runs statements in a transaction that sees one tenant.
func (s *Store) inTenant(ctx context.Context, doing, tenant string, do func(pgx.Tx) error) error {
	return s.in(ctx, doing, "app.tenant", tenant, do)
}

// showing runs statements in a transaction that sees the rows about one subject, in every tenant.
func (s *Store) showing(ctx context.Context, doing, what string, do func(pgx.Tx) error) error {
	return s.in(ctx, doing, "app.shown", what, do)
}

func (s *Store) in(ctx context.Context, doing, setting, value string, do func(pgx.Tx) error) error {
	return fault(doing, pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `select set_config($1, $2, true), `+began, setting, value); err != nil {
			return err
		}
		return do(tx)
	}))
}

// changed notes that somebody may have lost access. All servers check their people again.
func changed(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `update people.changes set n = n + 1`)
	return err
}

// notFound is the one answer for a missing thing and for somebody else's.
func notFound() error {
	return &chat.Error{Code: chat.CodeNotFound, Message: "there is no such thing"}
}

// fault says what an error of the database means to a caller.
func fault(doing string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return notFound()
	}
	if coded := (*chat.Error)(nil); errors.As(err, &coded) {
		return err
	}
	if pgErr := (*pgconn.PgError)(nil); errors.As(err, &pgErr) && pgErr.Code == "23505" {
		return &chat.Error{Code: chat.CodeConflict, Message: doing + ": it exists already"}
	}
	return fmt.Errorf("%s: %w", doing, errors.Join(&chat.Error{
		Code: chat.CodeUnavailable, Message: "the database did not answer as it should; try again",
	}, err))
}
