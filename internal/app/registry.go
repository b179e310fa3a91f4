package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/retinue-dev/retinue/internal/audit"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/people"
	peoplestore "github.com/retinue-dev/retinue/internal/people/postgres"
)

// Registry is what an operator does to tenants. It needs no engine: servers carry out what it
// notes.
type Registry struct {
	people  *peoplestore.Store
	trail   *audit.Trail
	closers []func() error
}

// OpenRegistry opens the people and the trails that the settings name.
func OpenRegistry(ctx context.Context, s config.Settings, lookup func(string) (string, bool)) (r *Registry, err error) {
	if s.Journal.DSN.IsZero() {
		return nil, &chat.Error{
			Code: chat.CodeInvalid, Message: "there are tenants only in a database: set journal.dsn; on one person's machine remove the data folder instead",
		}
	}
	dsn, err := s.Journal.DSN.Reveal(lookup)
	if err != nil {
		return nil, fmt.Errorf("journal.dsn: %w", err)
	}
	r = &Registry{}
	if r.people, err = peoplestore.Open(ctx, peoplestore.Options{DSN: dsn, Connections: 1}); err != nil {
		return nil, err
	}
	r.closers = append(r.closers, func() error { r.people.Close(); return nil })
	trail, done, err := openTrail(ctx, s, lookup)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.trail, r.closers = trail, append(r.closers, done)
	return r, nil
}

// Close lets go of everything.
func (r *Registry) Close() error {
	var errs error
	for _, c := range slices.Backward(r.closers) {
		errs = errors.Join(errs, c())
	}
	return errs
}

// operator is who runs a command on the installation's own machines.
func operator() audit.Actor { return audit.Actor{User: localUser(), Source: "cli"} }

// DeleteTenant has a tenant deleted whose name the operator knows. Asking twice is asking once.
func (r *Registry) DeleteTenant(ctx context.Context, tenant, name string) (people.Deletion, error) {
	known, err := r.people.NameOf(ctx, tenant)
	if chat.CodeOf(err) == chat.CodeNotFound {
		return people.Deletion{}, &chat.Error{
			Code: chat.CodeNotFound, Message: "there is no tenant " + tenant + ": if it was deleted, 'retinue audit certificate --tenant " + tenant + "' shows what went",
		}
	}
	if err != nil {
		return people.Deletion{}, err
	}
	if err := people.Confirm(known, name); err != nil {
		return people.Deletion{}, err
	}
	d, err := r.people.Deletion(ctx, tenant)
	if chat.CodeOf(err) != chat.CodeNotFound {
		return d, err
	}
	by := operator()
	record := audit.Record{Action: audit.ActionTenantDelete, Actor: by, Object: tenant}
	if err := r.trail.Write(ctx, tenant, record); err != nil {
		return d, err
	}
	d, err = r.people.BeginDeletion(ctx, people.Deletion{Tenant: tenant, By: by.User, Source: by.Source, At: time.Now().UTC()})
	if err != nil {
		record.Outcome = audit.Failed
		return d, errors.Join(err, r.trail.Write(ctx, tenant, record))
	}
	return d, nil
}

// Deleted reports whether nothing of a tenant is left but its trail.
func (r *Registry) Deleted(ctx context.Context, tenant string) (bool, error) {
	_, err := r.people.NameOf(ctx, tenant)
	if chat.CodeOf(err) == chat.CodeNotFound {
		return true, nil
	}
	return false, err
}
