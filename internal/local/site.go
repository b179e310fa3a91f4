package local

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"

	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/secret"
)

// Work says whether a process carries agents on itself.
type Work string

// The ways to work. WorkIfNeeded works unless another process is known to, or can be expected to.
const (
	WorkIfNeeded Work = ""
	WorkAlways   Work = "always"
	WorkNever    Work = "never"
)

// SiteOptions say where a command works, and with what.
type SiteOptions struct {
	Loaded config.Loaded
	// Demo is set when the scripted model is asked instead of real ones.
	Demo *Demo
	// Start is nil in a program without an engine.
	Start EngineStarter
	// Workspaces are the folders of workspaces.
	Workspaces map[app.Workspace]string
	Work       Work
	// Deployment and Build turn worker versioning on.
	Deployment, Build string
	// Alone refuses to share the data folder's engine with another process.
	Alone  bool
	Logger *slog.Logger
	// Vault takes secrets out of what surfaces; nil means one of the node's own.
	Vault *secret.Vault
}

// here are the names of the workspaces of this machine's one tenant.
func (o SiteOptions) here() (names []string) {
	for at := range o.Workspaces {
		if at.Tenant == app.LocalTenant {
			names = append(names, at.Name)
		}
	}
	slices.Sort(names)
	return names
}

// Site is a node with the engine it needs: the one that the settings name, the one that runs on the
// data folder, or one of its own.
type Site struct {
	*app.Node
	// Engine is nil when the settings name one.
	Engine *Engine
	// Address is where the engine is.
	Address string
	// Works means that this process carries agents on.
	Works bool

	stop context.CancelFunc
}

// OpenSite makes everything ready. Work and sweeping go on until Close.
func OpenSite(ctx context.Context, o SiteOptions) (s *Site, err error) {
	settings := o.Loaded.Settings
	if names := o.here(); settings.Journal.DSN.IsZero() && len(names) < len(o.Workspaces) {
		return nil, errors.New("a workspace of a tenant needs a database with tenants: set journal.dsn, or name the workspace without a tenant")
	}
	s = &Site{Address: settings.Engine.Temporal, stop: func() {}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.Address == "" {
		s.Engine, err = OpenEngine(ctx, OpenOptions{
			Dir: settings.DataDir, Start: o.Start, Workspaces: o.here(), Alone: o.Alone,
			Logger: o.Logger,
		})
		if err != nil {
			return s, err
		}
		s.Address = s.Engine.Owner.Address
	}
	lookup := os.LookupEnv
	if o.Demo != nil {
		lookup = o.Demo.Lookup
	}
	options := app.NodeOptions{
		Loaded: o.Loaded, Lookup: lookup, Logger: o.Logger, Workspaces: o.Workspaces,
		Local: s.Engine != nil, Deployment: o.Deployment, Build: o.Build, Vault: o.Vault,
	}
	if s.Engine != nil {
		options.Engine, options.EngineTLS = s.Address, s.Engine.TLS()
	}
	s.Node, err = app.OpenNode(ctx, options)
	if err != nil {
		return s, err
	}
	if s.Works = s.works(o); !s.Works {
		return s, nil
	}
	if err := s.Work(); err != nil {
		return s, err
	}
	var sweep context.Context
	sweep, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	go s.Sweep(sweep)
	return s, nil
}

// works decides whether this process carries agents on.
func (s *Site) works(o SiteOptions) bool {
	switch o.Work {
	case WorkAlways:
		return true
	case WorkNever:
		return false
	case WorkIfNeeded:
	}
	if s.Engine == nil {
		return o.Loaded.Settings.Journal.DSN.IsZero()
	}
	for _, name := range o.here() {
		if !slices.Contains(s.Engine.Owner.Workspaces, name) {
			return true
		}
	}
	return s.Engine.Ours
}

// Close hands over what is under way and lets go of everything, the engine last.
func (s *Site) Close() error {
	s.stop()
	var errs error
	if s.Node != nil {
		errs = s.Node.Close()
	}
	if s.Engine != nil {
		errs = errors.Join(errs, s.Engine.Close())
	}
	return errs
}
