package app

import (
	"context"
	"slices"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/bridge"
	"github.com/retinue-dev/retinue/internal/bridge/a2a"
	"github.com/retinue-dev/retinue/internal/bridge/openai"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/config/role"
)

// Bridge lets programs in that speak other wires. The server is one that was made with the options.
func (n *Node) Bridge(server *api.Server, o api.Options) { Bridges(server, o, n.catalog) }

// Bridges mounts all bridges there are. A test of what a server serves mounts them the same way, so
// that none is left out.
func Bridges(server *api.Server, o api.Options, cast bridge.Speakers) {
	service := bridge.New(bridge.Options{
		Server: server, Log: o.Log, Bus: o.Bus, Cast: cast, Poll: o.Poll, Now: o.Now,
	})
	openai.Mount(service)
	a2a.Mount(service, a2a.Options{URL: o.Origin, Version: o.Version})
}

// Commands is where a server's commands lead to. Workspace is what conversations get that name
// none.
func (n *Node) Commands(workspace string) api.Commands {
	return commands{node: n, workspace: workspace}
}

// Catalogue are the roles that a server tells of.
func (n *Node) Catalogue() api.Catalogue { return n.catalog }

// Speakers implements bridge.Speakers.
func (c *catalog) Speakers(ctx context.Context, workspace string) ([]bridge.Speaker, error) {
	roles, err := c.roles(within(ctx, workspace))
	if err != nil {
		return nil, &chat.Error{Code: chat.CodeInvalid, Message: err.Error()}
	}
	var out []bridge.Speaker
	for _, r := range roles.Roles() {
		if r.Hidden || r.Mode == role.ModeSubagent {
			continue
		}
		s := bridge.Speaker{Name: r.Name, Title: r.Title, Description: r.Description}
		if r.Name == "main" {
			out = slices.Insert(out, 0, s)
			continue
		}
		out = append(out, s)
	}
	return out, nil
}
