// Package deletion deletes many conversations at once: those that nobody has touched for too long,
// and those of a deleted tenant together with the tenant.
//
// Each is deleted as if by a person, so that the engine, the webhooks, the journal and the audit
// trail are told in the same way. Any number of processes may do it at the same time, and any of
// them may die: the stores hold all progress, and deleting twice is the same as once. The package
// imports audit, chat, journal and people.
package deletion

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/retinue-dev/retinue/internal/audit"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// Retention is the actor that deletes old conversations, as rows and the audit trail name it.
const Retention = "retention"

const (
	// mostOfTenant is how many conversations of a tenant one pass deletes: the next tenant waits for no
	// more.
	mostOfTenant = 100
	// passEvery is how much time is between two passes, and passSoon if the last one left something.
	passEvery = 10 * time.Minute
	passSoon  = 10 * time.Second
	day       = 24 * time.Hour
)

// Delete stops everything in a conversation and removes it, as a person's command does.
type Delete func(ctx context.Context, ref journal.Ref, id, by string) error

// SweepOptions are what a sweep is made of.
type SweepOptions struct {
	Log    journal.Lists
	Delete Delete
	// Tenants lists those that may have conversations.
	Tenants func(ctx context.Context) ([]string, error)
	// Days is after how many days without a row a tenant's conversations go; zero means never.
	Days   func(ctx context.Context, tenant string) (int, error)
	Now    func() time.Time
	Logger *slog.Logger
}

// Sweep deletes conversations that nobody has touched for too long.
type Sweep struct {
	o SweepOptions
	// after is where the next pass through a tenant begins, so that what cannot be deleted is not in
	// the way of the rest.
	after map[string]string
}

// NewSweep makes a sweep.
func NewSweep(o SweepOptions) *Sweep { return &Sweep{o: o, after: map[string]string{}} }

// Run makes a pass now and then until ctx ends.
func (s *Sweep) Run(ctx context.Context) {
	for {
		done, left, err := s.Pass(ctx)
		if err != nil && ctx.Err() == nil {
			s.o.Logger.WarnContext(ctx, "some old conversations will be deleted later", "deleted", done, "error", err)
		}
		wait := passEvery
		if left {
			wait = passSoon
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// Pass looks at every tenant once. It returns how many conversations it had deleted, and whether it
// left some for the next pass.
func (s *Sweep) Pass(ctx context.Context) (done int, left bool, err error) {
	tenants, err := s.o.Tenants(ctx)
	if err != nil {
		return 0, false, err
	}
	for _, tenant := range tenants {
		n, more, failed := s.tenant(ctx, tenant)
		done, left, err = done+n, left || more, errors.Join(err, failed)
		if ctx.Err() != nil {
			break
		}
	}
	return done, left, err
}

// tenant deletes the old conversations of one tenant. One that cannot be deleted does not hold up
// the others.
func (s *Sweep) tenant(ctx context.Context, tenant string) (done int, left bool, err error) {
	days, err := s.o.Days(ctx, tenant)
	if err != nil || days <= 0 {
		return 0, false, err
	}
	before := s.o.Now().Add(-time.Duration(days) * day)
	list, err := s.o.Log.Untouched(ctx, tenant, before, s.after[tenant], mostOfTenant)
	if err != nil {
		return 0, false, err
	}
	delete(s.after, tenant)
	if left = len(list) == mostOfTenant; left {
		s.after[tenant] = list[len(list)-1]
	}
	by := audit.With(ctx, audit.Actor{User: Retention, Source: Retention})
	for _, id := range list {
		deleted, failed := s.one(by, journal.Ref{Tenant: tenant, Conversation: id}, before)
		if deleted {
			done++
		}
		err = errors.Join(err, failed)
	}
	return done, left, err
}

// one deletes a conversation, unless somebody has come back to it since the list was read.
func (s *Sweep) one(ctx context.Context, ref journal.Ref, before time.Time) (bool, error) {
	lines, err := s.o.Log.Lines(ctx, ref.Tenant, ref.Conversation)
	if err != nil {
		return false, err
	}
	if line, there := lines[ref.Conversation]; !there || !line.UpdatedAt.Before(before) {
		return false, nil
	}
	err = s.o.Delete(ctx, ref, "", Retention)
	if chat.CodeOf(err) == chat.CodeNotFound {
		return false, nil // another process was here first
	}
	return err == nil, err
}

// Shortest is the number of days in force: the smaller of two, of which zero is no limit.
func Shortest(installation, tenant int) int {
	if installation == 0 || (tenant > 0 && tenant < installation) {
		return tenant
	}
	return installation
}
