// Package postgres keeps the journal in Postgres.
//
// Each append is one transaction: the conversation's row is locked and known keys are looked up;
// then entries are inserted, the tables that fold them are brought up to date and the transaction
// is committed. These are two round trips, or one when the program remembers enough of the
// conversation to guess the result of a read, and the database agrees. Appends to one conversation
// that come together share a transaction.
//
// A transaction belongs to one tenant, by a setting that ends with it; row level security, forced
// on every table, shows nothing else. The role that the program works under owns nothing and cannot
// bypass the policies: Open refuses any other.
package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/database"
	"github.com/retinue-dev/retinue/internal/journal"
)

//go:generate go tool -modfile=../../../tools/go.mod sqlc generate

//go:embed migrations/*.sql
var migrations embed.FS

// Role is the role that Migrate makes for the program. It owns nothing.
const Role = database.Role

// Options say which database to use.
type Options struct {
	DSN string
	// Role is taken on by every connection. It is needed when the DSN's user is not itself the
	// program's role, but a member of it.
	Role string
	// Tracer hears of every statement; nil means nobody does.
	Tracer pgx.QueryTracer
	// Connections is the most that are open at a time for commands and workers; zero means 10. Reads
	// have up to half as many of their own, and searches up to searchConnections.
	Connections int
}

// The time limits of a connection.
const (
	statementTimeout = "5s"
	lockTimeout      = "2s"
	idleTimeout      = "10s"
	commitTimeout    = 15 * time.Second
)

// searchConnections is how many searches run at the same time.
const searchConnections = 6

// Log is a journal in Postgres.
type Log struct {
	// pool is for commands and workers, reads for requests that change nothing, and searches for
	// searches: many or slow searches do not take the connections of the others.
	pool, reads, searches *pgxpool.Pool

	combiner journal.Combiner[journal.Ref]
	memory   memory
}

var _ journal.Log = (*Log)(nil)

// Open connects to a database that Migrate has prepared.
func Open(ctx context.Context, opts Options) (*Log, error) {
	cfg, err := pgxpool.ParseConfig(opts.DSN)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	cfg.ConnConfig.Tracer = opts.Tracer
	cfg.MaxConns = 10
	if opts.Connections > 0 {
		cfg.MaxConns = int32(opts.Connections)
	}
	// Plans are kept, and some are made while the tables are nearly empty: every statement has to go by
	// keys then too, or a conversation that grows by a thousand sub-agents within a minute reads its
	// tables whole for each row. To compile a plan costs more than it saves.
	for name, value := range map[string]string{
		"application_name": "retinue", "timezone": "UTC", "statement_timeout": statementTimeout,
		"lock_timeout": lockTimeout, "idle_in_transaction_session_timeout": idleTimeout,
		"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off", "jit": "off",
	} {
		cfg.ConnConfig.RuntimeParams[name] = value
	}
	cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		inMilliseconds(conn)
		return database.Prepare(ctx, conn, opts.Role)
	}
	log := &Log{}
	log.combiner.Commit = log.commit
	for _, p := range []struct {
		pool **pgxpool.Pool
		most int32
	}{{&log.pool, cfg.MaxConns}, {&log.reads, max(2, cfg.MaxConns/2)}, {&log.searches, searchConnections}} {
		one := cfg.Copy()
		one.MaxConns = p.most
		if *p.pool, err = pgxpool.NewWithConfig(ctx, one); err != nil {
			log.Close()
			return nil, fmt.Errorf("open journal: %w", err)
		}
	}
	if err := log.pool.Ping(ctx); err != nil {
		log.Close()
		return nil, fmt.Errorf("open journal: %w", err)
	}
	return log, nil
}

// Close ends all connections.
func (l *Log) Close() {
	for _, pool := range []*pgxpool.Pool{l.pool, l.reads, l.searches} {
		if pool != nil {
			pool.Close()
		}
	}
}

// Migrate brings a database up to date.
func Migrate(ctx context.Context, dsn string) error {
	return database.Migrate(ctx, dsn, "goose_db_version", migrations, "migrations")
}

// tenantDeleted is the code of the error that people's tables raise for a tenant that is being
// deleted.
const tenantDeleted = "RT003"

// fault says what an error of the database means to a caller.
func fault(doing string, err error) error {
	if err == nil {
		return nil
	}
	if coded := (*chat.Error)(nil); errors.As(err, &coded) {
		return err
	}
	if pgErr := (*pgconn.PgError)(nil); errors.As(err, &pgErr) {
		if pgErr.Code == tenantDeleted {
			return &chat.Error{Code: chat.CodeConflict, Message: "the tenant is being deleted: nothing new begins there"}
		}
		switch pgErr.Code[:2] {
		case "23":
			return &chat.Error{
				Code:    chat.CodeInvalid,
				Message: fmt.Sprintf("%s: what a row is about does not exist (%s)", doing, pgErr.ConstraintName),
			}
		case "22":
			return &chat.Error{Code: chat.CodeInvalid, Message: doing + ": a value cannot be stored"}
		}
	}
	return fmt.Errorf("%s: %w", doing, errors.Join(&chat.Error{
		Code: chat.CodeUnavailable, Message: "the database did not answer as it should; try again",
	}, err))
}
