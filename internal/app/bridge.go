package app

import (
	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/bridge"
	"github.com/retinue-dev/retinue/internal/bridge/a2a"
	"github.com/retinue-dev/retinue/internal/bridge/openai"
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
