package deletion

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/retinue-dev/retinue/internal/audit"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/people"
)

const (
	// lookEvery is how often tenants that are being deleted are looked at.
	lookEvery = 2 * time.Second
	// mostAtOnce is how many conversations of a deleted tenant one look handles.
	mostAtOnce = 500
	pageSize   = 100
	// settleTime is how long after the beginning of a deletion the rest goes at the earliest:
	// everything that was admitted or under way before has ended by then, or was ended.
	settleTime = 20 * time.Second
)

// TenantOptions are what the deletion of tenants is made of.
type TenantOptions struct {
	People people.Deletions
	Log    journal.Lists
	Delete Delete
	// Wipe are the stores that remove their data of a tenant beside its conversations.
	Wipe []func(ctx context.Context, tenant string) error
	// Certify puts the certificate on the trail, once.
	Certify func(ctx context.Context, tenant string) error
	Now     func() time.Time
	Logger  *slog.Logger
}

// Tenants deletes tenants whose deletion was asked for. Each look continues where the stores say
// that the last one ended: conversations first, then the data beside them, then the certificate,
// and the people with the deletion itself last.
type Tenants struct {
	o TenantOptions
	// after is where the next look at a tenant's conversations begins.
	after map[string]string
}

// NewTenants makes what deletes tenants.
func NewTenants(o TenantOptions) *Tenants { return &Tenants{o: o, after: map[string]string{}} }

// Run looks now and then until ctx ends.
func (d *Tenants) Run(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		if err := d.Look(ctx); err != nil && ctx.Err() == nil {
			d.o.Logger.WarnContext(ctx, "the deletion of a tenant continues later", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Look continues every deletion. One that is stuck does not hold up the others.
func (d *Tenants) Look(ctx context.Context) error {
	list, err := d.o.People.Deletions(ctx)
	if err != nil {
		return err
	}
	for _, one := range list {
		err = errors.Join(err, d.tenant(ctx, one))
	}
	return err
}

func (d *Tenants) tenant(ctx context.Context, one people.Deletion) error {
	if left, err := d.conversations(ctx, one); left || err != nil {
		return err
	}
	if d.o.Now().Before(one.At.Add(settleTime)) {
		return nil
	}
	for _, wipe := range d.o.Wipe {
		if err := wipe(ctx, one.Tenant); err != nil {
			return err
		}
	}
	if err := d.o.Certify(ctx, one.Tenant); err != nil {
		return err
	}
	return d.o.People.EndDeletion(ctx, one.Tenant)
}

// conversations has the tenant's conversations deleted, some at each look, and reports whether
// there was one.
func (d *Tenants) conversations(ctx context.Context, one people.Deletion) (left bool, err error) {
	by := audit.With(ctx, audit.Actor{User: one.By, Source: one.Source})
	all := d.o.Now().AddDate(1000, 0, 0)
	for n := 0; n < mostAtOnce; n += pageSize {
		from := d.after[one.Tenant]
		list, failed := d.o.Log.Untouched(ctx, one.Tenant, all, from, pageSize)
		if failed != nil {
			return true, errors.Join(err, failed)
		}
		left = left || len(list) > 0 || from != ""
		for _, id := range list {
			failed := d.o.Delete(by, journal.Ref{Tenant: one.Tenant, Conversation: id}, "", one.By)
			if chat.CodeOf(failed) != chat.CodeNotFound { // another process was here first
				err = errors.Join(err, failed)
			}
		}
		if len(list) < pageSize {
			delete(d.after, one.Tenant)
			break
		}
		d.after[one.Tenant] = list[len(list)-1]
	}
	return left, err
}
