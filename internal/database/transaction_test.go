package database_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/database"
)

func openFile(t *testing.T, path string) *database.DB {
	t.Helper()
	db, err := database.OpenSQLite(t.Context(), path, steps)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// add writes one row.
func add(ctx context.Context, id int) func(*sql.Tx) error {
	return func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "insert into things (id) values ($1)", id)
		return err
	}
}

// things counts the rows in a file, as another process would.
func things(t *testing.T, path string) (n int) {
	t.Helper()
	db, err := database.ReadSQLite(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // it only reads
	if err := db.QueryRowContext(t.Context(), "select count(*) from things").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestATransactionIsAllOrNothing writes a row and then fails: an error of the caller's own comes
// back as it is, one of the database as a request to try again.
func TestATransactionIsAllOrNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	db := openFile(t, path)
	if err := db.In(t.Context(), "acme", add(t.Context(), 1)); err != nil {
		t.Fatal(err)
	}
	own := &chat.Error{Code: chat.CodeConflict, Message: "somebody was here before"}
	for name, c := range map[string]struct {
		fails func(*sql.Tx) error
		code  chat.Code
	}{
		"the caller's own":     {func(*sql.Tx) error { return own }, chat.CodeConflict},
		"the database's":       {func(tx *sql.Tx) error { _, err := tx.ExecContext(t.Context(), "select from"); return err }, chat.CodeUnavailable},
		"something unforeseen": {func(*sql.Tx) error { return errors.New("broken") }, chat.CodeUnavailable},
	} {
		err := db.In(t.Context(), "acme", func(tx *sql.Tx) error {
			return errors.Join(add(t.Context(), 2)(tx), c.fails(tx))
		})
		if chat.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want the code %s", name, err, c.code)
		}
	}
	if n := things(t, path); n != 1 {
		t.Errorf("%d rows, want the one that was committed", n)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.In(t.Context(), "acme", add(t.Context(), 3)); chat.CodeOf(err) != chat.CodeUnavailable {
		t.Errorf("a database that is closed: %v", err)
	}
}

// TestWritersWaitForEachOther has several transactions, through two openings of one file, read a
// number and write the next. Each sees what the one before wrote.
func TestWritersWaitForEachOther(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	dbs := []*database.DB{openFile(t, path), openFile(t, path)}
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			db := dbs[i%len(dbs)]
			err := db.In(t.Context(), "acme", func(tx *sql.Tx) error {
				if err := db.Lock(t.Context(), tx, "counter"); err != nil {
					return err
				}
				var n int
				if err := tx.QueryRowContext(t.Context(), "select coalesce(max(id), 0) from things").Scan(&n); err != nil {
					return err
				}
				return add(t.Context(), n+1)(tx)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	db := openFile(t, path)
	var rows, last int
	if err := db.QueryRowContext(t.Context(), "select count(*), max(id) from things").Scan(&rows, &last); err != nil {
		t.Fatal(err)
	}
	if rows != 40 || last != 40 {
		t.Errorf("%d rows, the last is %d; want 40 and 40", rows, last)
	}
}

// TestEveryStepIsTakenOnce opens a file that many do at once, with more steps than it has seen, and
// with one that fails. The failure names the file, and leaves the rest as it was.
func TestEveryStepIsTakenOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	openFile(t, path)
	more := fstest.MapFS{"migrations/sqlite/00002_second.sql": {Data: []byte("-- +goose Up\ninsert into things (id) values (7);\n")}}
	for name, file := range steps {
		more[name] = file
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			db, err := database.OpenSQLite(t.Context(), path, more)
			if err != nil {
				t.Error(err)
				return
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	more["migrations/sqlite/00003_third.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\ninsert into things (id) values (8);\nselect from;\n")}
	if _, err := database.OpenSQLite(t.Context(), path, more); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a step that fails: %v", err)
	}
	if n := things(t, path); n != 1 {
		t.Errorf("%d rows, want the one of the second step", n)
	}
}

// TestADatabaseThatCannotBeHadIsAnError asks for files and servers that are not there.
func TestADatabaseThatCannotBeHadIsAnError(t *testing.T) {
	t.Parallel()
	nowhere := filepath.Join(t.TempDir(), "no folder", "a.db")
	if _, err := database.ReadSQLite(t.Context(), nowhere); err == nil || !strings.Contains(err.Error(), nowhere) {
		t.Errorf("read a file that is not there: %v", err)
	}
	if _, err := database.OpenSQLite(t.Context(), nowhere, steps); err == nil {
		t.Error("a file was made in a folder that is not there")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	server := fstest.MapFS{"migrations/postgres/00001_first.sql": {Data: []byte("-- +goose Up\nselect 1;\n")}}
	const refused = "postgres://somebody:canary@127.0.0.1:1/none?connect_timeout=5"
	for _, dsn := range []string{"postgres://%", refused} {
		for what, err := range map[string]error{
			"open": func() error { _, err := database.OpenPostgres(ctx, dsn, database.Role); return err }(), "migrate": database.MigrateBeside(ctx, dsn, "things", server),
		} {
			if err == nil || strings.Contains(err.Error(), "canary") {
				t.Errorf("%s %s: %v", what, dsn, err)
			}
		}
	}
}

// TestPlaceholders numbers the parameters of a statement with several rows.
func TestPlaceholders(t *testing.T) {
	t.Parallel()
	if got, want := database.Placeholders(2, 3, 4), "($4,$5,$6),($7,$8,$9)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
