// Package database opens the tables that lie beside the journal, in Postgres or in a SQLite file, and
// runs transactions of one tenant in them.
//
// Those tables are small and their statements few, so the packages that own them write each statement
// once, for both: numbered parameters, no types that only one of them has. The package imports chat.
// It promises what the journal's adapters promise: a commit is on the disk before it is answered, a
// transaction in Postgres sees the rows of its tenant only, and a role that could see more is refused.
package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	_ "modernc.org/sqlite" // the driver of SQLite files

	"github.com/retinue-dev/retinue/internal/chat"
)

// Dialect says which database it is.
type Dialect string

// The dialects. They are also the names of the folders of migrations.
const (
	Postgres Dialect = "postgres"
	SQLite   Dialect = "sqlite"
)

// Everybody is the tenant of a transaction that looks for work in all of them. The policies say what it may see.
const Everybody = "*"

const (
	// connections is the most that one part of a process holds: several parts and the journal share
	// what the server gives.
	connections = 3
	lockTimeout = "15s"
	busyTimeout = "busy_timeout(5000)"
)

// DB is an open database.
type DB struct {
	*sql.DB
	Dialect Dialect
}

// OpenPostgres connects to a database that Migrate has prepared, as a role that is below row level
// security.
func OpenPostgres(ctx context.Context, dsn, role string) (*DB, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("read the address of the database: %w", err)
	}
	cfg.RuntimeParams["lock_timeout"] = lockTimeout
	cfg.RuntimeParams["idle_in_transaction_session_timeout"] = "60s"
	db := stdlib.OpenDB(*cfg, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		return prepare(ctx, conn, role)
	}))
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	db.SetConnMaxIdleTime(time.Minute)
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open the database: %w", err), db.Close())
	}
	return &DB{DB: db, Dialect: Postgres}, nil
}

// prepare takes on the role and refuses one that row level security does not bind.
func prepare(ctx context.Context, conn *pgx.Conn, role string) error {
	if role != "" {
		if _, err := conn.Exec(ctx, "set role "+pgx.Identifier{role}.Sanitize()); err != nil {
			return fmt.Errorf("take on role %s: %w", role, err)
		}
	}
	var user string
	var above bool
	err := conn.QueryRow(ctx, `
		select current_user, r.rolsuper or r.rolbypassrls
			or exists (select from pg_class c where c.relowner = r.oid and c.relkind in ('r', 'p', 'v'))
		from pg_roles r where r.rolname = current_user`).Scan(&user, &above)
	if err != nil {
		return fmt.Errorf("look at the role: %w", err)
	}
	if above {
		return &chat.Error{
			Code:    chat.CodeDenied,
			Message: "the role " + user + " is above row level security; connect as a member of retinue_app",
		}
	}
	return nil
}

// OpenSQLite opens a file, readable by its owner only, and brings it up to date. Several processes may
// open the same file.
func OpenSQLite(ctx context.Context, path string, migrations fs.FS) (*DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := private(path); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	settings := url.Values{"_dqs": {"0"}, "_txlock": {"immediate"}, "_pragma": {
		busyTimeout, "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "temp_store(MEMORY)",
	}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: settings.Encode()}).String())
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db.SetMaxOpenConns(1) // who writes waits for the others here, not in the file
	out := &DB{DB: db, Dialect: SQLite}
	if err := out.ownSteps(ctx, path, migrations); err != nil {
		return nil, errors.Join(fmt.Errorf("bring %s up to date: %w", path, err), db.Close())
	}
	return out, nil
}

// ReadSQLite opens a file that is there, to be read as it is.
func ReadSQLite(ctx context.Context, path string) (*DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	settings := url.Values{"mode": {"ro"}, "_pragma": {busyTimeout}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: settings.Encode()}).String())
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), db.Close())
	}
	return &DB{DB: db, Dialect: SQLite}, nil
}

// private makes a file that only its owner can read.
func private(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return file.Close()
}

// ownSteps migrates a file. Processes that open it at once take turns at a lock beside it.
func (db *DB) ownSteps(ctx context.Context, path string, migrations fs.FS) error {
	if err := private(path + ".lock"); err != nil {
		return err
	}
	turns, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path + ".lock", RawQuery: url.Values{
		"_txlock": {"exclusive"}, "_pragma": {busyTimeout},
	}.Encode()}).String())
	if err != nil {
		return err
	}
	defer turns.Close() //nolint:errcheck // it ends the turn, and nothing was written
	turn, err := turns.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("wait for another process: %w", err)
	}
	defer turn.Rollback() //nolint:errcheck // as above
	return up(ctx, goose.DialectSQLite3, db.DB, migrations, SQLite)
}

// Migrate makes the tables in Postgres, or brings them up to date. The journal's come first. Name is
// what the steps are counted under.
func Migrate(ctx context.Context, dsn, name string, migrations fs.FS) error {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return fmt.Errorf("migrate %s: %w", name, err)
	}
	cfg.RuntimeParams["lock_timeout"] = lockTimeout
	db := stdlib.OpenDB(*cfg)
	defer db.Close() //nolint:errcheck // nothing is left to lose
	alone, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return fmt.Errorf("migrate %s: %w", name, err)
	}
	err = up(ctx, goose.DialectPostgres, db, migrations, Postgres,
		goose.WithSessionLocker(alone), goose.WithTableName("goose_"+name))
	if err != nil {
		return fmt.Errorf("migrate %s: %w", name, err)
	}
	return nil
}

func up(
	ctx context.Context, dialect goose.Dialect, db *sql.DB, migrations fs.FS, folder Dialect, options ...goose.ProviderOption,
) error {
	files, err := fs.Sub(migrations, "migrations/"+string(folder))
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(dialect, db, files, options...)
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}
