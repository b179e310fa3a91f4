package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/people"
)

// Workspaces implements people.Workspaces.
func (s *Store) Workspaces(ctx context.Context, tenant string) (list []people.Workspace, err error) {
	err = s.inTenant(ctx, "list workspaces", tenant, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `select name, served_at from people.workspaces where tenant_id = $1 order by name`, tenant)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (w people.Workspace, err error) {
			err = row.Scan(&w.Name, &w.ServedAt)
			w.ServedAt = w.ServedAt.UTC()
			return w, err
		})
		return err
	})
	return list, err
}

// foreignKey is Postgres's code for a reference to a missing row.
const foreignKey = "23503"

// ServeWorkspace implements people.Workspaces.
func (s *Store) ServeWorkspace(ctx context.Context, tenant, name string, at time.Time) error {
	err := s.inTenant(ctx, "serve a workspace", tenant, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `insert into people.workspaces (tenant_id, name, served_at) values ($1, $2, $3)
			on conflict (tenant_id, name) do update set served_at = excluded.served_at`, tenant, name, at)
		return err
	})
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == foreignKey {
		return &chat.Error{Code: chat.CodeNotFound, Message: "there is no tenant " + tenant + ": GET /v1/me shows the id of yours"}
	}
	return err
}
