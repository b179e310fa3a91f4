package toolbox

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

// ToolStatus is a server's tool and how it stands to what was approved.
type ToolStatus = mcp.ToolStatus

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

// MCPManager is where a person looks after the MCP servers of a project.
type MCPManager struct {
	loaded    config.Loaded
	project   string
	sandboxes *Sandboxes
	servers   *toolServers
}

// ListedServer is a server of a list, with what it says or why it says nothing.
type ListedServer struct {
	Config config.Server
	Report ServerReport
	Err    error
}

// OpenMCPManager starts no server.
func OpenMCPManager(loaded config.Loaded) *MCPManager {
	quiet := slog.New(slog.DiscardHandler) // the person who sits here is told otherwise
	room := NewSandboxes(loaded.Settings.Sandbox)
	return &MCPManager{
		loaded: loaded, project: loaded.Project(), sandboxes: room,
		servers: newToolServers(loaded, os.LookupEnv, quiet, room, secret.New(os.Environ())),
	}
}

// Close ends the servers that were looked at.
func (d *MCPManager) Close() error { return errors.Join(d.servers.close(), d.sandboxes.Close()) }

// Servers reads the files.
func (d *MCPManager) Servers() config.Servers { return d.loaded.Servers(d.project) }

// List asks every server what it offers, all at once.
func (d *MCPManager) List(ctx context.Context) []ListedServer {
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
func (d *MCPManager) Look(ctx context.Context, name string) (ListedServer, error) {
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
func (d *MCPManager) Approve(s ListedServer) error { return d.servers.in(d.project).Approve(s.Report) }

// Add writes a server into the file of a scope and says where that is.
func (d *MCPManager) Add(scope config.ServerScope, name string, e config.ServerEntry) (string, error) {
	return d.loaded.AddServer(scope, d.project, name, e)
}

// Remove takes a server out of its file, and back what was approved of it.
func (d *MCPManager) Remove(scope config.ServerScope, name string) (string, error) {
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
