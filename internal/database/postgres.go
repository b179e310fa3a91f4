package database

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Role is the role that the journal's migrations make for the program. It owns nothing.
const Role = "retinue_app"

// Prepare takes on a role, unless it is empty, and refuses a connection that could pass by the
// policies, or whose commits do not last.
func Prepare(ctx context.Context, conn *pgx.Conn, role string) error {
	if role != "" {
		if _, err := conn.Exec(ctx, "set role "+pgx.Identifier{role}.Sanitize()); err != nil {
			return fmt.Errorf("take on role %s: %w", role, err)
		}
	}
	var user string
	var above, owner, lossy bool
	err := conn.QueryRow(ctx, `
		select current_user, r.rolsuper or r.rolbypassrls,
			exists (select from pg_class c where c.relowner = r.oid and c.relkind in ('r', 'p', 'v')),
			current_setting('synchronous_commit') = 'off' or current_setting('fsync') = 'off'
		from pg_roles r where r.rolname = current_user`).Scan(&user, &above, &owner, &lossy)
	switch {
	case err != nil:
		return fmt.Errorf("look at the role: %w", err)
	case above:
		return refuse("the role %s is above row level security; connect as a member of %s", user, Role)
	case owner:
		return refuse("the role %s owns tables; connect as a member of %s", user, Role)
	case lossy:
		return refuse("synchronous_commit or fsync is off: an acknowledged message could be lost; turn them on")
	}
	return nil
}

func refuse(format string, args ...any) error {
	return &chat.Error{Code: chat.CodeDenied, Message: fmt.Sprintf(format, args...)}
}

// Migrate makes tables in Postgres, or brings them up to date. It needs the right to make tables
// and, for the journal's the first time, a role; the program itself runs without either. Several
// may try at once: one does it. The steps are in a folder of files, and counted in the table.
func Migrate(ctx context.Context, dsn, table string, files fs.FS, folder string) error {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	cfg.RuntimeParams["lock_timeout"] = lockTimeout
	db := stdlib.OpenDB(*cfg)
	defer db.Close() //nolint:errcheck // nothing is left to lose
	alone, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return fmt.Errorf("migrate %s: %w", table, err)
	}
	err = up(ctx, goose.DialectPostgres, db, files, folder, goose.WithSessionLocker(alone), goose.WithTableName(table))
	if err != nil {
		return fmt.Errorf("migrate %s: %w", table, err)
	}
	return nil
}
