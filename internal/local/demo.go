package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/model/scripted"
)

// DemoLabel is shown wherever the demo is.
const DemoLabel = "DEMO: scripted model, no real model is called"

// demoKey is the variable that the demo's provider finds its key in. The key is worth nothing.
const demoKey = "RETINUE_DEMO_KEY"

// Demo is a scripted model in this process, with settings that ask it and nobody else.
type Demo struct {
	Loaded config.Loaded
	// Workspace is the demo's own folder.
	Workspace string
	server    *scripted.Server
}

// demoFiles are what the demo's agents read and change. They are written anew at each start.
var demoFiles = map[string]string{
	"apples.md": "Apples keep for months in a cool cellar and ripen from August to October.\n",
	"pears.md":  "Pears ripen off the tree, from the inside out, and keep for a few weeks.\n",
	"plums.md":  "Plums are picked ripe, keep for days, and dry into prunes.\n",
	"go.mod":    "module demo\n\ngo 1.21\n",
	"shop/price.go": `// Package shop adds up what is in a basket.
package shop

// Total is what all items of a basket cost together, in cents.
func Total(prices []int) int {
	sum := 0
	for _, price := range prices {
		sum += price
	}
	return sum
}
`,
	"shop/price_test.go": `package shop

import "testing"

func TestTotal(t *testing.T) {
	if got := Total([]int{250, 999}); got != 1249 {
		t.Errorf("250 and 999 make %d", got)
	}
}
`,
}

// demoMade is what the demo's agents make, and what an earlier demo may have left.
const demoMade = "shop/discount_test.go"

// furnish puts the demo's files into its folder.
func furnish(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(demoMade)), 0o700); err != nil {
		return fmt.Errorf("make the demo's folder: %w", err)
	}
	for name, text := range demoFiles {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("write the demo's files: %w", err)
		}
	}
	if err := os.Remove(filepath.Join(dir, demoMade)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("tidy the demo's folder: %w", err)
	}
	return nil
}

// DemoWorkspace is the folder of the demo's files, in its data folder.
const DemoWorkspace = "workspace"

// DemoFolder is the data folder of the demo.
func DemoFolder(s config.Settings) string { return filepath.Join(s.DataDir, "demo") }

// StartDemo starts the scripted model and makes a folder for the demo below the data folder of the
// settings. Nothing else of the person's is read or written: not their settings, keys or roles.
// Flags are those of the command line.
func StartDemo(s config.Settings, flags []config.Flag) (*Demo, error) {
	dir := DemoFolder(s)
	d := &Demo{Workspace: filepath.Join(dir, DemoWorkspace)}
	if err := furnish(d.Workspace); err != nil {
		return nil, err
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
		own[i].Name = app.DemoFlag
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
func (*Demo) Lookup(name string) (string, bool) {
	if name == demoKey {
		return "demo", true
	}
	return "", false
}

// Close ends the scripted model.
func (d *Demo) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	return d.server.Shutdown(ctx)
}
