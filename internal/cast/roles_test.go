package cast

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/secret"
	"github.com/retinue-dev/retinue/wire"
)

// TestRolesForPeople asks for a role of a project's file and for a built-in one.
func TestRolesForPeople(t *testing.T) {
	project := t.TempDir()
	file := filepath.Join(project, ".retinue", "agents", "mender.md")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	text := "---\nname: mender\ndescription: Mends.\nmodel: strong\ntools: [read_file, edit_file, shell]\nmax_iterations: 7\n---\nYou mend.\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := config.LoadSettings(config.Inputs{Managed: t.TempDir(), Home: t.TempDir(), Flags: []config.Flag{
		{Name: "--set", Key: "tiers.strong", Value: "anthropic/large"},
		{Name: "--set", Key: "permissions.ask", Value: "shell(rm *)"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(Options{Loaded: loaded, Folder: func(host.Workspace) string { return project }, Vault: secret.New(nil)})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Role(t.Context(), project, "mender")
	if err != nil {
		t.Fatal(err)
	}
	rules := []wire.ToolRule{{Tool: "edit_file", Asks: "always"}, {Tool: "read_file", Asks: "never"}, {Tool: "shell", Asks: "sometimes"}}
	want := []any{"strong", "anthropic/large", "project", ".retinue/agents/mender.md", "You mend.", 7, rules, ".retinue/agents/mender.md:6"}
	if diff := cmp.Diff(want, []any{
		got.Model, got.Resolved, got.Layer, got.Source, got.Prompt, got.MaxIterations, got.Asks, got.Origins["max_iterations"],
	}); diff != "" {
		t.Errorf("the role (+) against the wanted (-):\n%s", diff)
	}
	resolved, err := c.ResolveRole(host.Workspace{Tenant: "local", Name: project}, "mender")
	if err != nil || got.Hash != journal.HashOf(resolved.Snapshot) {
		t.Errorf("the role's hash is not that of what a run keeps: %v", err)
	}
	list, err := c.Roles(t.Context(), project)
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range list {
		if role.Name == "main" && (role.Layer != "built-in" || len(role.Delegates) == 0) {
			t.Errorf("the orchestrator is %+v", role)
		}
	}
	if len(got.DelegatedBy) == 0 {
		t.Error("nobody may delegate to the role")
	}
	if _, err := c.Role(t.Context(), project, "nobody"); chat.CodeOf(err) != chat.CodeNotFound {
		t.Errorf("a role that is not there: %v", err)
	}
}
