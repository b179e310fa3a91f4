package app

import (
	"context"
	"time"

	"github.com/retinue-dev/retinue/internal/deletion"
)

// wiper removes what it keeps of a tenant beside conversations.
type wiper interface {
	Wipe(ctx context.Context, tenant string) error
}

// deleteTenants carries deletions of tenants on, until ctx ends. All servers of an installation
// share the work.
func (n *Node) deleteTenants(ctx context.Context, c commands) {
	deletion.NewTenants(deletion.TenantOptions{
		People: n.people, Log: n.Log, Delete: c.Delete, Wipe: n.wipers(c.hooks), Certify: n.Trail.Certify, Now: time.Now,
		Logger: n.options.Logger,
	}).Run(ctx)
}

// wipers are who keeps something of tenants beside conversations and people.
func (n *Node) wipers(h *hooks) (out []func(context.Context, string) error) {
	for _, w := range []any{n.raw, h.Store} {
		if w, ok := w.(wiper); ok {
			out = append(out, w.Wipe)
		}
	}
	return out
}
