package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/retinue-dev/retinue/internal/people"
)

// everybody is the tenant of a transaction that looks for work in all of them.
const everybody = "*"

const deletionColumns = `tenant_id, asked_by, source, asked_at`

func scanDeletion(row pgx.CollectableRow) (d people.Deletion, err error) {
	var at time.Time
	err = row.Scan(&d.Tenant, &d.By, &d.Source, &at)
	d.At = at.UTC()
	return d, err
}

// NameOf implements people.Deletions.
func (s *Store) NameOf(ctx context.Context, tenant string) (name string, err error) {
	err = s.inTenant(ctx, "read a tenant", tenant, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `select name from people.tenants where tenant_id = $1`, tenant).Scan(&name)
	})
	return name, err
}

// BeginDeletion implements people.Deletions.
func (s *Store) BeginDeletion(ctx context.Context, d people.Deletion) (first people.Deletion, err error) {
	err = s.inTenant(ctx, "begin to delete a tenant", d.Tenant, func(tx pgx.Tx) error {
		if err := lock(ctx, tx, d.Tenant); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `insert into people.deletions (tenant_id, asked_by, source, asked_at)
			select tenant_id, $2, $3, $4 from people.tenants where tenant_id = $1 on conflict do nothing`, d.Tenant, d.By, d.Source, d.At)
		if err != nil {
			return err
		}
		if first, err = deletionOf(ctx, tx, d.Tenant); err != nil {
			return err
		}
		return changed(ctx, tx)
	})
	return first, err
}

// Deletion implements people.Deletions.
func (s *Store) Deletion(ctx context.Context, tenant string) (d people.Deletion, err error) {
	err = s.inTenant(ctx, "look for a deletion", tenant, func(tx pgx.Tx) error {
		d, err = deletionOf(ctx, tx, tenant)
		return err
	})
	return d, err
}

func deletionOf(ctx context.Context, tx pgx.Tx, tenant string) (people.Deletion, error) {
	rows, err := tx.Query(ctx, `select `+deletionColumns+` from people.deletions where tenant_id = $1`, tenant)
	if err != nil {
		return people.Deletion{}, err
	}
	return pgx.CollectExactlyOneRow(rows, scanDeletion)
}

// Deletions implements people.Deletions.
func (s *Store) Deletions(ctx context.Context) (list []people.Deletion, err error) {
	err = s.inTenant(ctx, "look for deletions", everybody, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `select `+deletionColumns+` from people.deletions order by asked_at, tenant_id`)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, scanDeletion)
		return err
	})
	return list, err
}

// EndDeletion implements people.Deletions. All other data of a tenant is deleted with its row.
func (s *Store) EndDeletion(ctx context.Context, tenant string) error {
	return s.inTenant(ctx, "delete a tenant", tenant, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `delete from people.tenants t where t.tenant_id = $1
			and exists (select from people.deletions d where d.tenant_id = t.tenant_id)`, tenant)
		if err != nil {
			return err
		}
		return changed(ctx, tx)
	})
}
