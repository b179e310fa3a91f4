package postgrestest

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Commits makes a row and returns what changes and commits it, for tests that want to know how long
// the server takes for nothing else.
func (d Database) Commits(t testing.TB) (commit func(context.Context) error) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	conn, err := pgx.Connect(ctx, d.DSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(ctx) })
	if _, err := conn.Exec(ctx, "create table committed (n int); insert into committed values (0)"); err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context) error {
		_, err := conn.Exec(ctx, "update committed set n = n + 1")
		return err
	}
}

// HoldUp has commits wait for so long, as a disk that stands still would.
func (d Database) HoldUp(ctx context.Context, long time.Duration) error {
	conn, err := pgx.Connect(ctx, d.DSN)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "lock table committed"); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "select pg_sleep($1)", long.Seconds()); err != nil {
		return err
	}
	return tx.Commit(ctx)
}
