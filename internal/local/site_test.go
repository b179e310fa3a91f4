package local

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/config"
)

// TestASiteThatCannotBeSaysWhy opens one with a tenant's workspace and no database, and one that
// nothing runs an engine for.
func TestASiteThatCannotBeSaysWhy(t *testing.T) {
	loaded := config.Loaded{Settings: config.Settings{DataDir: t.TempDir()}}
	options := SiteOptions{Loaded: loaded, Logger: slog.New(slog.DiscardHandler)}
	options.Workspaces = map[app.Workspace]string{{Tenant: "acme", Name: "shop"}: t.TempDir()}
	if _, err := OpenSite(t.Context(), options); err == nil || !strings.Contains(err.Error(), "needs a database with tenants") {
		t.Errorf("a tenant's workspace: %v", err)
	}
	options.Workspaces = map[app.Workspace]string{app.LocalWorkspace("shop"): t.TempDir()}
	s, err := OpenSite(t.Context(), options)
	if !errors.Is(err, ErrNoEngine) {
		t.Errorf("no engine: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestAProcessWorksIfNobodyElseDoes decides for a folder whose engine another process runs, for one
// of its own, and for an engine that the settings name.
func TestAProcessWorksIfNobodyElseDoes(t *testing.T) {
	theirs := &Engine{Owner: Owner{Workspaces: []string{"shop"}}}
	database, err := config.LoadSettings(config.Inputs{Home: t.TempDir(), Flags: []config.Flag{{Name: "--set", Key: "journal.dsn", Value: "{env:DSN}"}}})
	if err != nil {
		t.Fatal(err)
	}
	at := func(names ...string) map[app.Workspace]string {
		out := map[app.Workspace]string{}
		for _, name := range names {
			out[app.LocalWorkspace(name)] = "/" + name
		}
		return out
	}
	for name, c := range map[string]struct {
		engine  *Engine
		options SiteOptions
		want    bool
	}{
		"another works in the workspace":      {theirs, SiteOptions{Workspaces: at("shop")}, false},
		"another works, but not in this":      {theirs, SiteOptions{Workspaces: at("shop", "garden")}, true},
		"another works, this one is told to":  {theirs, SiteOptions{Workspaces: at("shop"), Work: WorkAlways}, true},
		"the engine is its own":               {&Engine{Ours: true}, SiteOptions{}, true},
		"the engine is its own, told not to":  {&Engine{Ours: true}, SiteOptions{Work: WorkNever}, false},
		"an engine elsewhere, a journal here": {nil, SiteOptions{}, true},
		"an engine elsewhere, and a database": {nil, SiteOptions{Loaded: database}, false},
	} {
		if got := (&Site{Engine: c.engine}).works(c.options); got != c.want {
			t.Errorf("%s: it works: %t", name, got)
		}
	}
}
