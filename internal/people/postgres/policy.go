package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/retinue-dev/retinue/internal/people"
)

// Policy implements people.Tenants.
func (s *Store) Policy(ctx context.Context, tenant string) (p people.Policy, err error) {
	err = s.inTenant(ctx, "read the policy", tenant, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `select second_pair, retention_days from people.tenants where tenant_id = $1`, tenant).
			Scan(&p.SecondPair, &p.RetentionDays)
	})
	return p, err
}

// SetPolicy implements people.Tenants.
func (s *Store) SetPolicy(ctx context.Context, tenant string, p people.Policy) error {
	return s.inTenant(ctx, "change the policy", tenant, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `update people.tenants set second_pair = $2, retention_days = $3 where tenant_id = $1`,
			tenant, p.SecondPair, p.RetentionDays)
		if err == nil && tag.RowsAffected() == 0 {
			err = notFound()
		}
		return err
	})
}
