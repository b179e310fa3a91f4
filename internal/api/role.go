package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/route"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

// Catalogue is the roles that agents can have.
type Catalogue interface {
	// Roles lists the roles of a workspace that the tenant may use.
	Roles(ctx context.Context, workspace string) ([]wire.Role, error)
	// Role is one of them by its name, of those that lists leave out too.
	Role(ctx context.Context, workspace, name string) (wire.Role, error)
}

func figuresOf(r journal.RoleRuns) *wire.RoleFigures {
	return &wire.RoleFigures{
		Runs: r.Runs, Succeeded: float64(r.Completed) / float64(r.Runs), Duration: r.Duration, Cost: r.Cost / r.Runs,
		Questions: float64(r.Questions) / float64(r.Runs),
	}
}

type (
	rolesInput struct {
		Workspace string `query:"workspace" maxLength:"1024"`
	}
	oneRoleInput struct {
		Role      string `path:"role" minLength:"1" maxLength:"64"`
		Workspace string `query:"workspace" maxLength:"1024"`
	}
	rolesOutput struct {
		Body struct {
			Items []wire.Role `json:"items"`
		}
	}
	roleOutput struct{ Body wire.Role }
)

func (s *Server) roleRoutes() {
	read := func(id, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: http.MethodGet, Path: path, Summary: summary, Tags: []string{"roles"}}
	}
	route.Add(s.table, admission.AccessRead, read("listRoles", "/v1/roles", "The roles that agents can have, and how they did lately"), s.roles)
	route.Add(s.table, admission.AccessRead, read("getRole", "/v1/roles/{role}", "One role, and how it did lately"), s.role)
}

// figures are how the roles of a tenant did lately, by name.
func (s *Server) figures(ctx context.Context) (map[string]*wire.RoleFigures, error) {
	runs, err := s.options.Log.Runs(ctx, admission.CallerOf(ctx).Tenant, s.options.Now().Add(-usageSpan))
	out := map[string]*wire.RoleFigures{}
	for _, r := range runs {
		out[r.Role] = figuresOf(r)
	}
	return out, err
}

func (s *Server) roles(ctx context.Context, in *rolesInput) (*rolesOutput, error) {
	list, err := s.options.Roles.Roles(ctx, in.Workspace)
	if err != nil {
		return nil, err
	}
	figures, err := s.figures(ctx)
	out := &rolesOutput{}
	out.Body.Items = route.Each(list, func(r wire.Role) wire.Role { return judged(r, figures) })
	return out, err
}

func (s *Server) role(ctx context.Context, in *oneRoleInput) (*roleOutput, error) {
	role, err := s.options.Roles.Role(ctx, in.Workspace, in.Role)
	if err != nil {
		return nil, err
	}
	figures, err := s.figures(ctx)
	return &roleOutput{Body: judged(role, figures)}, err
}

// judged adds how a role did, and makes lists of what is not one yet.
func judged(r wire.Role, figures map[string]*wire.RoleFigures) wire.Role {
	r.Figures = figures[r.Name]
	r.Tools, r.Delegates, r.DelegatedBy = append([]string{}, r.Tools...), append([]string{}, r.Delegates...), append([]string{}, r.DelegatedBy...)
	r.Asks = append([]wire.ToolRule{}, r.Asks...)
	return r
}
