package sqlite_test

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/journal/sqlite"
)

func TestSQLite(t *testing.T) {
	journaltest.Run(t, func(t *testing.T) journaltest.Fixture {
		path := filepath.Join(t.TempDir(), "journal.db")
		l := &lossy{Log: open(t, path)}
		return journaltest.Fixture{
			Log: l, Other: func() journal.Log { return open(t, path) },
			LoseAnswer: func() { l.lose.Store(true) },
		}
	})
}

// open opens a journal that is closed after the test.
func open(t testing.TB, path string) *sqlite.Log {
	t.Helper()
	log, err := sqlite.Open(context.Background(), sqlite.Options{Path: path})
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

// lossy is a journal whose answers can be lost on their way back.
type lossy struct {
	*sqlite.Log
	lose atomic.Bool
}

func (l *lossy) Append(
	ctx context.Context, at journal.Ref, when time.Time, rows ...journal.Row,
) ([]journal.Written, error) {
	written, err := l.Log.Append(ctx, at, when, rows...)
	if err == nil && l.lose.Swap(false) {
		return nil, &chat.Error{Code: chat.CodeUnavailable, Message: "the answer was lost"}
	}
	return written, err
}
