package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/sqlite/query"
)

var (
	ref  = journal.Ref{Tenant: "acme", Conversation: "c"}
	root = journal.In{Agent: "root", Task: "root"}
)

func opened(t *testing.T, path string) *Log {
	t.Helper()
	log, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	return log
}

// TestCommitsLast asks the connections how they work: no kill of a process can show that a commit
// survives a power cut.
//
// Covers: P1.
func TestCommitsLast(t *testing.T) {
	log := opened(t, filepath.Join(t.TempDir(), "journal.db"))
	for pragma, want := range map[string]string{
		"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "5000",
	} {
		var got string
		if err := log.writer.conn.QueryRowContext(t.Context(), "pragma "+pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %s, %v; want %s", pragma, got, err, want)
		}
	}
	if _, err := log.reader.Exec("delete from conversations"); err == nil {
		t.Error("a connection for reading wrote")
	}
}

func TestFilesAreTheOwners(t *testing.T) {
	// Characters that SQLite takes for syntax are part of the name.
	path := filepath.Join(t.TempDir(), "a name?mode=ro#%41.db")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	log := opened(t, path)
	if _, err := log.Append(t.Context(), ref, time.UnixMilli(1), journal.Opened{By: "ann"}); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{path, path + "-wal", path + "-shm", path + ".lock"} {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %s", filepath.Base(file), info.Mode())
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("this is not a database, but long enough to be read as one"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, code := range map[string]chat.Code{
		text: chat.CodeInternal, dir: chat.CodeInvalid, filepath.Join(dir, "no", "such"): chat.CodeInternal,
	} {
		log, err := Open(t.Context(), Options{Path: path})
		if err == nil {
			_ = log.Close()
		}
		if chat.CodeOf(err) != code || err == nil {
			t.Errorf("%s: error is %v, want code %s", path, err, code)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() == 0o600 {
		t.Errorf("a folder was made a private file: %v, %v", info.Mode(), err)
	}
}

// TestUnknownIsRefused checks rows of which no table is a fold: the agent and the task that they
// are about must come before them.
func TestUnknownIsRefused(t *testing.T) {
	log := opened(t, filepath.Join(t.TempDir(), "journal.db"))
	begin := []journal.Row{journal.Opened{By: "ann"}, journal.TaskAssigned{In: root, Role: "main"}}
	if _, err := log.Append(t.Context(), ref, time.UnixMilli(1), begin...); err != nil {
		t.Fatal(err)
	}
	child, below := journal.In{Agent: "root/1.0", Task: "root/1.0"}, journal.In{Agent: "root/1.0/1.0", Task: "y"}
	assigned := journal.TaskAssigned{In: child, Parent: "root", Depth: 1, Role: "coder"}
	for name, rows := range map[string][]journal.Row{
		"a step of nobody":       {journal.Stepped{In: child, N: 1, Event: []byte(`{}`)}},
		"a note before its task": {journal.NoteAdded{In: child, Serial: 1}, assigned},
		"a task of another name": {journal.TurnEnded{In: journal.In{Agent: "root", Task: "y"}, Serial: 1}},
		"a parent that comes later": {
			journal.TaskAssigned{In: below, Parent: child.Agent, Depth: 2, Role: "coder"}, assigned,
		},
	} {
		_, err := log.Append(t.Context(), ref, time.UnixMilli(1), rows...)
		if chat.CodeOf(err) != chat.CodeInvalid || err == nil {
			t.Errorf("%s: error is %v, want code %s", name, err, chat.CodeInvalid)
		}
	}
	entries, err := log.Entries(t.Context(), ref, 0, 10)
	if err != nil || len(entries) != len(begin) {
		t.Errorf("%d entries, %v; want %d", len(entries), err, len(begin))
	}
}

// TestBusyIsUnavailable holds the file's lock for longer than an append waits for it.
func TestBusyIsUnavailable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	log := opened(t, path)
	if _, err := log.writer.conn.ExecContext(t.Context(), "pragma busy_timeout = 1"); err != nil {
		t.Fatal(err)
	}
	other, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close() //nolint:errcheck // nothing is left to lose
	tx, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = log.Append(t.Context(), ref, time.UnixMilli(1), journal.Opened{By: "ann"})
	if chat.CodeOf(err) != chat.CodeUnavailable {
		t.Errorf("error is %v, want code %s", err, chat.CodeUnavailable)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(t.Context(), ref, time.UnixMilli(1), journal.Opened{By: "ann"}); err != nil {
		t.Errorf("after the lock is free: %v", err)
	}
}

// TestWriterRecovers leaves the connection that writes in every state that a failure may leave it
// in.
func TestWriterRecovers(t *testing.T) {
	log := opened(t, filepath.Join(t.TempDir(), "journal.db"))
	keep := func(ctx context.Context) error {
		return log.Keep(ctx, journal.Ref{Tenant: "acme", Conversation: "c"}, "a text")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := keep(ended); chat.CodeOf(err) != chat.CodeUnavailable {
		t.Errorf("after its context has ended: error is %v, want code %s", err, chat.CodeUnavailable)
	}
	for name, fail := range map[string]func(context.Context, *query.Queries) error{
		"rolled back by SQLite": func(ctx context.Context, _ *query.Queries) error {
			_, err := log.writer.rollback.ExecContext(ctx)
			return err
		},
		"left open": func(ctx context.Context, _ *query.Queries) error {
			_, err := log.writer.begin.ExecContext(ctx)
			return err
		},
	} {
		if err := log.write(t.Context(), name, fail); err == nil {
			t.Errorf("%s: no error", name)
		}
		if err := keep(t.Context()); err != nil {
			t.Errorf("after a transaction was %s: %v", name, err)
		}
	}
	if _, err := log.writer.begin.ExecContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := keep(t.Context()); err == nil {
		t.Error("a text was kept in somebody else's transaction")
	}
	if err := keep(t.Context()); err != nil {
		t.Errorf("after a transaction that nobody ended: %v", err)
	}
}

// TestCloseWaits closes a journal while somebody writes. The write is in the file, and no other
// file is left.
func TestCloseWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	log, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan error)
	err = log.write(t.Context(), "keep", func(ctx context.Context, q *query.Queries) error {
		go func() { closed <- log.Close() }()
		return q.KeepText(ctx, query.KeepTextParams{Tenant: "acme", Conversation: "c", Hash: "h", Text: "kept"})
	})
	if err := errors.Join(err, <-closed); err != nil {
		t.Fatal(err)
	}
	if err := log.Keep(t.Context(), journal.Ref{Tenant: "acme", Conversation: "c"}, "late"); chat.CodeOf(err) != chat.CodeUnavailable {
		t.Errorf("after the end: error is %v, want code %s", err, chat.CodeUnavailable)
	}
	if _, err := os.Stat(path + "-wal"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the write-ahead log is left: %v", err)
	}
	if text, err := opened(t, path).Text(t.Context(), journal.Ref{Tenant: "acme", Conversation: "c"}, "h"); err != nil || text != "kept" {
		t.Errorf("text is %q, %v", text, err)
	}
}
