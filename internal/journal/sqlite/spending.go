package sqlite

import (
	"context"

	"github.com/retinue-dev/retinue/internal/journal/sqlite/query"
)

// Reserve implements journal.Writer.
func (l *Log) Reserve(ctx context.Context, tenant, month string, amount, most int64) (ok bool, err error) {
	err = l.write(ctx, "reserve", func(ctx context.Context, q *query.Queries) error {
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
	err = l.view(ctx, "read the spending", func(q *query.Queries) error {
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
	err = l.view(ctx, "read the storage", func(q *query.Queries) error {
		bytes, err = q.StoredBy(ctx, tenant)
		return err
	})
	return bytes, err
}
