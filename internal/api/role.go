package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/retinue-dev/retinue/internal/journal"
)

// Catalogue is the roles that agents can have.
type Catalogue interface {
	// Roles lists the roles of a workspace that the tenant may use.
	Roles(ctx context.Context, workspace string) ([]RoleInfo, error)
	// Role is one of them by its name, of those that lists leave out too.
	Role(ctx context.Context, workspace, name string) (RoleInfo, error)
}

// RoleInfo is what people are told of a role.
type RoleInfo struct {
	Name        string     `json:"name"`
	Title       string     `json:"title,omitempty"`
	Description string     `json:"description"`
	Icon        string     `json:"icon,omitempty"`
	Mode        string     `json:"mode,omitempty" enum:"primary,subagent,all" doc:"Whether it talks to people, works for other agents, or both."`
	Model       string     `json:"model,omitempty" doc:"A tier, a model, or inherit for that of the agent that delegates."`
	Resolved    string     `json:"resolved_model,omitempty" doc:"What the tier or model stands for here; absent if nothing is configured."`
	Tools       []string   `json:"tools"`
	Asks        []ToolRule `json:"tool_rules" doc:"Which of its tools ask a person first, one for each tool."`
	Delegates   []string   `json:"delegates" doc:"The roles that it may ask for help."`
	DelegatedBy []string   `json:"delegated_by" doc:"The roles that may ask it for help."`

	MaxIterations int   `json:"max_iterations,omitempty"`
	MaxDuration   int64 `json:"max_duration_ms,omitempty"`
	MaxTokens     int64 `json:"max_tokens,omitempty"`
	MaxCost       int64 `json:"max_cost_micro_usd,omitempty"`
	MaxDepth      int   `json:"max_depth,omitempty"`
	MaxAgents     int64 `json:"max_agents,omitempty"`

	Prompt  string            `json:"prompt" doc:"What it is told, before anything is filled in."`
	Source  string            `json:"source" doc:"Where it was read."`
	Layer   string            `json:"layer,omitempty" enum:"built-in,user,project" doc:"Whose file that is."`
	Hash    string            `json:"hash,omitempty" doc:"Names the role as it is now. Agents that began with it have it as role_hash."`
	Origins map[string]string `json:"origins,omitempty" doc:"Where each value came from. What is not named has its default."`
	Figures *RoleFigures      `json:"figures,omitempty" doc:"How it did in the last 30 days; absent if it did nothing."`
}

// ToolRule says whether a person is asked before a tool is used.
type ToolRule struct {
	Tool string `json:"tool"`
	Asks string `json:"asks" enum:"never,sometimes,always,denied" doc:"Sometimes means that it depends on what the call is about."`
}

// RoleFigures is how the runs of a role that have ended did: tasks, and turns of those who talk to people.
type RoleFigures struct {
	Runs      int64   `json:"runs" doc:"Tasks that ended, and turns of an agent that talks to people."`
	Succeeded float64 `json:"succeeded" doc:"The share that completed, from 0 to 1."`
	Duration  int64   `json:"median_duration_ms"`
	Cost      int64   `json:"mean_cost_micro_usd"`
	Questions float64 `json:"questions_per_run"`
}

func figuresOf(r journal.RoleRuns) *RoleFigures {
	return &RoleFigures{
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
			Items []RoleInfo `json:"items"`
		}
	}
	roleOutput struct{ Body RoleInfo }
)

func (s *Server) roleRoutes() {
	read := func(id, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: http.MethodGet, Path: path, Summary: summary, Tags: []string{"roles"}}
	}
	register(s, accessRead, read("listRoles", "/v1/roles", "The roles that agents can have, and how they did lately"), s.roles)
	register(s, accessRead, read("getRole", "/v1/roles/{role}", "One role, and how it did lately"), s.role)
}

// figures are how the roles of a tenant did lately, by name.
func (s *Server) figures(ctx context.Context) (map[string]*RoleFigures, error) {
	runs, err := s.options.Log.Runs(ctx, callerOf(ctx).Tenant, s.options.Now().Add(-usageSpan))
	out := map[string]*RoleFigures{}
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
	out.Body.Items = each(list, func(r RoleInfo) RoleInfo { return r.with(figures) })
	return out, err
}

func (s *Server) role(ctx context.Context, in *oneRoleInput) (*roleOutput, error) {
	role, err := s.options.Roles.Role(ctx, in.Workspace, in.Role)
	if err != nil {
		return nil, err
	}
	figures, err := s.figures(ctx)
	return &roleOutput{Body: role.with(figures)}, err
}

// with adds how the role did, and makes lists of what is not one yet.
func (r RoleInfo) with(figures map[string]*RoleFigures) RoleInfo {
	r.Figures = figures[r.Name]
	r.Tools, r.Delegates, r.DelegatedBy = append([]string{}, r.Tools...), append([]string{}, r.Delegates...), append([]string{}, r.DelegatedBy...)
	r.Asks = append([]ToolRule{}, r.Asks...)
	return r
}
