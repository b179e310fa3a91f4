package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/audit"
	"github.com/retinue-dev/retinue/internal/cast"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/config/role"
	"github.com/retinue-dev/retinue/internal/durable"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/postgres"
	"github.com/retinue-dev/retinue/internal/journal/sqlite"
	"github.com/retinue-dev/retinue/internal/leg"
	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/internal/live/nats"
	"github.com/retinue-dev/retinue/internal/model"
	"github.com/retinue-dev/retinue/internal/people"
	"github.com/retinue-dev/retinue/internal/secret"
	"github.com/retinue-dev/retinue/internal/telemetry"
	"github.com/retinue-dev/retinue/internal/toolbox"
)

const (
	// sweepEvery is how often what the engine was not told is looked for, and sweepAge how old it
	// must be: younger things are on their way.
	sweepEvery = 2 * time.Second
	sweepAge   = 2 * time.Second
	// reconcileEvery is how often the reconciler compares the tasks that have not ended with what the
	// engine runs, and reconcilePause the time between two questions about single runs.
	reconcileEvery = time.Minute
	reconcilePause = 20 * time.Millisecond
)

// LocalTenant is whose everything is on a machine without logins.
const LocalTenant = "local"

// NodeOptions say what a node is made of.
type NodeOptions struct {
	Loaded config.Loaded
	// Log is used instead of the journal that the settings name, and closed by the code that made it.
	Log journal.Log
	// Lookup finds environment variables.
	Lookup func(string) (string, bool)
	Logger *slog.Logger
	// Engine is the address of a Temporal server, and EngineTLS how this side and that one know each
	// other. An empty address means what the settings say.
	Engine    string
	EngineTLS config.EngineTLS
	// Workspaces are the folders whose agents this node works for.
	Workspaces map[host.Workspace]string
	// Local means that everything runs on this machine: who serves a workspace runs all of its agents.
	Local bool
	// LegEffects is how many local effects a leg may carry out; zero means any number.
	LegEffects int
	// LegsOnly works in the workspaces and leaves the rest to other nodes.
	LegsOnly bool
	// ReconcileEvery is how often the reconciler looks for runs that the engine has lost; zero means
	// every minute.
	ReconcileEvery time.Duration
	// Deployment and Build turn worker versioning on.
	Deployment, Build string
	// Codecs encode what crosses the engine. All nodes of an installation have the same.
	Codecs []durable.Codec
	// Tools are the tools of each workspace; nil means the built-in ones.
	Tools host.Toolbox
	// Fault is told of the points at which tests let the process die; nil outside tests.
	Fault host.Fault
	// Vault takes secrets out of what is recorded, published and logged; nil means one with those of
	// the environment. The secrets of the settings are added to it.
	Vault *secret.Vault
}

// Node is a process's share in the work: the journal, the bus and the engine, and ways to use them.
type Node struct {
	Log    journal.Log
	Bus    live.Bus
	Client *durable.Client
	// Trail is where commands leave their traces; nil when the journal is another's.
	Trail *audit.Trail

	witness host.Witness
	// people is nil where there is one person only.
	people    people.Store
	options   NodeOptions
	catalog   *cast.Catalog
	sandboxes *toolbox.Sandboxes
	worktrees *toolbox.Worktrees
	engine    durable.Engine
	worker    *durable.Worker
	pressure  *pressure
	// raw is the journal itself, without what is around it; nil when it is another's.
	raw journal.Log
	// ready says whether the journal's database is up to date; nil where opening it makes it so.
	ready   func(context.Context) error
	closers []func() error
}

// OpenNode connects to everything that the settings name.
func OpenNode(ctx context.Context, o NodeOptions) (n *Node, err error) {
	if o.Lookup == nil {
		o.Lookup = os.LookupEnv
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Vault == nil {
		o.Vault = secret.New(os.Environ())
	}
	Hide(o.Vault, o.Loaded.Settings, o.Lookup)
	o.Logger = slog.New(o.Vault.Handler(o.Logger.Handler()))
	n = &Node{options: o, sandboxes: toolbox.NewSandboxes(o.Loaded.Settings.Sandbox), pressure: newPressure(o.Loaded.Settings.Serve.Limits)}
	n.closers = append(n.closers, n.sandboxes.Close)
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
		}
	}()
	if names := o.Vault.Withhold(o.Loaded.Settings.Sandbox.Pass, o.Lookup); len(names) > 0 {
		return n, fmt.Errorf("sandbox.pass: %s is a secret, which programs that agents start never get: take it out", names[0])
	}
	n.worktrees = toolbox.NewWorktrees(n.folder, o.Loaded.Settings.DataDir)
	if n.catalog, err = cast.New(cast.Options{Loaded: o.Loaded, Folder: n.folder, Tree: n.worktrees.Path, Vault: o.Vault}); err != nil {
		return n, err
	}
	if err = n.openLog(ctx); err != nil {
		return n, err
	}
	if err = n.openBus(); err != nil {
		return n, err
	}
	n.Log = notifyingLog{Log: journal.NewRedacted(n.Log, o.Vault), bus: n.Bus, pressure: n.pressure}
	if n.engine, err = n.connect(ctx); err != nil {
		return n, err
	}
	n.closers = append(n.closers, func() error { n.engine.Close(); return nil })
	n.Client = &durable.Client{
		Log: n.Log, Engine: n.engine, Namespace: o.Loaded.Settings.Engine.Namespace, Logger: o.Logger,
		LegEffects: o.LegEffects, Local: o.Local, Fault: o.Fault,
	}
	return n, nil
}

// connect reaches the engine.
func (n *Node) connect(ctx context.Context) (durable.Engine, error) {
	o := n.options
	at := o.Loaded.Settings.Engine
	if o.Engine != "" {
		at = config.Engine{Temporal: o.Engine, Namespace: at.Namespace, TLS: o.EngineTLS}
	}
	if at.Temporal == "" {
		return nil, errors.New("there is no engine: set engine.temporal_address, or run 'retinue up'")
	}
	secure, key, err := engineCredentials(at, o.Lookup)
	if err != nil {
		return nil, err
	}
	return durable.Connect(ctx, durable.ConnectOptions{
		Address: at.Temporal, Namespace: at.Namespace, TLS: secure, APIKey: key, Logger: o.Logger, Codecs: o.Codecs, Redact: o.Vault.Redact,
	})
}

// folder is where a workspace is on this machine, empty if it is not here.
func (n *Node) folder(at host.Workspace) string {
	return n.options.Workspaces[at]
}

// serves reports whether a workspace is on this machine.
func (n *Node) serves(at host.Workspace) bool { return n.folder(at) != "" }

func (n *Node) openLog(ctx context.Context) error {
	if n.options.Log != nil {
		n.Log = n.options.Log
		return nil
	}
	log, done, err := openJournal(ctx, n.options.Loaded.Settings, n.options.Lookup)
	if err != nil {
		return err
	}
	n.closers = append(n.closers, done)
	if n.Trail, done, err = openTrail(ctx, n.options.Loaded.Settings, n.options.Lookup); err != nil {
		return err
	}
	n.closers = append(n.closers, done)
	audited := audit.NewLog(log, n.Trail, "node")
	n.Log, n.witness, n.raw = audited, audited, log
	if migrated, ok := log.(interface{ Ready(context.Context) error }); ok {
		n.ready = migrated.Ready
	}
	return nil
}

// openJournal opens the journal that the settings name.
func openJournal(ctx context.Context, s config.Settings, lookup func(string) (string, bool)) (journal.Log, func() error, error) {
	if s.Journal.DSN.IsZero() {
		if err := os.MkdirAll(s.DataDir, 0o700); err != nil {
			return nil, nil, fmt.Errorf("make the data folder: %w", err)
		}
		log, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(s.DataDir, "journal.db")})
		if err != nil {
			return nil, nil, err
		}
		return log, log.Close, nil
	}
	dsn, err := s.Journal.DSN.Reveal(lookup)
	if err != nil {
		return nil, nil, fmt.Errorf("journal.dsn: %w", err)
	}
	log, err := postgres.Open(ctx, postgres.Options{DSN: dsn})
	if err != nil {
		return nil, nil, err
	}
	return log, func() error { log.Close(); return nil }, nil
}

func (n *Node) openBus() error {
	s := n.options.Loaded.Settings
	if s.Live.NATS.IsZero() {
		n.Bus = live.NewLocal(0)
	} else {
		url, err := s.Live.NATS.Reveal(n.options.Lookup)
		if err != nil {
			return fmt.Errorf("live.nats_url: %w", err)
		}
		if n.Bus, err = nats.Open(nats.Options{URL: url}); err != nil {
			return err
		}
	}
	n.closers = append(n.closers, func() error { n.Bus.Close(); return nil })
	return nil
}

// Work starts to carry agents on, in the node's workspaces and those without one.
func (n *Node) Work() error {
	if err := n.enlist(context.Background()); err != nil {
		return err
	}
	models, err := cast.Models(n.options.Loaded.Settings, n.options.Lookup)
	if err != nil {
		return err
	}
	name, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("find the name of this machine: %w", err)
	}
	tools := n.options.Tools
	if tools == nil {
		sets, err := toolbox.New(toolbox.Options{
			Loaded: n.options.Loaded, Lookup: n.options.Lookup, Logger: n.options.Logger, Folder: n.folder, Worktrees: n.worktrees,
			Sandboxes: n.sandboxes, Vault: n.options.Vault,
		})
		if err != nil {
			return err
		}
		n.closers = append(n.closers, sets.Close)
		tools = sets
	}
	tracer, err := telemetry.Open(context.Background(), telemetry.Options{
		Content: n.options.Loaded.Settings.Telemetry.Content, Lookup: n.options.Lookup,
	})
	if err != nil {
		return err
	}
	n.closers = append(n.closers, func() error { return closeTracer(tracer) })
	carrier := leg.New(leg.Options{
		Host: host.Options{
			Log: n.Log, Witness: n.witness, Catalog: n.catalog, Tools: tools, Serves: n.serves, Worktrees: n.worktrees,
			Name: fmt.Sprintf("%s/%d", name, os.Getpid()), Logger: n.options.Logger, Fault: n.options.Fault,
			Redact: n.options.Vault.Redact, Observer: observer{tracer: tracer, redact: n.options.Vault.Redact},
		},
		Models: model.NewRedacted(models, n.options.Vault), Live: n.Bus, Engine: durable.Runs{Engine: n.engine},
		TenantLegs: tenantSlots(n.options.Loaded.Settings), Family: n.options.Loaded.Settings.Worker.Family, Budget: n.options.Loaded.Settings.Quotas.Month,
	})
	n.worker = durable.NewWorker(n.Client, carrier, durable.WorkerOptions{
		Workspaces: slices.SortedFunc(maps.Keys(n.options.Workspaces), func(a, b host.Workspace) int {
			return strings.Compare(a.String(), b.String())
		}), LegsOnly: n.options.LegsOnly, Local: n.options.Local, Legs: n.options.Loaded.Settings.Worker.Slots,
		CachedRuns: n.options.Loaded.Settings.Worker.CachedRuns, Name: fmt.Sprintf("%s.%d.%s", name, os.Getpid(), rand.Text()),
		Deployment: n.options.Deployment, Build: n.options.Build,
	})
	return n.worker.Start()
}

// Sweep tells the engine of what it was not told at once, and starts again what the engine has
// lost, until ctx ends.
func (n *Node) Sweep(ctx context.Context) {
	go n.reconcile(ctx)
	sweeper := &durable.Sweeper{Client: n.Client, Age: sweepAge}
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if done, err := sweeper.Pass(ctx); err != nil && ctx.Err() == nil {
				n.options.Logger.WarnContext(ctx, "sweep", "delivered", done, "error", err)
			}
		}
	}
}

// reconcile has the reconciler look at once, and then again and again until ctx ends.
func (n *Node) reconcile(ctx context.Context) {
	r := &durable.Reconciler{Client: n.Client, Pause: reconcilePause}
	ticker := time.NewTicker(cmp.Or(n.options.ReconcileEvery, reconcileEvery))
	defer ticker.Stop()
	for {
		did, err := r.Pass(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			n.options.Logger.WarnContext(ctx, "cannot compare all tasks with the engine", "mended", did, "error", err)
		case did != durable.Mended{}:
			n.options.Logger.InfoContext(ctx, "the engine had lost runs", "mended", did)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Close stops the work and lets go of everything.
func (n *Node) Close() error {
	if n.worker != nil {
		n.worker.Stop()
	}
	var errs error
	for _, c := range slices.Backward(n.closers) {
		errs = errors.Join(errs, c())
	}
	n.worker, n.closers = nil, nil // a second time there is nothing left
	return errs
}

// Open begins a conversation under an id.
func (n *Node) Open(ctx context.Context, ref journal.Ref, t api.NewConversation) error {
	if t.Role == "" {
		t.Role = "main"
	}
	resolved, err := n.catalog.ResolveRole(host.Workspace{Tenant: ref.Tenant, Name: t.Workspace}, t.Role)
	if err != nil {
		return err
	}
	spec := resolved.Spec
	if t.Model != "" || spec.Model.Name == "" {
		if t.Model == "" {
			t.Model = role.TierBalanced
		}
		if spec.Model, err = n.catalog.Model(t.Model); err != nil {
			return &chat.Error{Code: chat.CodeInvalid, Message: err.Error()}
		}
	}
	brief := agent.Orchestrator(spec)
	brief.Headless = t.Headless
	if t.Cost > 0 {
		brief.Limits.Cost = t.Cost
	}
	if t.Time > 0 {
		brief.Limits.Time = t.Time.Milliseconds()
	}
	return n.Client.Open(ctx, ref, durable.New{
		By: t.By, Title: t.Title, Workspace: t.Workspace, Command: t.Command, PrivateTo: t.PrivateTo, Brief: brief, Snapshot: resolved.Snapshot,
	})
}
