// Command standalone is retinue with the workflow engine inside: the commands of internal/cli, and
// those that need the engine's server. It is a module of its own, since nobody else should have to
// build that server.
package main

import (
	"context"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/cli"
	"github.com/retinue-dev/retinue/standalone/engine"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	return cli.Run(args, stdout, stderr, cli.Program{Engine: startEngine, Commands: []*cobra.Command{engineCommand()}})
}

// startEngine is how run and up have an engine in their own process.
func startEngine(ctx context.Context, file, listen string, log *slog.Logger) (app.EngineServer, error) {
	e, err := engine.Start(ctx, engine.Options{SQLite: file, Listen: listen, Log: log})
	if err != nil {
		return app.EngineServer{}, err
	}
	return app.EngineServer{Address: e.Address, Stop: e.Stop}, nil
}
