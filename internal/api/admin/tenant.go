package admin

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/identity"
	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/internal/audit"
	"github.com/retinue-dev/retinue/internal/people"
	"github.com/retinue-dev/retinue/wire"
)

type (
	tenantsOutput struct {
		Body struct {
			Items []wire.Tenant `json:"items" doc:"Your own last."`
		}
	}
	tenantOutput   struct{ Body wire.Tenant }
	newTenantInput struct {
		Body struct {
			Name string `json:"name" minLength:"1" maxLength:"100"`
		}
	}
)

func (s *Service) tenantRoutes(t *route.Table) {
	const tag = "people"
	route.Add(t, admission.AccessSelf, huma.Operation{
		OperationID: "listTenants", Method: http.MethodGet, Path: "/v1/tenants", Summary: "The tenants that you belong to",
		Tags: []string{tag},
	}, s.tenants)
	route.Add(t, admission.AccessSelf, huma.Operation{
		OperationID: "createTenant", Method: http.MethodPost, Path: "/v1/tenants", DefaultStatus: http.StatusCreated,
		Summary: "Make a tenant, whose owner you are", Tags: []string{tag},
	}, s.createTenant)
	t.Browse(admission.AccessSelf, huma.Operation{
		OperationID: "switchTenant", Method: http.MethodPost, Path: "/v1/tenants/{tenant}/session", Tags: []string{identity.BrowsersTag},
		Summary:    "Give a browser a session in another tenant",
		Parameters: []*huma.Param{{Name: "tenant", In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}}},
		Responses:  identity.Done("The cookie is that of a session in the tenant, which lasts no longer than the one before."),
	}, s.identity.Alone(s.switchTenant))
}

// inPerson refuses a key: it belongs to one tenant and must not lead into another.
func (s *Service) inPerson(c admission.Caller) error {
	if s.options.People == nil {
		return identity.NoPeople()
	}
	if !c.Cookie {
		return &admission.Problem{Code: "forbidden", Detail: "a key belongs to one tenant", Next: "log in to see or change where you belong"}
	}
	return nil
}

func tenantOf(c admission.Caller) func(people.Tenant) wire.Tenant {
	return func(t people.Tenant) wire.Tenant {
		return wire.Tenant{ID: t.ID, Name: t.Name, Personal: t.Personal, Role: string(t.Role), Current: t.ID == c.Tenant, Deleting: t.Deleting}
	}
}

func (s *Service) tenants(ctx context.Context, _ *struct{}) (*tenantsOutput, error) {
	c := admission.CallerOf(ctx)
	if err := s.inPerson(c); err != nil {
		return nil, err
	}
	list, err := s.options.People.TenantsOf(ctx, c.User)
	out := &tenantsOutput{}
	out.Body.Items = route.Each(list, tenantOf(c))
	return out, err
}

// mostTenants is how many tenants a person can belong to when they make another.
const mostTenants = 100

func (s *Service) createTenant(ctx context.Context, in *newTenantInput) (*tenantOutput, error) {
	c := admission.CallerOf(ctx)
	if err := s.inPerson(c); err != nil {
		return nil, err
	}
	list, err := s.options.People.TenantsOf(ctx, c.User)
	if err != nil {
		return nil, err
	}
	if len(list) >= mostTenants {
		return nil, &admission.Problem{Code: "conflict", Detail: "you belong to too many tenants", Next: "leave one first"}
	}
	t := people.Tenant{ID: people.NewID("t"), Name: in.Body.Name, Role: people.RoleOwner}
	by := people.Holder{Tenant: c.Tenant, Person: c.User, Email: c.Name}
	record := audit.Record{Action: audit.ActionTenantCreate, Object: t.ID, Detail: "name=" + strconv.Quote(t.Name)}
	err = s.guard.Traced(ctx, record, func() error { return s.options.People.MakeTenant(ctx, t.ID, t.Name, by, s.options.Now()) })
	if err != nil {
		return nil, err
	}
	return &tenantOutput{Body: tenantOf(c)(t)}, nil
}

// switchTenant gives the browser a session in another tenant, which lasts no longer than the one it
// had.
func (s *Service) switchTenant(w http.ResponseWriter, r *http.Request) error {
	c, id := admission.CallerOf(r.Context()), r.PathValue("tenant")
	if err := s.inPerson(c); err != nil {
		return err
	}
	list, err := s.options.People.TenantsOf(r.Context(), c.User)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(list, func(t people.Tenant) bool { return t.ID == id && !t.Deleting }) {
		return &admission.Problem{Code: "not_found", Detail: "nothing is known under this id"}
	}
	if err := s.identity.StartSession(w, r, identity.Arrival{Tenant: id, Person: c.User, Until: c.Until, How: "switch"}); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
