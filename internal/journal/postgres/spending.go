package postgres

import (
	"context"

	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/postgres/query"
)

// Reserve implements journal.Writer. Calls of a tenant that reserve at the same time do so one
// after another.
func (l *Log) Reserve(ctx context.Context, tenant, month string, amount, most int64) (ok bool, err error) {
	err = l.inTenant(ctx, "reserve", tenant, toWrite, func(q *query.Queries) error {
		if err := q.BeginMonth(ctx, query.BeginMonthParams{Tenant: tenant, Month: month}); err != nil {
			return err
		}
		n, err := q.Reserve(ctx, query.ReserveParams{Amount: amount, Tenant: tenant, Month: month, Most: most})
		ok = n == 1
		return err
	})
	return ok, err
}

// Spent implements journal.Lists.
func (l *Log) Spent(ctx context.Context, tenant, month string) (spent int64, err error) {
	err = l.inTenant(ctx, "read the spending", tenant, toRead, func(q *query.Queries) error {
		rows, err := q.SpentIn(ctx, query.SpentInParams{Tenant: tenant, Month: month})
		for _, n := range rows {
			spent = n
		}
		return err
	})
	return spent, err
}

// Stored implements journal.Lists.
func (l *Log) Stored(ctx context.Context, tenant string) (bytes int64, err error) {
	err = l.inTenant(journal.For(ctx, itself), "read the storage", tenant, toRead, func(q *query.Queries) error {
		bytes, err = q.StoredBy(ctx, tenant)
		return err
	})
	return bytes, err
}
