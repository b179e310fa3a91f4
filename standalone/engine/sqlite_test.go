package engine

import (
	"database/sql"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	serverschema "go.temporal.io/server/schema"
	sqliteschema "go.temporal.io/server/schema/sqlite"
)

func TestSQLiteSchemaIsMadeOnceAndUpgraded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a b#c%20d?e.db")
	prepare(t, file)
	made := tables(t, file)
	if len(made) < 30 {
		t.Fatalf("only %v", made)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is not private: %v, %v", info, err)
	}

	prepare(t, file)
	if diff := cmp.Diff(made, tables(t, file)); diff != "" {
		t.Errorf("the second time changed it:\n%s", diff)
	}

	// Version 0.8, without what 0.9, 0.10 and 0.11 brought.
	for _, name := range []string{"chasm_node_maps", "tasks_v2", "task_queues_v2", "current_chasm_executions"} {
		change(t, file, "DROP TABLE "+name)
	}
	change(t, file, "PRAGMA user_version = 8")
	prepare(t, file)
	if diff := cmp.Diff(made, tables(t, file)); diff != "" {
		t.Errorf("the upgrade differs from a new file:\n%s", diff)
	}
}

func TestAnUpgradeThatFailsLeavesTheFileAsItWas(t *testing.T) {
	file := filepath.Join(t.TempDir(), "engine.db")
	prepare(t, file)
	change(t, file, "ALTER TABLE current_executions DROP COLUMN start_time")
	change(t, file, "PRAGMA user_version = 5") // 0.6 brings it back, 0.7 adds one that exists
	before := tables(t, file)
	if err := prepareSQLite(t.Context(), file, quiet()); err == nil {
		t.Fatal("the column was added twice")
	}
	if diff := cmp.Diff(before, tables(t, file)); diff != "" {
		t.Errorf("half an upgrade is left:\n%s", diff)
	}
}

func TestFilesOfOthersAreRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "engine.db")
	change(t, file, "CREATE TABLE theirs (id INT)")
	_, err := Start(t.Context(), knownTo(t, Options{SQLite: file}))
	if err == nil || !strings.Contains(err.Error(), "the file of another program") {
		t.Errorf("got %v", err)
	}
	change(t, file, "PRAGMA user_version = 99")
	_, err = Start(t.Context(), knownTo(t, Options{SQLite: file}))
	if err == nil || !strings.Contains(err.Error(), "use the newer retinue that wrote it") {
		t.Errorf("got %v", err)
	}
}

func TestAFileIsTakenByOneEngine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "engine.db")
	first, err := openStore(t.Context(), Options{SQLite: file}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	_, err = Start(t.Context(), knownTo(t, Options{SQLite: file}))
	want := "lock " + file + ": another engine runs on it: stop that one, or name another store"
	if !errors.Is(err, errTaken) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := first.release(); err != nil {
		t.Fatal(err)
	}
	second, err := openStore(t.Context(), Options{SQLite: file}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	if err := second.release(); err != nil {
		t.Error(err)
	}
}

// The server counts versions of its visibility schema but has no changes between them: when it gets
// some, migrateSQLite must learn to run them.
func TestTheVisibilitySchemaIsTheOneWeKnow(t *testing.T) {
	_, err := fs.Stat(serverschema.Assets(), sqliteVisibility+"/versioned")
	if sqliteschema.VisibilityVersion != sqliteVisibilityVersion || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("version %s, changes %v", sqliteschema.VisibilityVersion, err)
	}
}

func quiet() serverLog { return newServerLog(slog.New(slog.DiscardHandler)) }

func prepare(t *testing.T, file string) {
	t.Helper()
	if err := prepareSQLite(t.Context(), file, quiet()); err != nil {
		t.Fatal(err)
	}
}

func change(t *testing.T, file, statement string) {
	t.Helper()
	db := open(t, file)
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// tables are the names and columns in a file, and its version.
func tables(t *testing.T, file string) map[string]string {
	t.Helper()
	db := open(t, file)
	rows, err := db.QueryContext(t.Context(), "SELECT m.name, group_concat(c.name) FROM sqlite_master m, "+
		"pragma_table_info(m.name) c GROUP BY 1 UNION SELECT 'version', user_version FROM pragma_user_version")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for rows.Next() {
		var name, columns string
		if err := rows.Scan(&name, &columns); err != nil {
			t.Fatal(err)
		}
		found[name] = columns
	}
	if err := errors.Join(rows.Err(), rows.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	return found
}

func open(t *testing.T, file string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+escape(file))
	if err != nil {
		t.Fatal(err)
	}
	return db
}
