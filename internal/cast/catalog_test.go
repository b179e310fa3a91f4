package cast

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/config/role"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/secret"
	"github.com/retinue-dev/retinue/internal/tool"
)

// TestAVerdictIsTodays has the person who runs the machine deny what a run's role allowed when it
// began.
func TestAVerdictIsTodays(t *testing.T) {
	managed := t.TempDir()
	loaded, err := config.LoadSettings(config.Inputs{Managed: managed, Home: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(Options{Loaded: loaded, Folder: func(host.Workspace) string { return "" }, Vault: secret.New(nil)})
	if err != nil {
		t.Fatal(err)
	}
	bold := role.Role{Name: "bold", Rules: []role.Rule{{Tool: "shell", Verdict: agent.PolicyAllow}}}
	snapshot, err := bold.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	matters := []tool.Matter{{Forms: []string{"ls"}}, {Forms: []string{"curl example.org"}}}
	for _, step := range []struct {
		managed string
		want    agent.Policy
		fails   bool
	}{
		{"", agent.PolicyAllow, false},
		{"permissions: {deny: ['shell(curl *)']}\n", agent.PolicyDeny, false},
		{"permissions: {deny: [", agent.PolicyAsk, true},
	} {
		if err := os.WriteFile(filepath.Join(managed, "retinue.yaml"), []byte(step.managed), 0o600); err != nil {
			t.Fatal(err)
		}
		c.denialsRead = time.Time{} // as if a while had passed
		got, err := c.Verdict(string(snapshot), "shell", matters)
		if got != step.want || (err != nil) != step.fails {
			t.Errorf("%q: %q, %v", step.managed, got, err)
		}
	}
}

// TestUnknownWorkspacesAreOne asks for the roles of workspaces that this machine does not have.
func TestUnknownWorkspacesAreOne(t *testing.T) {
	loaded, err := config.LoadSettings(config.Inputs{Managed: t.TempDir(), Home: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	here := t.TempDir()
	c, err := New(Options{Loaded: loaded, Folder: func(w host.Workspace) string { return map[string]string{"here": here}[w.Name] }, Vault: secret.New(nil)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		for _, workspace := range []string{"here", fmt.Sprint("nowhere-", i)} {
			if _, err := c.Roles(t.Context(), workspace); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := slices.Sorted(maps.Keys(c.known)); !slices.Equal(got, []string{"", here}) {
		t.Errorf("%d workspaces are remembered: %q", len(got), got)
	}
}

// TestACallIsReckonedAtTheDearest has a model whose fallback costs more, and whose cache costs
// most.
func TestACallIsReckonedAtTheDearest(t *testing.T) {
	managed := t.TempDir()
	text := "providers: {p: {kind: openai, base_url: 'http://127.0.0.1:1'}}\ntiers: {fast: p/a}\nfallbacks: {fast: [p/b]}\n" +
		"models: {p/a: {input_usd: 1, output_usd: 2, cache_write_usd: 7}, p/b: {input_usd: 3, output_usd: 9}}\n"
	if err := os.WriteFile(filepath.Join(managed, "retinue.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := config.LoadSettings(config.Inputs{Managed: managed, Home: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(Options{Loaded: loaded, Folder: func(host.Workspace) string { return "" }, Vault: secret.New(nil)})
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Model("fast")
	if err != nil || m.InputPrice != 7_000_000 || m.OutputPrice != 9_000_000 {
		t.Errorf("the prices are %d and %d, want 7000000 and 9000000: %v", m.InputPrice, m.OutputPrice, err)
	}
}
