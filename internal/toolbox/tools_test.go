package toolbox

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/config/role"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/secret"
	"github.com/retinue-dev/retinue/internal/tool"
	"github.com/retinue-dev/retinue/internal/tool/mcp"
)

// everyTool is what a worker offers in a workspace, as it puts it together: all tools that come
// with the program.
func everyTool(t *testing.T) []tool.Definition {
	t.Helper()
	dir := t.TempDir()
	where := func(host.Workspace) string { return dir }
	loaded := settings(t, "")
	shop := newSets(where, NewWorktrees(where, t.TempDir()), NewSandboxes(loaded.Settings.Sandbox), noServers(t), secret.New(nil))
	key := func(string) (string, bool) { return "a key", true }
	var err error
	if shop.pages, err = Pages(loaded.Settings.Web, key); err != nil {
		t.Fatal(err)
	}
	set, err := shop.Tools(here, "")
	if err != nil {
		t.Fatal(err)
	}
	return set.Definitions([]string{"*"})
}

// TestConfigKnowsTheToolsAsTheyAre gives a role one tool, under each of its names.
func TestConfigKnowsTheToolsAsTheyAre(t *testing.T) {
	for _, d := range everyTool(t) {
		if d.Name == agent.ToolMerge {
			continue // goes with delegation, whatever a role lists
		}
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
			r, err := role.Load(role.Sources{Project: project})
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

// TestThePageOnToolsIsTrue compares each tool with its row in docs/tools.md: its names, its class,
// whether a person is asked about it when no rule says anything, and its time. The core, the rules
// of a role and the page must agree.
func TestThePageOnToolsIsTrue(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "tools.md"))
	if err != nil {
		t.Fatal(err)
	}
	every, wall := append(everyTool(t), mcp.AnyTool("mcp__SERVER__TOOL")), measure.NewWall(t, "1.1")
	for _, d := range every {
		verdict := role.AsksNever
		if (agent.Call{Known: true, Class: d.Class, Writes: d.Writes, Network: d.Network}).Asks() {
			verdict = role.AsksAlways
		}
		if got := (role.Role{}).Asks(d.Name); got != verdict {
			t.Errorf("%s: a role without rules asks %s, the core %s", d.Name, got, verdict)
		}
		if d.Network {
			wall.Try(verdict != role.AsksAlways, "%s reaches the network and asks %s", d.Name, verdict)
		}
		if (d.Writes || d.Network) != (verdict == role.AsksAlways) {
			t.Errorf("%s: writes %t, network %t, asks %s", d.Name, d.Writes, d.Network, verdict)
		}
		row := fmt.Sprintf("| `%s` | %s | %s | %s | %s |", d.Name, strings.Join(d.Aliases, ", "), d.Class, verdict, d.Timeout)
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/tools.md has no row that begins %s", row)
		}
	}
	rows := regexp.MustCompile("(?m)^\\| `\\w+` \\|.*\\| (never|always) \\|").FindAllString(string(page), -1)
	if len(rows) != len(every) {
		t.Errorf("docs/tools.md has %d rows for %d tools", len(rows), len(every))
	}
}

// noServers are the MCP servers of somebody who has none.
func noServers(t *testing.T) *toolServers {
	t.Helper()
	loaded, err := config.LoadSettings(config.Inputs{Home: t.TempDir(), Flags: []config.Flag{{Key: "data_dir", Value: t.TempDir()}}})
	if err != nil {
		t.Fatal(err)
	}
	return newToolServers(loaded, os.LookupEnv, slog.New(slog.DiscardHandler), NewSandboxes(loaded.Settings.Sandbox), secret.New(nil))
}
