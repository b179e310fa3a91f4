package sqlite_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/journal/sqlite"
	"github.com/retinue-dev/retinue/internal/measure"
)

// childVariable holds the arguments of a test binary that is to write instead of test.
const childVariable = "TEST_RETINUE_SQLITE_WRITE"

// TestMain writes instead of testing when it is told to.
func TestMain(m *testing.M) {
	arguments := os.Getenv(childVariable)
	if arguments == "" {
		os.Exit(m.Run())
	}
	var c child
	err := json.Unmarshal([]byte(arguments), &c)
	if err == nil {
		err = c.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child is a process that writes to a journal and prints the acknowledged rows.
type child struct {
	Path string
	Run  int
}

// ack is a line of a child's output.
type ack struct {
	Writer       string
	Conversation string
	Key          string
	Seq          int64
}

const writers, conversations = 8, 4

func places() []journal.Ref {
	out := make([]journal.Ref, conversations)
	for i := range out {
		out[i] = journal.Ref{Tenant: "acme", Conversation: fmt.Sprint("c", i)}
	}
	return out
}

// run writes until the input ends.
func (c child) run() error {
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	log, err := sqlite.Open(ctx, sqlite.Options{Path: c.Path})
	if err != nil {
		return err
	}
	for _, ref := range places() {
		if _, err := log.Append(ctx, ref, start, journaltest.Opening()...); err != nil {
			return err
		}
	}
	var ledger journaltest.Ledger
	var wg sync.WaitGroup
	var failures [writers]error
	for i := range writers {
		wg.Go(func() {
			name := fmt.Sprintf("r%dw%d", c.Run, i)
			w := journaltest.Writer{
				Name: name, Number: c.Run*writers + i, Log: telling{Log: log, name: name}, Ledger: &ledger,
				Places: places(),
			}
			failures[i] = w.Run(ctx)
		})
	}
	wg.Wait()
	return errors.Join(append(failures[:], log.Close())...)
}

// telling is a journal that prints each acknowledged row before its caller is told.
type telling struct {
	journal.Log
	name string
}

func (l telling) Append(
	ctx context.Context, at journal.Ref, when time.Time, rows ...journal.Row,
) ([]journal.Written, error) {
	written, err := l.Log.Append(ctx, at, when, rows...)
	for i := range written {
		line, err := json.Marshal(ack{l.name, at.Conversation, rows[i].Key(), written[i].Seq})
		if err != nil {
			return nil, err
		}
		// One write of a short line to a pipe is whole or not at all.
		if _, err := os.Stdout.Write(append(line, '\n')); err != nil {
			return nil, err
		}
	}
	return written, err
}

// spawn starts a child. Its output comes out of the scanner; closing the input ends it.
func (c child) spawn(t *testing.T) (*exec.Cmd, io.Closer, *bufio.Scanner) {
	t.Helper()
	arguments, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+string(arguments))
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, input, bufio.NewScanner(output)
}

// hear notes what a child says until it says no more. After a number of acknowledgements it does
// something to the child.
func hear(t *testing.T, said *bufio.Scanner, ledger *journaltest.Ledger, after int, do func()) {
	t.Helper()
	n := 0
	for said.Scan() {
		var a ack
		if err := json.Unmarshal(said.Bytes(), &a); err != nil {
			t.Errorf("a child said %q: %v", said.Text(), err)
			continue
		}
		ref := journal.Ref{Tenant: "acme", Conversation: a.Conversation}
		if err := ledger.Ack(a.Writer, ref, a.Key, a.Seq); err != nil {
			t.Error(err)
		}
		if n++; n == after {
			do()
		}
	}
	if n < after {
		t.Errorf("a child ended after %d acknowledgements, before it was told to", n)
	}
}

// TestKills kills a process with eight writers, fifteen times, on the same file.
//
// Covers: P1, P2, P3, P13.
func TestKills(t *testing.T) {
	t.Parallel()
	const kills = 15
	path := filepath.Join(t.TempDir(), "journal.db")
	chance := rand.New(rand.NewPCG(measure.Seed(t, 0), 0))
	var ledger journaltest.Ledger
	rows := 0
	for run := range kills {
		cmd, _, said := child{Path: path, Run: run}.spawn(t)
		hear(t, said, &ledger, 1+chance.IntN(300), func() {
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		})
		if err := cmd.Wait(); err == nil {
			t.Error("the child ended by itself: the kill shows nothing")
		}
		rows = check(t, path, &ledger)
	}
	t.Logf("%d kills, %d rows acknowledged, %d more had been committed",
		kills, ledger.Acks(), rows-ledger.Acks()-2*conversations)
}

// TestTwoProcesses has two processes make, open and write the same file at once.
//
// Covers: P1, P3.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal.db")
	var ledger journaltest.Ledger
	var wg sync.WaitGroup
	for run := range 2 {
		wg.Go(func() {
			cmd, input, said := child{Path: path, Run: run}.spawn(t)
			hear(t, said, &ledger, 300, func() {
				if err := input.Close(); err != nil {
					t.Error(err)
				}
			})
			if err := cmd.Wait(); err != nil {
				t.Errorf("process %d: %v", run, err)
			}
		})
	}
	wg.Wait()
	check(t, path, &ledger)
	t.Logf("%d rows acknowledged to two processes", ledger.Acks())
}

// check compares a file with the ledger, and has SQLite check that it is sound. It returns how many
// entries there are.
func check(t *testing.T, path string, ledger *journaltest.Ledger) (rows int) {
	t.Helper()
	log, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	ledger.Check(t, log)
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	db := raw(t, path)
	sound := ""
	if err := db.QueryRow("pragma integrity_check").Scan(&sound); err != nil || sound != "ok" {
		t.Errorf("the file is not sound: %s, %v", sound, err)
	}
	if _, err := db.Exec("insert into message_words (message_words, rank) values ('integrity-check', 0)"); err != nil {
		t.Errorf("the full-text index is not sound: %v", err)
	}
	if err := db.QueryRow("select count(*) from entries").Scan(&rows); err != nil {
		t.Error(err)
	}
	orphans := 0
	err = db.QueryRow("select count(*) from pragma_foreign_key_check").Scan(&orphans)
	if err != nil || orphans > 0 {
		t.Errorf("%d rows refer to nothing, %v", orphans, err)
	}
	return rows
}

// raw opens a file past the journal.
func raw(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}
