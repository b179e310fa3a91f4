package cli

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/retinue-dev/retinue/internal/toolbox"
)

// TestMain lets the scripts run retinue as a process of its own, which is also the first process of
// its sandboxes.
func TestMain(m *testing.M) {
	if code, ours := toolbox.SandboxInit(os.Args[1:]); ours {
		os.Exit(code)
	}
	testscript.Main(m, map[string]func(){
		"retinue":    func() { os.Exit(Run(os.Args[1:], os.Stdout, os.Stderr, Program{})) },
		"toolserver": toolServer,
	})
}

func TestCommands(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "port": port, "listening": listening, "ask": ask,
			"terminate": terminate,
		},
	})
}

// exits runs a command and wants one exit code: exits 2 retinue nonsense.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code command [arg...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if code != want {
		ts.Fatalf("exit code is %d, want %d", code, want)
	}
}
