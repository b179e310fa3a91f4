package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/model/scripted"
)

// DemoLabel is shown wherever the demo is.
const DemoLabel = "DEMO: scripted model, no real model is asked"

// demoKey is the variable that the demo's provider finds its key in. The key is worth nothing.
const demoKey = "RETINUE_DEMO_KEY"

// Demo is a scripted model in this process, with settings that ask it and nobody else.
type Demo struct {
	Loaded config.Loaded
	// Workspace is the demo's own folder.
	Workspace string
	server    *scripted.Server
}

// demoFiles is what the demo's agents read.
var demoFiles = map[string]string{
	"apples.md": "Apples keep for months in a cool cellar and ripen from August to October.\n",
	"pears.md":  "Pears ripen off the tree, from the inside out, and keep for a few weeks.\n",
	"plums.md":  "Plums are picked ripe, keep for days, and dry into prunes.\n",
}

// StartDemo starts the scripted model and makes a folder for the demo below the data folder of the
// settings. Nothing else of the person's is read or written: not their settings, keys or roles.
// Flags are those of the command line.
func StartDemo(s config.Settings, flags []config.Flag) (*Demo, error) {
	dir := filepath.Join(s.DataDir, "demo")
	d := &Demo{Workspace: filepath.Join(dir, "workspace")}
	if err := os.MkdirAll(d.Workspace, 0o700); err != nil {
		return nil, fmt.Errorf("make the demo's folder: %w", err)
	}
	for name, text := range demoFiles {
		if err := os.WriteFile(filepath.Join(d.Workspace, name), []byte(text), 0o600); err != nil {
			return nil, fmt.Errorf("write the demo's files: %w", err)
		}
	}
	script, err := scripted.Example("demo")
	if err != nil {
		return nil, err
	}
	model, err := scripted.New(script, scripted.Options{})
	if err != nil {
		return nil, err
	}
	if d.server, err = scripted.Listen("127.0.0.1:0", model); err != nil {
		return nil, err
	}
	own := []config.Flag{
		{Key: "data_dir", Value: dir},
		{Key: "providers.demo.kind", Value: string(config.KindAnthropic)},
		{Key: "providers.demo.base_url", Value: d.server.AnthropicURL()},
		{Key: "providers.demo.key", Value: "{env:" + demoKey + "}"},
		{Key: "providers.demo.concurrency", Value: "64"},
		{Key: "providers.demo.requests_per_minute", Value: "60000"},
		{Key: "tiers.fast", Value: "demo/fast"},
		{Key: "tiers.balanced", Value: "demo/balanced"},
		{Key: "tiers.strong", Value: "demo/strong"},
	}
	for i := range own {
		own[i].Name = "--demo"
	}
	d.Loaded, err = config.LoadSettings(config.Inputs{
		DataHome: dir, Project: d.Workspace, Environ: []string{}, Flags: append(flags, own...),
	})
	if err != nil {
		return nil, fmt.Errorf("settings of the demo: %w", err)
	}
	return d, nil
}

// Lookup finds the demo's key among the variables, and nothing else.
func (*Demo) Lookup(name string) (string, bool) { return "demo", name == demoKey }

// Close ends the scripted model.
func (d *Demo) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	return d.server.Shutdown(ctx)
}
