package apitest

import (
	"context"
	"net/http/httptest"
	"time"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/live"
)

// Token lets in whoever has it.
const Token = "rtl_of_a_test"

// Tenant is whose everything is.
const Tenant = "local"

// TB is what a server needs of a test.
type TB interface {
	Helper()
	Cleanup(f func())
	Fatal(args ...any)
}

// Server is a server on a journal in memory, without agents.
type Server struct {
	URL      string
	API      *api.Server
	Log      journal.Log
	Contract *Contract
}

// Start starts a server. Change may alter what it is made of; nil leaves it.
func Start(t TB, change func(*api.Options)) *Server {
	t.Helper()
	log := journal.Log(journaltest.NewMemory())
	options := api.Options{
		Log: log, Bus: live.NewLocal(0), Door: api.Local{Tenant: Tenant, User: "ann", Token: Token}, Roles: noRoles{}, Surroundings: noRoles{},
		Version: "test", Poll: 20 * time.Millisecond,
	}
	if change != nil {
		change(&options)
	}
	if options.Commands == nil {
		options.Commands = Desk{Log: options.Log}
	}
	server := api.New(options)
	front := httptest.NewServer(server)
	t.Cleanup(func() {
		server.Close()
		front.Close()
	})
	document, err := api.Document("test")
	if err != nil {
		t.Fatal(err)
	}
	contract, err := NewContract(document)
	if err != nil {
		t.Fatal(err)
	}
	return &Server{URL: front.URL, API: server, Log: options.Log, Contract: contract}
}

// noRoles is a catalogue of one role.
type noRoles struct{}

// Roles implements api.Catalogue.
func (noRoles) Roles(context.Context, string) ([]api.RoleInfo, error) {
	return []api.RoleInfo{{Name: "main", Description: "Talks to people.", Layer: "built-in", Hash: "h", Origins: map[string]string{"tools": "default"}}}, nil
}

// Role implements api.Catalogue.
func (c noRoles) Role(ctx context.Context, workspace, name string) (api.RoleInfo, error) {
	list, err := c.Roles(ctx, workspace)
	if err != nil || name != list[0].Name {
		return api.RoleInfo{}, &chat.Error{Code: chat.CodeNotFound, Message: "there is no such role"}
	}
	return list[0], nil
}

// Settings implements api.Surroundings.
func (noRoles) Settings(context.Context, api.Caller) (api.SettingsInfo, error) {
	return api.SettingsInfo{
		Mode: "local", Providers: []api.ProviderInfo{{Name: "acme", Wire: "openai", Address: "http://127.0.0.1:1", HasKey: true, Layer: "default"}},
		Tiers: []api.TierInfo{{Tier: "fast", Model: "acme/quick", Layer: "default"}}, Items: []api.SettingInfo{{Key: "roles.max_iterations", Value: "1", Layer: "default"}},
	}, nil
}

// Workspaces implements api.Surroundings.
func (noRoles) Workspaces(context.Context, api.Caller) ([]api.WorkspaceInfo, error) {
	return []api.WorkspaceInfo{{Name: "shop"}}, nil
}

// Files implements api.Surroundings.
func (noRoles) Files(context.Context, string, string, int) (api.FileList, error) {
	return api.FileList{Items: []string{"go.mod"}, More: true}, nil
}

// Desk takes commands and records them, and tells no engine.
type Desk struct{ Log journal.Log }

var root = journal.In{Agent: "main", Task: "main"}

func (d Desk) write(ctx context.Context, place journal.Place, rows ...journal.Row) error {
	_, err := d.Log.Append(ctx, place, time.Now(), rows...)
	return err
}

// Open implements api.Commands.
func (d Desk) Open(ctx context.Context, place journal.Place, t api.Talk) error {
	return d.write(ctx, place, journal.Opened{By: t.By, Title: t.Title, Workspace: t.Workspace, Command: t.Command, PrivateTo: t.PrivateTo},
		journal.Assigned{In: root, Role: "main"})
}

// Say implements api.Commands.
func (d Desk) Say(ctx context.Context, place journal.Place, s api.Said) error {
	return d.write(ctx, place, journal.Said{
		ID: s.ID, By: s.By, Parts: []chat.Part{{Kind: chat.PartText, Text: s.Text}}, InReplyTo: s.InReplyTo, Decline: s.Decline,
	}, journal.Posted{ID: "said:" + s.ID, Topic: "said"}, journal.Delivered{ID: "said:" + s.ID})
}

// Decide implements api.Commands.
func (d Desk) Decide(ctx context.Context, place journal.Place, decided journal.Decided) error {
	return d.write(ctx, place, decided)
}

// Cancel implements api.Commands.
func (d Desk) Cancel(ctx context.Context, place journal.Place, id, by, task string) error {
	post := journal.Stop(id, by, task)
	return d.write(ctx, place, post, journal.Delivered{ID: post.ID})
}

// Share implements api.Commands.
func (d Desk) Share(ctx context.Context, place journal.Place, by string) error {
	return d.write(ctx, place, journal.Shared{By: by})
}

// Archive implements api.Commands.
func (d Desk) Archive(ctx context.Context, place journal.Place, by string) error {
	return d.write(ctx, place, journal.Archived{By: by})
}

// Delete implements api.Commands.
func (d Desk) Delete(ctx context.Context, place journal.Place, id, _ string) error {
	_, err := d.Log.Append(ctx, place, time.Now(), journal.Posted{ID: journal.Erasure, Topic: "erase", Command: id})
	if err != nil {
		return err
	}
	return d.Log.Erase(ctx, place)
}
