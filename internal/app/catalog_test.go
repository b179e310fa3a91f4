package app

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/secret"
	"github.com/retinue-dev/retinue/internal/tool"
)

// TestAVerdictIsTodays has whoever runs the machine deny what a run's role allowed when it began.
func TestAVerdictIsTodays(t *testing.T) {
	managed := t.TempDir()
	loaded, err := config.LoadSettings(config.Inputs{Managed: managed, Home: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	c, err := newCatalog(loaded, func(string) string { return "" }, nil, secret.New(nil))
	if err != nil {
		t.Fatal(err)
	}
	role := config.Role{Name: "bold", Rules: []config.Rule{{Tool: "shell", Verdict: agent.PolicyAllow}}}
	snapshot, err := role.Snapshot()
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
