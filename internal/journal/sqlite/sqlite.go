// Package sqlite keeps the journal in one SQLite file, for a program that runs alone.
//
// Each append is one transaction on the one connection that writes: known keys are looked up,
// entries are inserted and the tables that fold them are brought up to date. A commit is on the
// disk before it is answered. Reads have connections of their own, which cannot write, and see one
// moment each. Every statement names its tenant.
//
// Several processes may open the same file: SQLite's locks keep their transactions apart.
package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/pressly/goose/v3"
	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/sqlite/query"
)

//go:generate go tool -modfile=../../../tools/go.mod sqlc generate

//go:embed migrations/*.sql
var migrations embed.FS

// Options say which file to use.
type Options struct {
	// Path is made if it does not exist, readable by its owner only.
	Path string

	// Driver is another driver's name than that of SQLite, to watch what it is asked.
	Driver string
}

const (
	sqliteDriver = "sqlite"
	// busyTimeout is how long a statement waits for another process, in milliseconds.
	busyTimeout = "busy_timeout(5000)"
	// commitTimeout is how long an append waits for its turn and its commit.
	commitTimeout = 15 * time.Second
	// readers is the most connections that read at a time.
	readers = 8
)

// Log is a journal in a SQLite file.
type Log struct {
	writer   *writer
	reader   *sql.DB
	reads    *query.Queries
	combiner journal.Combiner[journal.Ref]
}

var _ journal.Log = (*Log)(nil)

// Open opens a file and brings it up to date.
func Open(ctx context.Context, opts Options) (*Log, error) {
	log := &Log{}
	log.combiner.Commit = log.commit
	if err := log.open(ctx, opts.Path, cmp.Or(opts.Driver, sqliteDriver)); err != nil {
		return nil, fault("open journal", errors.Join(err, log.Close()))
	}
	return log, nil
}

func (l *Log) open(ctx context.Context, path, driver string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if err := private(path); err != nil {
		return err
	}
	db, err := connect(driver, path, 1, url.Values{
		"_txlock": {"immediate"}, "_pragma": {
			busyTimeout, "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)",
			"temp_store(MEMORY)",
		},
	})
	if err != nil {
		return err
	}
	if err := migrate(ctx, path, db); err != nil {
		return errors.Join(err, db.Close())
	}
	if l.writer, err = newWriter(ctx, db); err != nil {
		return errors.Join(err, db.Close())
	}
	l.reader, err = connect(driver, path, readers, url.Values{"mode": {"ro"}, "_pragma": {busyTimeout}})
	if err != nil {
		return err
	}
	l.reads, err = query.Prepare(ctx, steady{l.reader})
	return err
}

// private makes a file that only its owner can read. One that exists is never opened here: closing
// it would drop the locks that SQLite holds on it in this process.
func private(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			return nil // Another process made it meanwhile.
		}
		if err != nil {
			return err
		}
		return file.Close()
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return &chat.Error{Code: chat.CodeInvalid, Message: path + " is not a file: name one for the journal"}
	case info.Mode().Perm() == 0o600:
		return nil
	}
	return os.Chmod(path, 0o600)
}

func connect(driver, path string, connections int, settings url.Values) (*sql.DB, error) {
	settings.Set("_dqs", "0")
	source := url.URL{Scheme: "file", Path: path, RawQuery: settings.Encode()}
	db, err := sql.Open(driver, source.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

// migrate brings the file up to date. Processes that open it at once take turns: each holds the
// lock of a second, empty file while it looks and works.
func migrate(ctx context.Context, path string, db *sql.DB) error {
	if err := private(path + ".lock"); err != nil {
		return err
	}
	turns, err := connect(sqliteDriver, path+".lock", 1, url.Values{
		"_txlock": {"exclusive"}, "_pragma": {busyTimeout},
	})
	if err != nil {
		return err
	}
	defer turns.Close() //nolint:errcheck // it ends the turn, and nothing was written
	turn, err := turns.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("wait for another process to migrate: %w", err)
	}
	defer turn.Rollback() //nolint:errcheck // as above
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files)
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

// Close ends all connections. The one that writes goes last: it moves what is left in the
// write-ahead log into the file.
func (l *Log) Close() error {
	var err error
	if l.reader != nil {
		err = l.reader.Close()
	}
	if l.writer != nil {
		err = errors.Join(err, l.writer.close())
	}
	return err
}

// fault says what an error of the database means to a caller.
func fault(doing string, err error) error {
	if err == nil {
		return nil
	}
	if coded := (*chat.Error)(nil); errors.As(err, &coded) {
		return err
	}
	if file := (*fs.PathError)(nil); errors.As(err, &file) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if broken := (*driver.Error)(nil); errors.As(err, &broken) {
		switch broken.Code() & 0xff {
		case sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG:
			return &chat.Error{
				Code:    chat.CodeInvalid,
				Message: fmt.Sprintf("%s: what a row is about does not exist, or a value cannot be stored", doing),
			}
		case sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_MISUSE:
			// Trying again would not help.
			return fmt.Errorf("%s: %w", doing, err)
		}
	}
	return fmt.Errorf("%s: %w", doing, errors.Join(&chat.Error{
		Code: chat.CodeUnavailable, Message: "the database did not answer as it should; try again",
	}, err))
}
