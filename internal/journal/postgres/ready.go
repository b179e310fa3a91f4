package postgres

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Ready complains when the database cannot be reached or is not up to date with this program.
func (l *Log) Ready(ctx context.Context) error {
	want, err := latest()
	if err != nil {
		return err
	}
	var got int64
	const sql = "select coalesce(max(version_id), 0) from goose_db_version where is_applied"
	if err := l.pool.QueryRow(ctx, sql).Scan(&got); err != nil {
		return fmt.Errorf("look at the journal's version: %w", err)
	}
	if got < want {
		return &chat.Error{
			Code:    chat.CodeUnavailable,
			Message: fmt.Sprintf("the journal is at version %d and this program needs %d: run 'retinue migrate'", got, want),
		}
	}
	return nil
}

// latest is the number of the last migration that this program knows.
func latest() (int64, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return 0, err
	}
	last := int64(0)
	for _, name := range names {
		number, _, _ := strings.Cut(path.Base(name), "_")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read the number of %s: %w", name, err)
		}
		last = max(last, n)
	}
	return last, nil
}
