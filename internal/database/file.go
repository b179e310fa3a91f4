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

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the driver of SQLite files

	"github.com/retinue-dev/retinue/internal/chat"
)

// SQLiteDriver is the driver of SQLite files.
const SQLiteDriver = "sqlite"

// busyTimeout is how long a statement waits for another process, in milliseconds.
const busyTimeout = "busy_timeout(5000)"

// Private makes a file that only its owner can read, and returns its whole path. One that exists is
// never opened here: closing it would drop the locks that SQLite holds on it in this process.
func Private(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			return path, nil // Another process made it meanwhile.
		}
		if err != nil {
			return "", err
		}
		return path, file.Close()
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", &chat.Error{Code: chat.CodeInvalid, Message: path + " is not a file: name one for the database"}
	case info.Mode().Perm() == 0o600:
		return path, nil
	}
	return path, os.Chmod(path, 0o600)
}

// OpenFile opens a file with one connection, which writes. A commit is on the disk before it is
// answered.
func OpenFile(driver, path string) (*sql.DB, error) {
	return connect(driver, path, 1, url.Values{"_txlock": {"immediate"}, "_pragma": {
		busyTimeout, "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "temp_store(MEMORY)",
	}})
}

// ReadFile opens a file with connections that cannot write, at most so many; zero sets no limit.
func ReadFile(driver, path string, connections int) (*sql.DB, error) {
	return connect(driver, path, connections, url.Values{"mode": {"ro"}, "_pragma": {busyTimeout}})
}

func connect(driver, path string, connections int, settings url.Values) (*sql.DB, error) {
	settings.Set("_dqs", "0")
	source := url.URL{Scheme: "file", Path: path, RawQuery: settings.Encode()}
	db, err := sql.Open(driver, source.String())
	if err != nil {
		return nil, err
	}
	if connections > 0 {
		db.SetMaxOpenConns(connections)
		db.SetMaxIdleConns(connections)
	}
	return db, nil
}

// MigrateFile makes tables in a file, or brings them up to date. Processes that open it at once
// take turns: each holds the lock of a second, empty file while it looks and works. The steps are
// in a folder of files.
func MigrateFile(ctx context.Context, path string, db *sql.DB, files fs.FS, folder string) error {
	beside, err := Private(path + ".lock")
	if err != nil {
		return err
	}
	turns, err := connect(SQLiteDriver, beside, 1, url.Values{"_txlock": {"exclusive"}, "_pragma": {busyTimeout}})
	if err != nil {
		return err
	}
	defer turns.Close() //nolint:errcheck // it ends the turn, and nothing was written
	turn, err := turns.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("wait for another process to migrate: %w", err)
	}
	defer turn.Rollback() //nolint:errcheck // as above
	return up(ctx, goose.DialectSQLite3, db, files, folder)
}

// up takes the steps that a database has not seen.
func up(
	ctx context.Context, dialect goose.Dialect, db *sql.DB, files fs.FS, folder string, options ...goose.ProviderOption,
) error {
	steps, err := fs.Sub(files, folder)
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(dialect, db, steps, options...)
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}
