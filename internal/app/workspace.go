package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/people"
	store "github.com/retinue-dev/retinue/internal/people/postgres"
	"github.com/retinue-dev/retinue/wire"
)

// Workspace is a folder that agents of one tenant work in.
type Workspace = host.Workspace

// LocalWorkspace is a workspace of this machine's one tenant.
func LocalWorkspace(name string) Workspace { return Workspace{Tenant: LocalTenant, Name: name} }

// enlist says which workspaces of tenants this worker has, so that their conversations can name
// them.
func (n *Node) enlist(ctx context.Context) error {
	var theirs []Workspace
	for at := range n.options.Workspaces {
		if at.Tenant != LocalTenant {
			theirs = append(theirs, at)
		}
	}
	if len(theirs) == 0 {
		return nil
	}
	settings := n.options.Loaded.Settings
	if settings.Journal.DSN.IsZero() {
		return nil // there is nowhere to say it, and nobody who would ask
	}
	dsn, err := settings.Journal.DSN.Reveal(n.options.Lookup)
	if err != nil {
		return fmt.Errorf("journal.dsn: %w", err)
	}
	kept, err := store.Open(ctx, store.Options{DSN: dsn, Connections: 1})
	if err != nil {
		return err
	}
	defer kept.Close()
	for _, at := range theirs {
		if err := kept.ServeWorkspace(ctx, at.Tenant, at.Name, time.Now()); err != nil {
			return fmt.Errorf("serve the workspace %s: %w", at, err)
		}
	}
	return nil
}

// resolve refuses a workspace that the tenant does not have. On one machine everything is one
// person's.
func (n *Node) resolve(ctx context.Context, at Workspace) error {
	if n.people == nil || at.Name == "" {
		return nil
	}
	list, err := n.people.Workspaces(ctx, at.Tenant)
	if err != nil || slices.ContainsFunc(list, func(w people.Workspace) bool { return w.Name == at.Name }) {
		return err
	}
	known := "there are none yet: 'retinue worker --workspace " + at.Tenant + "/NAME=DIR' has one"
	if len(list) > 0 {
		var names []string
		for _, w := range list {
			names = append(names, w.Name)
		}
		known = "known are " + strings.Join(names, ", ")
	}
	return &chat.Error{Code: chat.CodeInvalid, Message: "there is no workspace " + at.Name + "; " + known}
}

// Workspaces implements api.Installation.
func (s installationView) Workspaces(ctx context.Context, caller admission.Caller) (out []wire.WorkspaceInfo, err error) {
	if s.node.people == nil {
		for at := range s.node.options.Workspaces {
			if at.Tenant == caller.Tenant {
				out = append(out, wire.WorkspaceInfo{Name: at.Name})
			}
		}
		slices.SortFunc(out, func(a, b wire.WorkspaceInfo) int { return strings.Compare(a.Name, b.Name) })
		return out, nil
	}
	list, err := s.node.people.Workspaces(ctx, caller.Tenant)
	for _, w := range list {
		out = append(out, wire.WorkspaceInfo{Name: w.Name, ServedAt: &w.ServedAt})
	}
	return out, err
}
