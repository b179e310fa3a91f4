package toolbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/secret"
	"github.com/retinue-dev/retinue/internal/tool"
)

func TestASandboxThatIsNotThereIsSaid(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, c := range []struct {
		sandbox config.Sandbox
		want    string
		alarm   bool
	}{
		{config.Sandbox{Tier: config.SandboxNone}, "NO SANDBOX", true},
		{config.Sandbox{Tier: config.SandboxGVisor, AllowRoot: true}, "the gvisor tier is not built", false},
		{config.Sandbox{Tier: config.SandboxBubblewrap, AllowRoot: true}, "install the package bubblewrap", false},
	} {
		notice, ok := SandboxNotice(config.Settings{Sandbox: c.sandbox})
		if !ok || !strings.Contains(notice.Text, c.want) || notice.Alarm != c.alarm || strings.Contains(notice.Text, "\n") {
			t.Errorf("%s: %v %+v", c.sandbox.Tier, ok, notice)
		}
		if c.alarm {
			continue
		}
		dir := t.TempDir()
		where := func(host.Workspace) string { return dir }
		w := newSets(where, NewWorktrees(where, t.TempDir()), NewSandboxes(c.sandbox), noServers(t), secret.New(nil))
		set, err := w.Tools(here, "")
		if err != nil {
			t.Fatal(err)
		}
		r, err := set.Run(t.Context(), tool.Call{ID: "1", Tool: "Bash", Args: []byte(`{"command":"touch x"}`)})
		if err != nil || r.End != tool.EndFailed || !strings.Contains(r.Text, c.want) {
			t.Errorf("%s: %v %s", c.sandbox.Tier, err, r.Text)
		}
		if _, err := os.Stat(filepath.Join(dir, "x")); err == nil {
			t.Errorf("%s: it ran all the same", c.sandbox.Tier)
		}
	}
}
