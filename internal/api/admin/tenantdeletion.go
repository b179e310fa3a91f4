package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/identity"
	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/internal/audit"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/people"
	"github.com/retinue-dev/retinue/wire"
)

// InTenant names the tenant that the caller is in.
type InTenant struct {
	Tenant string `path:"tenant" minLength:"1" maxLength:"64"`
}

type (
	deletionOutput    struct{ Body wire.TenantDeletion }
	deletionInput     struct{ InTenant }
	deleteTenantInput struct {
		InTenant
		Body struct {
			Name string `json:"name" maxLength:"400" doc:"The name of the tenant, as listTenants shows it: that you mean this one."`
		}
	}
)

func (s *Service) tenantDeletionRoutes(t *route.Table) {
	const tag, path = "people", "/v1/tenants/{tenant}/deletion"
	route.Add(t, admission.AccessClosing, huma.Operation{
		OperationID: "deleteTenant", Method: http.MethodPost, Path: path, DefaultStatus: http.StatusAccepted,
		Summary: "Delete the tenant with everything in it, for good", Tags: []string{tag}, Metadata: route.As(admission.KindRelease),
		Description: "From the answer on nothing new begins in the tenant. Conversations, webhooks, members, sessions, keys and the tenant " +
			"itself go; the audit trail stays, with a certificate at its end. Asking twice is asking once.",
	}, s.deleteTenant)
	route.Add(t, admission.AccessClosing, huma.Operation{
		OperationID: "getTenantDeletion", Method: http.MethodGet, Path: path, Summary: "How far the deletion of the tenant is", Tags: []string{tag},
	}, s.tenantDeletion)
}

// own refuses another tenant than the caller's, as if it were not there.
func (t InTenant) own(ctx context.Context) error {
	if t.Tenant != admission.CallerOf(ctx).Tenant {
		return &admission.Problem{Code: "not_found", Detail: "nothing is known under this id"}
	}
	return nil
}

func (s *Service) deleteTenant(ctx context.Context, in *deleteTenantInput) (*deletionOutput, error) {
	if s.options.People == nil {
		return nil, identity.NoPeople()
	}
	if err := in.own(ctx); err != nil {
		return nil, err
	}
	name, err := s.options.People.NameOf(ctx, in.Tenant)
	if err != nil {
		return nil, err
	}
	if err := people.Confirm(name, in.Body.Name); err != nil {
		return nil, err
	}
	d, err := s.options.People.Deletion(ctx, in.Tenant)
	if chat.CodeOf(err) == chat.CodeNotFound {
		err = s.guard.Traced(ctx, audit.Record{Action: audit.ActionTenantDelete, Object: in.Tenant}, func() (err error) {
			by := admission.ActorOf(admission.CallerOf(ctx))
			d, err = s.options.People.BeginDeletion(ctx, people.Deletion{Tenant: in.Tenant, By: by.User, Source: by.Source, At: s.options.Now().UTC()})
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	return s.deletionShown(ctx, d)
}

func (s *Service) tenantDeletion(ctx context.Context, in *deletionInput) (*deletionOutput, error) {
	if s.options.People == nil {
		return nil, identity.NoPeople()
	}
	if err := in.own(ctx); err != nil {
		return nil, err
	}
	d, err := s.options.People.Deletion(ctx, in.Tenant)
	if err != nil {
		return nil, err
	}
	return s.deletionShown(ctx, d)
}

// deletionShown is a deletion as people see it. Private conversations count, no matter who asks.
func (s *Service) deletionShown(ctx context.Context, d people.Deletion) (*deletionOutput, error) {
	left, err := s.options.Log.Untouched(journal.For(ctx, ""), d.Tenant, s.options.Now().AddDate(1000, 0, 0), "", 1)
	return &deletionOutput{Body: wire.TenantDeletion{Tenant: d.Tenant, State: "deleting", By: d.By, At: d.At, More: len(left) > 0}}, err
}
