package postgres

import (
	"context"

	"github.com/retinue-dev/retinue/internal/journal/postgres/query"
)

// wipeBatch is how many rows go at a time: each batch is a transaction of its own, well within the
// time limit.
const wipeBatch = 5000

// Wipe removes the rest of a tenant without conversations: tombstones, texts kept for a
// conversation that never began, and its spending.
func (l *Log) Wipe(ctx context.Context, tenant string) error {
	for {
		var n int64
		err := l.inTenant(ctx, "wipe a tenant", tenant, toWrite, func(q *query.Queries) error {
			stones, err := q.WipeTombstones(ctx, query.WipeTombstonesParams{Tenant: tenant, Count: wipeBatch})
			if err != nil {
				return err
			}
			texts, err := q.WipeTexts(ctx, query.WipeTextsParams{Tenant: tenant, Count: wipeBatch})
			if err != nil {
				return err
			}
			n = max(stones, texts)
			return q.WipeSpending(ctx, tenant)
		})
		if err != nil || n < wipeBatch {
			return err
		}
	}
}
