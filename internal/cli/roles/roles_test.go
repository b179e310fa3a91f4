package roles_test

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/retinue-dev/retinue/internal/cli"
)

// TestMain lets the scripts run retinue as a process of its own.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"retinue": func() { os.Exit(cli.Run(os.Args[1:], os.Stdout, os.Stderr, cli.Program{})) },
	})
}

func TestRoles(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:  "testdata",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// exits runs a command and wants one exit code: exits 2 retinue roles show.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code command [arg...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		ended, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		code = ended.ExitCode()
	}
	if code != want {
		ts.Fatalf("exit code is %d, want %d", code, want)
	}
}
