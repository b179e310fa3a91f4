// Command standalone is retinue with the workflow engine inside: the commands of internal/cli, and
// those that need the engine's server. It is a module of its own, since nobody else should have to
// build that server.
package main

import (
	"io"
	"os"

	"github.com/retinue-dev/retinue/internal/cli"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	return cli.Run(args, stdout, stderr, engineCommand())
}
