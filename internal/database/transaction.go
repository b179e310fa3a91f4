package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/retinue-dev/retinue/internal/chat"
)

// setTenant sets the tenant of a transaction, and the time at which the transaction began, so that
// a setting that outlives its transaction names nobody.
const setTenant = `select set_config('app.tenant', $1, true), set_config('app.began', extract(epoch from now())::text, true)`

// In runs statements in one transaction of a tenant, and commits unless they fail.
func (db *DB) In(ctx context.Context, tenant string, do func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fault(err)
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	if db.Dialect == Postgres {
		if _, err := tx.ExecContext(ctx, setTenant, tenant); err != nil {
			return fault(err)
		}
	}
	if err := do(tx); err != nil {
		return fault(err)
	}
	return fault(tx.Commit())
}

// Lock admits one transaction at a time under a name, until it ends. A SQLite file has one writer
// at a time anyhow.
func (db *DB) Lock(ctx context.Context, tx *sql.Tx, name string) error {
	if db.Dialect == SQLite {
		return nil
	}
	_, err := tx.ExecContext(ctx, `select pg_advisory_xact_lock(hashtextextended($1, 0))`, name)
	return err
}

// Placeholders are rows of numbered parameters for a statement: ($1,$2),($3,$4).
func Placeholders(rows, columns, from int) string {
	var b strings.Builder
	for r := range rows {
		if r > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('(')
		for c := range columns {
			if c > 0 {
				b.WriteByte(',')
			}
			b.WriteString("$" + strconv.Itoa(from+r*columns+c))
		}
		b.WriteByte(')')
	}
	return b.String()
}

// fault says what an error of the database means to a caller.
func fault(err error) error {
	if err == nil {
		return nil
	}
	if coded := (*chat.Error)(nil); errors.As(err, &coded) {
		return err
	}
	if refused := (*pgconn.PgError)(nil); errors.As(err, &refused) && refused.Code[:2] != "08" && refused.Code[:2] != "57" {
		return fmt.Errorf("the database refused: %w", err)
	}
	return fmt.Errorf("%w: %w", &chat.Error{
		Code: chat.CodeUnavailable, Message: "the database did not answer as it should; try again",
	}, err)
}
