package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/cli/output"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/local"
)

func TestPeopleAreToldWhenNothingConfinesCommands(t *testing.T) {
	for _, c := range []struct {
		tier   config.SandboxTier
		works  bool
		colour bool
		want   string
	}{
		{config.SandboxNone, true, true, "worker: \x1b[1;31mNO SANDBOX: "},
		{config.SandboxNone, true, false, "worker: NO SANDBOX: "},
		{config.SandboxNone, false, false, ""},
		{config.SandboxGVisor, true, false, "worker: agents cannot run commands: the gvisor tier"},
	} {
		var out bytes.Buffer
		s := &site{Site: &local.Site{Works: c.works}}
		s.loaded.Settings.Sandbox = config.Sandbox{Tier: c.tier, AllowRoot: true}
		s.warn(output.Screen{Out: &out, Colour: c.colour}, "worker: ")
		got := out.String()
		if !strings.HasPrefix(got, c.want) || (c.want == "") != (got == "") || strings.Count(got, "\n") > 1 {
			t.Errorf("%s: %q", c.tier, got)
		}
	}
}
