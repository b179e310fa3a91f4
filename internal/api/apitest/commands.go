package apitest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/identity"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/wire"
)

// Token is accepted from every client that has it.
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
	client   *http.Client
}

// Start starts a server. Change may alter what it is made of; nil leaves it.
func Start(t TB, change func(*api.Options)) *Server {
	t.Helper()
	log := journal.Log(journaltest.NewMemory())
	options := api.Options{
		Options: admission.Options{Authenticator: identity.Local{Tenant: Tenant, User: "ann", Token: Token}},
		Log:     log, Bus: live.NewLocal(0), Roles: noRoles{}, Installation: noRoles{}, Version: "test", Poll: 20 * time.Millisecond,
	}
	if change != nil {
		change(&options)
	}
	if options.Commands == nil {
		options.Commands = Commands{Log: options.Log}
	}
	server := api.New(options)
	front := httptest.NewServer(server)
	t.Cleanup(func() {
		server.Close()
		front.CloseClientConnections()
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
	return &Server{URL: front.URL, API: server, Log: options.Log, Contract: contract, client: front.Client()}
}

// noRoles is a catalogue of one role.
type noRoles struct{}

// Roles implements api.Catalogue.
func (noRoles) Roles(context.Context, string) ([]wire.Role, error) {
	return []wire.Role{{Name: "main", Description: "Talks to people.", Layer: "built-in", Hash: "h", Origins: map[string]string{"tools": "default"}}}, nil
}

// Role implements api.Catalogue.
func (c noRoles) Role(ctx context.Context, workspace, name string) (wire.Role, error) {
	list, err := c.Roles(ctx, workspace)
	if err != nil || name != list[0].Name {
		return wire.Role{}, &chat.Error{Code: chat.CodeNotFound, Message: "there is no such role"}
	}
	return list[0], nil
}

// Settings implements api.Installation.
func (noRoles) Settings(context.Context, admission.Caller) (wire.Settings, error) {
	return wire.Settings{
		Mode: "local", Providers: []wire.Provider{{Name: "acme", Wire: "openai", Address: "http://127.0.0.1:1", HasKey: true, Layer: "default"}},
		Tiers: []wire.Tier{{Tier: "fast", Model: "acme/quick", Layer: "default"}}, Items: []wire.Setting{{Key: "roles.max_iterations", Value: "1", Layer: "default"}},
	}, nil
}

// Workspaces implements api.Installation.
func (noRoles) Workspaces(context.Context, admission.Caller) ([]wire.WorkspaceInfo, error) {
	return []wire.WorkspaceInfo{{Name: "shop"}}, nil
}

// Files implements api.Installation.
func (noRoles) Files(context.Context, string, string, int) (wire.FileList, error) {
	return wire.FileList{Items: []string{"go.mod"}, More: true}, nil
}

// Commands takes commands and records them, and tells no engine.
type Commands struct{ Log journal.Log }

var root = journal.In{Agent: "main", Task: "main"}

func (d Commands) write(ctx context.Context, ref journal.Ref, rows ...journal.Row) error {
	_, err := d.Log.Append(ctx, ref, time.Now(), rows...)
	return err
}

// Open implements api.Commands.
func (d Commands) Open(ctx context.Context, ref journal.Ref, t api.NewConversation) error {
	return d.write(ctx, ref, journal.Opened{By: t.By, Title: t.Title, Workspace: t.Workspace, Command: t.Command, PrivateTo: t.PrivateTo},
		journal.TaskAssigned{In: root, Role: "main"})
}

// Say implements api.Commands.
func (d Commands) Say(ctx context.Context, ref journal.Ref, s api.Said) error {
	return d.write(ctx, ref, journal.MessageReceived{
		ID: s.ID, By: s.By, Parts: []chat.Part{{Kind: chat.PartText, Text: s.Text}}, InReplyTo: s.InReplyTo, Decline: s.Decline,
	}, journal.MailPosted{ID: "message:" + s.ID, Topic: "message"}, journal.MailDelivered{ID: "message:" + s.ID})
}

// Decide implements api.Commands.
func (d Commands) Decide(ctx context.Context, ref journal.Ref, decided journal.ApprovalDecided) error {
	return d.write(ctx, ref, decided)
}

// Cancel implements api.Commands.
func (d Commands) Cancel(ctx context.Context, ref journal.Ref, id, by, task string) error {
	post := journal.Stop(id, by, task)
	return d.write(ctx, ref, post, journal.MailDelivered{ID: post.ID})
}

// Share implements api.Commands.
func (d Commands) Share(ctx context.Context, ref journal.Ref, by string) error {
	return d.write(ctx, ref, journal.Shared{By: by})
}

// Archive implements api.Commands.
func (d Commands) Archive(ctx context.Context, ref journal.Ref, by string) error {
	return d.write(ctx, ref, journal.Archived{By: by})
}

// Delete implements api.Commands.
func (d Commands) Delete(ctx context.Context, ref journal.Ref, id, _ string) error {
	_, err := d.Log.Append(ctx, ref, time.Now(), journal.MailPosted{ID: journal.Erasure, Topic: "erase", Command: id})
	if err != nil {
		return err
	}
	return d.Log.Erase(ctx, ref)
}
