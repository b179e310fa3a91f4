package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/cli/exit"
	"github.com/retinue-dev/retinue/internal/cli/output"
	"github.com/retinue-dev/retinue/internal/cli/remote"
	"github.com/retinue-dev/retinue/internal/cli/settings"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/local"
	"github.com/retinue-dev/retinue/internal/toolbox"
)

// siteFlags are the flags of commands that agents work for.
type siteFlags struct {
	settings.Flags
	serverFlags
	workspaces []string
	demo       bool
	verbose    bool
	// deployment and build are those of a worker.
	deployment, build string
}

func (f *siteFlags) addDemo(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.demo, "demo", false,
		"ask a scripted model that is part of retinue instead of a real one, in a folder\nof its own; needs no key and costs nothing")
}

func (f *siteFlags) addVerbose(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "print debug logs to stderr")
}

// addBuild adds the flags that name a build of the workers.
func (f *siteFlags) addBuild(cmd *cobra.Command, build string) {
	cmd.Flags().StringVar(&f.deployment, "deployment", "retinue", "what the workers of all builds have in common")
	cmd.Flags().StringVar(&f.build, "build", "", build)
}

// site is a place to work, with the settings that led to it.
type site struct {
	// Site is nil when a server elsewhere does the work.
	*local.Site
	// server is where conversations are, and private the one of this process; nil if that has none.
	server  *remote.Server
	private *app.Private
	loaded  config.Loaded
	demo    *local.Demo
	// workspace is the name of the one workspace of run and up.
	workspace string
}

// want is what a command needs of a site.
type want struct {
	start local.EngineStarter
	work  local.Work
	alone bool
	// quiet is the least that is logged when nobody asked for more.
	quiet slog.Level
	// file is where logs go instead of the error stream, in the data folder.
	file string
	// named means that workspaces have names of their own: NAME=DIR.
	named bool
	// client means that the command works with conversations, and by who it says that it is where it
	// has no login: the person. served means that a server elsewhere will do, if one runs.
	client bool
	by     string
	served bool
}

// silent is above every level.
const silent = slog.Level(100)

// open reads the settings and makes the place ready.
func (f *siteFlags) open(ctx context.Context, cmd *cobra.Command, w want) (s *site, err error) {
	folders, err := folders(f.workspaces)
	if err != nil {
		return nil, err
	}
	s = &site{}
	if len(f.workspaces) == 1 && !w.named {
		for at, dir := range folders {
			s.workspace, f.Project = at.Name, dir
		}
	}
	if s.loaded, err = f.Load(cmd); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close(ctx))
		}
	}()
	if s.workspace == "" && !w.named && !f.demo && f.address == "" && s.local() {
		s.workspace = s.loaded.Project()
		folders[app.LocalWorkspace(s.workspace)] = s.workspace
	}
	if w.served {
		if s.server, err = f.elsewhere(ctx, s, w); s.server != nil || err != nil {
			return s, err
		}
	}
	if f.demo {
		if s.demo, err = local.StartDemo(s.loaded.Settings, f.Changes); err != nil {
			return s, err
		}
		s.loaded = s.demo.Loaded
		if s.workspace == "" {
			s.workspace = s.demo.Workspace
			folders[app.LocalWorkspace(s.workspace)] = s.workspace
		}
	}
	logger, err := f.logger(cmd.ErrOrStderr(), s.loaded.Settings.DataDir, w)
	if err != nil {
		return s, err
	}
	s.Site, err = local.OpenSite(ctx, local.SiteOptions{
		Loaded: s.loaded, Demo: s.demo, Start: w.start, Workspaces: folders, Work: w.work, Alone: w.alone,
		Deployment: f.deployment, Build: f.build, Logger: logger, Vault: f.Vault,
	})
	if err != nil || !w.client {
		return s, err
	}
	if s.private, err = s.Private(ctx, cmp.Or(w.by, userName()), s.workspace, version()); err == nil {
		s.server = &remote.Server{Client: s.private.Client}
	}
	return s, err
}

// local reports whether everything is on this machine, where a folder's path is its name.
func (s *site) local() bool { return s.loaded.Settings.Journal.DSN.IsZero() }

func (s *site) close(ctx context.Context) error {
	var errs error
	if s.private != nil {
		errs = s.private.Close()
	}
	if s.Site != nil {
		errs = errors.Join(errs, s.Site.Close())
	}
	if s.demo != nil {
		errs = errors.Join(errs, s.demo.Close(ctx))
	}
	return errs
}

// logger writes to the error stream, or adds to a file.
func (f *siteFlags) logger(out io.Writer, dir string, w want) (*slog.Logger, error) {
	level := w.quiet
	if f.verbose {
		level = slog.LevelInfo
	}
	if w.file != "" && !f.verbose {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make the data folder: %w", err)
		}
		file, err := os.OpenFile(filepath.Join(dir, w.file), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open the log: %w", err)
		}
		out = file
	}
	return slog.New(f.Vault.Handler(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level}))), nil
}

// folders reads workspaces: DIR, whose name is its path, or NAME=DIR.
func folders(list []string) (map[app.Workspace]string, error) {
	out := map[app.Workspace]string{}
	for _, entry := range list {
		name, dir, named := strings.Cut(entry, "=")
		if !named {
			dir = entry
		}
		dir, err := filepath.Abs(dir)
		if err != nil {
			return nil, fmt.Errorf("find the workspace: %w", err)
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, exit.Misused("--workspace %s: there is no folder %s", entry, dir)
		}
		at := app.LocalWorkspace(name)
		if tenant, own, both := strings.Cut(name, "/"); named && both {
			at = app.Workspace{Tenant: tenant, Name: own}
		}
		if !named {
			at.Name = dir
		}
		if at.Tenant == "" || at.Name == "" || named && strings.Contains(at.Name, "/") {
			return nil, exit.Misused("--workspace %s: expected DIR, NAME=DIR or TENANT/NAME=DIR", entry)
		}
		out[at] = dir
	}
	return out, nil
}

// warn tells people what they should know of the sandbox, in one line, if this process will run
// commands.
func (s *site) warn(out output.Screen, prefix string) {
	notice, ok := toolbox.SandboxNotice(s.loaded.Settings)
	switch {
	case !ok || s.Site == nil || !s.Works:
	case notice.Alarm:
		out.Line("%s%s", prefix, out.Paint(output.Bold+";"+output.Red, notice.Text))
	default:
		out.Line("%s%s", prefix, out.Paint(output.Yellow, notice.Text))
	}
}
