// Command retinue is one chat with many agents. The commands themselves are in internal/cli.
package main

import (
	"os"

	"github.com/retinue-dev/retinue/internal/cli"
)

func main() { os.Exit(cli.Run(os.Args[1:], os.Stdout, os.Stderr, cli.Program{})) }
