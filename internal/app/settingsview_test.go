package app

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/secret"
	"github.com/retinue-dev/retinue/wire"
)

// roomWith is what a node with these settings tells.
func roomWith(t *testing.T, file string, workspace string) installationView {
	t.Helper()
	managed := t.TempDir()
	if err := os.WriteFile(filepath.Join(managed, "retinue.yaml"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := config.LoadSettings(config.Inputs{Managed: managed, Home: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	lookup := func(name string) (string, bool) { return "kanarienvogel-key", name == "THERE" }
	return installationView{workspace: workspace, node: &Node{options: NodeOptions{
		Loaded: loaded, Vault: secret.New(nil), Lookup: lookup, Workspaces: map[Workspace]string{LocalWorkspace(workspace): workspace},
	}}}
}

// TestSettingsWithoutSecrets puts secrets wherever they can be and looks for them in what people
// see.
func TestSettingsWithoutSecrets(t *testing.T) {
	s := roomWith(t, `
providers:
  one: {kind: anthropic, key: '{env:THERE}'}
  two: {kind: openai, base_url: 'https://models.example/v1', key: '{env:MISSING}'}
tiers: {fast: one/quick}
roles: {max_iterations: 9}
serve: {limits: {streams: 7}}
journal: {dsn: '{env:THERE}'}
`, t.TempDir())
	two := s.node.options.Loaded.Settings.Providers["two"]
	two.BaseURL = "https://ann:kanarienvogel@models.example/v1?key=kanarienvogel#kanarienvogel"
	s.node.options.Loaded.Settings.Providers["two"] = two
	got, err := s.Settings(t.Context(), admission.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(got)
	if err != nil || strings.Contains(string(text), "kanarienvogel") {
		t.Fatalf("a secret is shown: %s, %v", text, err)
	}
	for i, line := range []string{"default", "retinue.yaml:3", "default", "retinue.yaml:4"} {
		if !strings.HasSuffix(got.Providers[i].Layer, line) {
			t.Errorf("provider %s comes from %q, want %s", got.Providers[i].Name, got.Providers[i].Layer, line)
		}
		got.Providers[i].Layer = ""
	}
	const anthropic = "https://api.anthropic.com"
	want := []wire.Provider{
		{Name: "anthropic", Wire: "anthropic", Address: anthropic},
		{Name: "one", Wire: "anthropic", Address: anthropic, HasKey: true},
		{Name: "openai", Wire: "openai", Address: "https://api.openai.com/v1"},
		{Name: "two", Wire: "openai", Address: "https://models.example/v1"},
	}
	if diff := cmp.Diff(want, got.Providers); diff != "" || got.Mode != "local" {
		t.Errorf("mode %s; providers (+) against the wanted (-):\n%s", got.Mode, diff)
	}
	for _, key := range []string{"roles.max_iterations", "serve.limits.streams"} {
		if !slices.ContainsFunc(got.Items, func(i wire.Setting) bool { return i.Key == key && i.Layer != "default" }) {
			t.Errorf("%s is not shown: %+v", key, got.Items)
		}
	}
	if got.Tiers[0].Model != "one/quick" || got.Tiers[2].Layer != "default" {
		t.Errorf("the tiers are %+v", got.Tiers)
	}
}

// TestFilesToComplete looks for paths as somebody types them.
func TestFilesToComplete(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	for _, name := range []string{"main.go", "cmd/main/run.go", "docs/domain.md", "build/main.o", ".gitignore", "x/Main_test.go"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("build/\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(outside, "main.secret"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "main-link")); err != nil {
		t.Fatal(err)
	}
	s := roomWith(t, "", dir)
	got, err := s.Files(t.Context(), "", "MAIN", 3)
	want := wire.FileList{Items: []string{"main.go", "x/Main_test.go", "docs/domain.md"}, More: true}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v; files (+) against the wanted (-):\n%s", err, diff)
	}
	for _, elsewhere := range []string{outside, "/", filepath.Join(dir, "..")} {
		if got, err := s.Files(t.Context(), elsewhere, "", 50); err != nil || len(got.Items) > 0 || got.Reason == "" {
			t.Errorf("%s: %+v, %v", elsewhere, got, err)
		}
	}
}
