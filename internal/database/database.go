// Package database opens databases, Postgres or a SQLite file, and brings their tables up to date:
// the journal's and those beside it.
//
// The journal and people run statements of their own. The tables of the others are small and their
// statements few, so the packages that own them write each statement once, for both databases:
// numbered parameters, no types that only one of them has. For these, DB runs transactions of one
// tenant. The package imports chat.
//
// It promises that a commit is on the disk before it is answered, and that a connection to Postgres
// is bound by row level security: a role that could bypass it is refused.
package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// Dialect says which database it is.
type Dialect string

// The dialects. They are also the names of the folders of migrations of packages that know both.
const (
	Postgres Dialect = "postgres"
	SQLite   Dialect = "sqlite"
)

// Everybody is the tenant of a transaction that looks for work in all of them. The policies say
// what it may see.
const Everybody = "*"

const (
	// connections is the most that one component of a process holds: several components and the
	// journal share the server's connections.
	connections = 3
	lockTimeout = "15s"
	// folder is where packages that keep tables in both databases have the steps of each.
	folder = "migrations/"
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
		return Prepare(ctx, conn, role)
	}))
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	db.SetConnMaxIdleTime(time.Minute)
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open the database: %w", err), db.Close())
	}
	return &DB{DB: db, Dialect: Postgres}, nil
}

// OpenSQLite opens a file, readable by its owner only, and brings it up to date. Several processes
// may open the same file.
func OpenSQLite(ctx context.Context, path string, migrations fs.FS) (*DB, error) {
	path, err := Private(path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db, err := OpenFile(SQLiteDriver, path) // one connection: a writer waits for the others here, not in the file
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	if err := MigrateFile(ctx, path, db, migrations, folder+string(SQLite)); err != nil {
		return nil, errors.Join(fmt.Errorf("bring %s up to date: %w", path, err), db.Close())
	}
	return &DB{DB: db, Dialect: SQLite}, nil
}

// ReadSQLite opens an existing file for reading and leaves it as it is.
func ReadSQLite(ctx context.Context, path string) (*DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	db, err := ReadFile(SQLiteDriver, path, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), db.Close())
	}
	return &DB{DB: db, Dialect: SQLite}, nil
}

// MigrateBeside makes the tables of a package that knows both dialects in Postgres, or brings them
// up to date. The journal's come first. The steps are counted under the name.
func MigrateBeside(ctx context.Context, dsn, name string, migrations fs.FS) error {
	return Migrate(ctx, dsn, "goose_"+name, migrations, folder+string(Postgres))
}
