package cast

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/secret"
	"github.com/retinue-dev/retinue/internal/tool"
)

// withRoles is a catalog of a project with two roles, one of which only other agents call. The
// instructions of the project hold a secret.
func withRoles(t *testing.T) *Catalog {
	t.Helper()
	project, managed := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(project, "AGENTS.md"):                        "Deploy with sk-hidden-4455.\n",
		filepath.Join(project, ".retinue", "agents", "mender.md"):  "---\nname: mender\ndescription: Mends.\nmode: all\n---\nYou mend.\n",
		filepath.Join(project, ".retinue", "agents", "counter.md"): "---\nname: counter\ndescription: Counts.\nmode: subagent\n---\nYou count.\n",
		filepath.Join(managed, "retinue.yaml"):                     "taint: {sinks: ['web_fetch(https://docs.example.com/*)']}\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	loaded, err := config.LoadSettings(config.Inputs{Managed: managed, Home: t.TempDir(), Flags: []config.Flag{
		{Name: "--set", Key: "trust", Value: project},
	}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(Options{
		Loaded: loaded, Folder: func(host.Workspace) string { return project }, Vault: secret.New([]string{"DEPLOY_KEY=sk-hidden-4455"}),
		Tree: func(_ host.Workspace, tree string) (string, error) { return "/trees/" + tree, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestSpeakersAreWhoCanBeAddressed has the orchestrator first, and nobody whom only agents call.
func TestSpeakersAreWhoCanBeAddressed(t *testing.T) {
	list, err := withRoles(t).Speakers(t.Context(), "w")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range list {
		names = append(names, s.Name)
	}
	all := " " + strings.Join(names, " ") + " "
	if !strings.HasPrefix(all, " main ") || !strings.Contains(all, " mender ") || strings.Contains(all, " counter ") {
		t.Errorf("the speakers are %v", names)
	}
}

// TestAPromptHoldsNoSecret writes the prompt of an agent in a tree of its own.
func TestAPromptHoldsNoSecret(t *testing.T) {
	c, at := withRoles(t), host.Workspace{Tenant: "local", Name: "w"}
	resolved, err := c.ResolveRole(at, "mender")
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Script(host.PromptInput{Workspace: at, Tree: "c1-1.0", Snapshot: resolved.Snapshot, Began: time.Unix(0, 0).UTC()})
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, part := range p.System {
		all.WriteString(part.Text)
	}
	for _, want := range []string{"You mend.", "/trees/c1-1.0", "Deploy with "} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("%q is not in the prompt:\n%s", want, all.String())
		}
	}
	if strings.Contains(all.String(), "sk-hidden-4455") {
		t.Errorf("the secret is in the prompt:\n%s", all.String())
	}
}

// TestSinksAreThoseOfTheSettings asks about a page that the settings list, and about another.
func TestSinksAreThoseOfTheSettings(t *testing.T) {
	c := withRoles(t)
	for page, want := range map[string]bool{"https://docs.example.com/a": true, "https://evil.example/a": false} {
		if got := c.Sink("web_fetch", []tool.Matter{{Forms: []string{page}}}); got != want {
			t.Errorf("%s is a sink: %t", page, got)
		}
	}
	if !c.Strange("node_modules/x/readme.md") || c.Strange("readme.md") {
		t.Error("what package managers fetch is strange, and a file of the workspace is not")
	}
}
