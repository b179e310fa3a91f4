package cli

import (
	"net"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestSettingsCommands runs the scripts about settings; $SERVER is an open port for them.
func TestSettingsCommands(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // a defer would not wait for the scripts
	testscript.Run(t, testscript.Params{
		Dir:  "testdata/settings",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		Setup: func(e *testscript.Env) error {
			e.Setenv("SERVER", l.Addr().String())
			return nil
		},
	})
}
