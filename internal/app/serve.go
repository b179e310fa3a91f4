package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/durable"
	"github.com/retinue-dev/retinue/internal/journal"
)

const (
	// ServeAddress is where a server listens when nothing is said.
	ServeAddress = "127.0.0.1:7433"
	// localPoll is how often is looked for what another process of the machine wrote.
	localPoll = 250 * time.Millisecond
	// stopTime is how long requests may take to come to their end when a server stops.
	stopTime = 25 * time.Second
)

// Front is a server that listens.
type Front struct {
	// URL is where it is, and Token what lets a person of this machine in.
	URL   string
	Token string

	api    *api.Server
	server *http.Server
	done   chan error
}

// Serve lets people and programs in. Workspace is what conversations get that name none.
func (n *Node) Serve(ctx context.Context, workspace, version string) (*Front, error) {
	settings := n.options.Loaded.Settings
	token, err := localToken(settings.DataDir)
	if err != nil {
		return nil, err
	}
	listener, err := listenOn(ctx, settings.Serve.Address)
	if err != nil {
		return nil, err
	}
	f := &Front{URL: "http://" + listener.Addr().String(), Token: token, done: make(chan error, 1)}
	options := api.Options{
		Log: n.Log, Bus: n.Bus, Door: api.Local{Tenant: LocalTenant, User: localUser(), Token: token},
		Commands: commands{node: n, workspace: workspace}, Roles: n.catalog, Redact: n.options.Vault.Redact,
		Version: version, Logger: n.options.Logger,
	}
	if settings.Live.NATS.IsZero() {
		options.Poll = localPoll
	}
	f.api = api.New(options)
	n.Bridge(f.api, options)
	f.server = &http.Server{
		Handler: api.Hosts(f.api, "127.0.0.1", "::1", "localhost"), ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
	}
	go func() { f.done <- f.server.Serve(listener) }()
	return f, nil
}

// Close lets requests come to their end and takes no new ones.
func (f *Front) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	f.api.Close()
	if err := f.server.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("stop the server: %w", err), f.server.Close())
	}
	if err := <-f.done; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// listenOn opens the address. When nothing is said and the usual one is taken, any other will do.
func listenOn(ctx context.Context, address string) (net.Listener, error) {
	var config net.ListenConfig
	usual := address == ""
	if usual {
		address = ServeAddress
	}
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil && usual {
		l, err = config.Listen(ctx, "tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, fmt.Errorf("serve.address: %w", err)
	}
	return l, nil
}

// localToken is what lets a person of this machine in. It is made once and kept where only they can
// read it.
func localToken(dir string) (string, error) {
	path := filepath.Join(dir, "api.token")
	if data, err := os.ReadFile(path); err == nil && len(strings.TrimSpace(string(data))) > 0 {
		return strings.TrimSpace(string(data)), nil
	}
	token := "rtl_" + rand.Text() + rand.Text()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the data folder: %w", err)
	}
	if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("keep the token: %w", err)
	}
	return token, nil
}

func localUser() string {
	if name := os.Getenv("USER"); name != "" {
		return name
	}
	return "you"
}

// commands carries out what people ask the server for.
type commands struct {
	node      *Node
	workspace string
}

// Open implements api.Commands.
func (c commands) Open(ctx context.Context, place journal.Place, t api.Talk) error {
	if t.Workspace == "" {
		t.Workspace = c.workspace
	}
	return c.node.Open(ctx, place, Talk{
		By: t.By, Title: t.Title, Workspace: t.Workspace, Role: t.Role, Model: t.Model, Headless: t.Headless, Cost: t.Cost,
	})
}

// Say implements api.Commands.
func (c commands) Say(ctx context.Context, place journal.Place, s api.Said) error {
	_, err := c.node.Client.Say(ctx, place, durable.Message{
		ID: s.ID, By: s.By, Parts: words(s.Text), InReplyTo: s.InReplyTo, Decline: s.Decline,
	})
	return err
}

// Decide implements api.Commands.
func (c commands) Decide(ctx context.Context, place journal.Place, d journal.Decided) error {
	return c.node.Client.Decide(ctx, place, d)
}

// Cancel implements api.Commands.
func (c commands) Cancel(ctx context.Context, place journal.Place, id, by, task string) error {
	return c.node.Client.Cancel(ctx, place, id, by, task)
}

// Archive implements api.Commands.
func (c commands) Archive(ctx context.Context, place journal.Place, by string) error {
	_, err := c.node.Log.Append(ctx, place, time.Now(), journal.Archived{By: by})
	return err
}

// Delete implements api.Commands.
func (c commands) Delete(ctx context.Context, place journal.Place, by string) error {
	return c.node.Client.Delete(ctx, place, by)
}

// Roles implements api.Catalogue.
func (c *catalog) Roles(_ context.Context, workspace string) ([]api.RoleInfo, error) {
	roles, err := c.roles(workspace)
	if err != nil {
		return nil, &chat.Error{Code: chat.CodeInvalid, Message: err.Error()}
	}
	var out []api.RoleInfo
	for _, r := range roles.Roles() {
		if r.Hidden {
			continue
		}
		out = append(out, api.RoleInfo{
			Name: r.Name, Description: r.Description, Icon: r.Icon, Model: r.Model, Tools: append([]string{}, r.Tools...),
			Delegates: append([]string{}, r.Delegates...), MaxIterations: r.Limits.Iterations, MaxDuration: r.Limits.Time,
			Prompt: r.Prompt, Source: r.File,
		})
	}
	return out, nil
}
