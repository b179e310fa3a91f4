//go:build services && linux

package app

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/secret"
	"github.com/retinue-dev/retinue/internal/tool"
)

// TestCommandsRunInTheOneSandbox opens it as the settings say, with a way out that leads nowhere.
func TestCommandsRunInTheOneSandbox(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	e := newEnclosure(config.Sandbox{
		Tier: config.SandboxBubblewrap, AllowRoot: true, Hosts: []string{"open.example"}, Pass: []string{"RETINUE_GIVEN"},
	})
	t.Setenv("RETINUE_GIVEN", "given")
	t.Setenv("RETINUE_SECRET", "secret")
	dir := filepath.Join(temp, "work")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	where := func(string) string { return dir }
	set, err := newWorkshop(where, newGrove(where, t.TempDir()), e, noServers(t), secret.New(nil)).Tools("w", "")
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		`echo "$RETINUE_GIVEN$RETINUE_SECRET"`:                                "given\n[exit code 0]",
		"echo x > /etc/x || ls /home | wc -l":                                 "No such file or directory",
		"mkdir .vscode; touch .mcp.json/x; echo end":                          "Read-only file system",
		"curl -sS http://closed.example/":                                     "no rule allows GET to closed.example",
		"curl -sS --noproxy '*' --max-time 5 http://198.51.100.1/ || echo no": "no\n[exit code 0]",
	} {
		args, err := json.Marshal(map[string]string{"command": line})
		if err != nil {
			t.Fatal(err)
		}
		r, err := set.Run(t.Context(), tool.Call{ID: "1", Tool: "shell", Args: args})
		if err != nil || !strings.Contains(r.Text, want) {
			t.Errorf("%s: %v %s", line, err, r.Text)
		}
	}
	first, err := e.Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if again, err := e.Enter(t.Context()); err != nil || again != first {
		t.Errorf("a second box was opened: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(temp, "retinue-*")); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}
