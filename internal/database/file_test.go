package database_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/database"
)

var steps = fstest.MapFS{"migrations/sqlite/00001_first.sql": {Data: []byte("-- +goose Up\ncreate table things (id integer) strict;\n")}}

// TestFilesAreTheOwnersAlone opens a missing file, one that others may read, and a folder.
func TestFilesAreTheOwnersAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := filepath.Join(dir, "open.db")
	if err := os.WriteFile(open, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o644); err != nil { //nolint:gosec // the fault that is mended
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "new.db"), open} {
		for range 2 { // the second time it is up to date
			db, err := database.OpenSQLite(t.Context(), path, steps)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.ExecContext(t.Context(), "insert into things (id) values (1)"); err != nil {
				t.Error(err)
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}
		for _, name := range []string{path, path + ".lock"} {
			if info, err := os.Stat(name); err != nil || info.Mode().Perm() != fs.FileMode(0o600) {
				t.Errorf("%s: mode %v, %v", name, info.Mode(), err)
			}
		}
	}
	if _, err := database.OpenSQLite(t.Context(), dir, steps); chat.CodeOf(err) != chat.CodeInvalid {
		t.Errorf("a folder: error is %v, want a refusal", err)
	}
}

// TestReadersChangeNothing reads a file as it is.
func TestReadersChangeNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	db, err := database.OpenSQLite(t.Context(), path, steps)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // the test reads its writes before
	reader, err := database.ReadSQLite(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close() //nolint:errcheck // it only reads
	if _, err := reader.ExecContext(t.Context(), "insert into things (id) values (1)"); err == nil {
		t.Error("a reader wrote")
	}
}
