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
	"time"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/database"
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

	// Driver is the name of another driver than SQLite's, to watch its statements.
	Driver string
}

const (
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
	if err := log.open(ctx, opts.Path, cmp.Or(opts.Driver, database.SQLiteDriver)); err != nil {
		return nil, fault("open journal", errors.Join(err, log.Close()))
	}
	return log, nil
}

func (l *Log) open(ctx context.Context, path, driver string) error {
	path, err := database.Private(path)
	if err != nil {
		return err
	}
	db, err := database.OpenFile(driver, path)
	if err != nil {
		return err
	}
	if err := database.MigrateFile(ctx, path, db, migrations, "migrations"); err != nil {
		return errors.Join(err, db.Close())
	}
	if l.writer, err = newWriter(ctx, db); err != nil {
		return errors.Join(err, db.Close())
	}
	if l.reader, err = database.ReadFile(driver, path, readers); err != nil {
		return err
	}
	l.reads, err = query.Prepare(ctx, steady{l.reader})
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
