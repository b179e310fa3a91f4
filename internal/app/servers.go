package app

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/secret"
	"github.com/retinue-dev/retinue/internal/tool/mcp"
)

// ServerReport is what a server says of itself.
type ServerReport = mcp.Report

// ToolStanding is a server's tool and how it stands to what was approved.
type ToolStanding = mcp.Standing

// ToolState is how a tool stands to what was approved.
type ToolState = mcp.State

// The states of a tool.
const (
	ToolApproved = mcp.StateApproved
	ToolNew      = mcp.StateNew
	ToolChanged  = mcp.StateChanged
	ToolGone     = mcp.StateGone
	ToolUnusable = mcp.StateUnusable
)

// ServerDesk is where a person looks after the MCP servers of a project.
type ServerDesk struct {
	loaded  config.Loaded
	project string
	room    *enclosure
	servers *toolServers
}

// ListedServer is a server of a list, with what it says or why it says nothing.
type ListedServer struct {
	Config config.Server
	Report ServerReport
	Err    error
}

// OpenServerDesk starts no server.
func OpenServerDesk(loaded config.Loaded) *ServerDesk {
	quiet := slog.New(slog.DiscardHandler) // whoever sits here is told otherwise
	room := newEnclosure(loaded.Settings.Sandbox)
	return &ServerDesk{
		loaded: loaded, project: loaded.Project(), room: room,
		servers: newToolServers(loaded, os.LookupEnv, quiet, room, secret.New(os.Environ())),
	}
}

// Close ends the servers that were looked at.
func (d *ServerDesk) Close() error { return errors.Join(d.servers.close(), d.room.Close()) }

// Servers reads the files.
func (d *ServerDesk) Servers() config.Servers { return d.loaded.Servers(d.project) }

// List asks every server what it offers, all at once.
func (d *ServerDesk) List(ctx context.Context) []ListedServer {
	var out []ListedServer
	for _, s := range d.Servers().List {
		out = append(out, ListedServer{Config: s})
	}
	var all sync.WaitGroup
	for i := range out {
		if out[i].Config.Disabled {
			continue
		}
		all.Go(func() { out[i].Report, out[i].Err = d.servers.in(d.project).Look(ctx, out[i].Config.Name) })
	}
	all.Wait()
	return out
}

// Look asks one server what it offers.
func (d *ServerDesk) Look(ctx context.Context, name string) (ListedServer, error) {
	for _, s := range d.Servers().List {
		if s.Name != name {
			continue
		}
		out := ListedServer{Config: s}
		if s.Disabled {
			return out, &chat.Error{Code: chat.CodeInvalid, Message: "server " + name + " is disabled in " + s.Origin.Name}
		}
		out.Report, out.Err = d.servers.in(d.project).Look(ctx, name)
		return out, out.Err
	}
	return ListedServer{}, &chat.Error{Code: chat.CodeNotFound, Message: "there is no server " + name + " that may be used here: see 'retinue mcp list'"}
}

// Approve pins the tools of a server as the report shows them.
func (d *ServerDesk) Approve(s ListedServer) error { return d.servers.in(d.project).Approve(s.Report) }

// Add writes a server into the file of a scope and says where that is.
func (d *ServerDesk) Add(scope config.ServerScope, name string, e config.ServerEntry) (string, error) {
	return d.loaded.AddServer(scope, d.project, name, e)
}

// Remove takes a server out of its file, and back what was approved of it.
func (d *ServerDesk) Remove(scope config.ServerScope, name string) (string, error) {
	file, err := d.loaded.RemoveServer(scope, d.project, name)
	if err != nil {
		return file, err
	}
	whose := string(scope)
	if scope == config.ScopeProject {
		whose = d.project
	}
	return file, d.servers.pins.Forget(whose, name)
}
