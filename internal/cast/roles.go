package cast

import (
	"context"
	"slices"
	"strings"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/config/role"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

// Roles implements api.Catalogue.
func (c *Catalog) Roles(ctx context.Context, workspace string) ([]wire.Role, error) {
	roles, err := c.roles(within(ctx, workspace))
	if err != nil {
		return nil, &chat.Error{Code: chat.CodeInvalid, Message: err.Error()}
	}
	var out []wire.Role
	for _, r := range roles.Roles() {
		if r.Hidden {
			continue
		}
		info, err := c.info(roles, r)
		if err != nil {
			return nil, err
		}
		out = append(out, info)
	}
	return out, nil
}

// Role implements api.Catalogue.
func (c *Catalog) Role(ctx context.Context, workspace, name string) (wire.Role, error) {
	roles, err := c.roles(within(ctx, workspace))
	if err != nil {
		return wire.Role{}, &chat.Error{Code: chat.CodeInvalid, Message: err.Error()}
	}
	i := slices.IndexFunc(roles.Roles(), func(r role.Role) bool { return r.Name == name })
	if i < 0 {
		return wire.Role{}, &chat.Error{Code: chat.CodeNotFound, Message: "there is no such role"}
	}
	return c.info(roles, roles.Roles()[i])
}

// info is what people are told of a role. Its hash is that of what a run keeps.
func (c *Catalog) info(roles registry, r role.Role) (wire.Role, error) {
	snapshot, err := r.Snapshot()
	if err != nil {
		return wire.Role{}, err
	}
	out := wire.Role{
		Name: r.Name, Title: r.Title, Description: r.Description, Icon: r.Icon, Mode: string(r.Mode), Model: r.Model, Tools: r.Tools,
		Delegates: r.Delegates, MaxIterations: r.Limits.Iterations, MaxDuration: r.Limits.Time, MaxTokens: r.Limits.Tokens,
		MaxCost: r.Limits.Cost, MaxDepth: r.Limits.Depth, MaxAgents: r.Limits.Agents, Prompt: c.options.Vault.Redact(r.Prompt),
		Source: r.File, Layer: layer(r.File), Hash: journal.HashOf(c.options.Vault.RedactJSON(string(snapshot))), Origins: map[string]string{},
	}
	if target, err := c.options.Loaded.Settings.Target(r.Model); err == nil {
		out.Resolved = target.String()
	}
	for _, name := range r.Tools {
		out.Asks = append(out.Asks, wire.ToolRule{Tool: name, Asks: string(r.Asks(name))})
	}
	for _, other := range roles.Roles() {
		if slices.Contains(other.Delegates, r.Name) {
			out.DelegatedBy = append(out.DelegatedBy, other.Name)
		}
	}
	for field, origin := range r.Origins {
		out.Origins[field] = origin.String()
	}
	return out, nil
}

// layer is whose file a role was read from.
func layer(file string) string {
	switch {
	case strings.HasPrefix(file, "roles/"), strings.HasPrefix(file, "presets/"):
		return "built-in"
	case strings.HasPrefix(file, "~"), strings.HasPrefix(file, "/"):
		return "user"
	}
	return "project"
}

// within is a workspace of the tenant that the caller belongs to.
func within(ctx context.Context, name string) host.Workspace {
	return host.Workspace{Tenant: admission.CallerOf(ctx).Tenant, Name: name}
}
