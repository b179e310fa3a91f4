package app

import (
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/secret"
	"github.com/retinue-dev/retinue/internal/tool"
	"github.com/retinue-dev/retinue/internal/tool/builtin"
	"github.com/retinue-dev/retinue/internal/tool/shell"
	"github.com/retinue-dev/retinue/internal/tool/web"
)

// everyTool is all tools that come with the program.
func everyTool(t *testing.T, w *builtin.Workspace, dir string) []tool.Tool {
	t.Helper()
	pages := web.Tools(http.DefaultClient, web.NewTavily(http.DefaultClient, "https://api.tavily.com/search", ""))
	commands, err := shell.New(shell.Options{Workspace: dir})
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(w.Tools(), w.Writing(), w.Images(), pages, []tool.Tool{commands})
}

// TestConfigKnowsTheToolsAsTheyAre gives a role one tool, under each of its names.
func TestConfigKnowsTheToolsAsTheyAre(t *testing.T) {
	dir := t.TempDir()
	w, err := builtin.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	for _, each := range everyTool(t, w, dir) {
		d := each.Definition()
		for _, name := range slices.Concat([]string{d.Name}, d.Aliases) {
			project := t.TempDir()
			dir := filepath.Join(project, ".retinue", "agents")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			text := "---\nname: probe\ndescription: Has one tool.\ntools: [" + name + "]\n---\nProbe.\n"
			if err := os.WriteFile(filepath.Join(dir, "probe.md"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			r, err := config.Load(config.Sources{Project: project})
			if err != nil {
				t.Fatal(err)
			}
			role, err := r.Role("probe")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{d.Name}, role.Tools); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			want := agent.Authority{Tools: []string{d.Name}, Write: d.Writes, Network: d.Network}
			if diff := cmp.Diff(want, role.Authority); diff != "" {
				t.Errorf("%s needs: %s", name, diff)
			}
		}
	}
}

func TestThePageOnToolsNamesEachOfThem(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "tools.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	w, err := builtin.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	for _, each := range everyTool(t, w, dir) {
		d := each.Definition()
		row := "| `" + d.Name + "` | " + strings.Join(d.Aliases, ", ") + " | " + string(d.Class) + " | " + d.Timeout.String() + " |"
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/tools.md has no row that begins %s", row)
		}
	}
}

// noServers are the MCP servers of somebody who has none.
func noServers(t *testing.T) *toolServers {
	t.Helper()
	loaded, err := config.LoadSettings(config.Inputs{Home: t.TempDir(), Flags: []config.Flag{{Key: "data_dir", Value: t.TempDir()}}})
	if err != nil {
		t.Fatal(err)
	}
	return newToolServers(loaded, os.LookupEnv, slog.New(slog.DiscardHandler), newEnclosure(loaded.Settings.Sandbox), secret.New(nil))
}
