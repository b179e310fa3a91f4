package app

import (
	"context"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/deletion"
)

// retain deletes what nobody has touched for too long, until ctx ends. All servers of an
// installation share the work.
func (n *Node) retain(ctx context.Context, c commands) {
	deletion.NewSweep(deletion.SweepOptions{
		Log: n.Log, Delete: c.Delete, Tenants: n.Trail.Tenants, Days: n.retentionDays, Now: time.Now, Logger: n.options.Logger,
	}).Run(ctx)
}

// retentionDays is after how many days without a row a tenant's conversations are deleted; zero
// means never.
func (n *Node) retentionDays(ctx context.Context, tenant string) (int, error) {
	days := n.options.Loaded.Settings.Retention.Days
	if n.people == nil {
		return days, nil
	}
	policy, err := n.people.Policy(ctx, tenant)
	if chat.CodeOf(err) == chat.CodeNotFound {
		return days, nil // nobody logs in to it
	}
	return deletion.Shortest(days, policy.RetentionDays), err
}
