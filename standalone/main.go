// Command standalone is retinue with the workflow engine inside: the commands of internal/cli, and
// those that need the engine's server. It is a module of its own, since nobody else should have to
// build that server.
package main

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"os"
	"os/user"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/retinue-dev/retinue/internal/cli"
	"github.com/retinue-dev/retinue/internal/local"
	"github.com/retinue-dev/retinue/internal/mtls"
	"github.com/retinue-dev/retinue/standalone/engine"
)

func main() {
	nameUser()
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// nameUser gives the process a name for its user where the machine has none, as in a container that
// runs under a number. The engine's server does not start without one. The program starts itself
// again, because its packages read the name at their start.
func nameUser() {
	if os.Getenv("USER") != "" {
		return
	}
	if _, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil {
		return
	}
	if path, err := os.Executable(); err == nil {
		_ = syscall.Exec(path, os.Args, append(os.Environ(), "USER=user")) // if it fails, the engine reports the fault
	}
}

func run(args []string, stdout, stderr io.Writer) int {
	return cli.Run(args, stdout, stderr, cli.Program{Engine: startEngine, Commands: []*cobra.Command{engineCommand()}})
}

// startEngine is how run and up have an engine in their own process.
func startEngine(ctx context.Context, o local.EngineOptions) (local.EngineServer, error) {
	e, stop, err := start(ctx, engine.Options{SQLite: o.File, Listen: o.Listen, Log: o.Log}, o.Credentials)
	if err != nil {
		return local.EngineServer{}, err
	}
	return local.EngineServer{Address: e.Address, Stop: stop}, nil
}

// start starts an engine that accepts every program that can read the folder of its certificates,
// and replaces those as they grow old.
func start(ctx context.Context, o engine.Options, credentials string) (e *engine.Engine, stop func() error, err error) {
	if err := mtls.Ensure(credentials, time.Now()); err != nil {
		return nil, nil, err
	}
	if o.Server, err = mtls.Server(credentials).ServerConfig(); err != nil {
		return nil, nil, err
	}
	if o.Client, err = mtls.Client(credentials).ClientConfig("127.0.0.1"); err != nil {
		return nil, nil, err
	}
	if e, err = engine.Start(ctx, o); err != nil {
		return nil, nil, err
	}
	keeping, end := context.WithCancel(context.WithoutCancel(ctx))
	go mtls.Keep(keeping, credentials, cmp.Or(o.Log, slog.Default()))
	return e, func() error {
		end()
		return e.Stop()
	}, nil
}
