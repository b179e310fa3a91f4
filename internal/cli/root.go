// Package cli is the command tree: it turns flags into settings and hands them to app. It decides
// nothing and wires nothing. A command that ends well exits with 0, one that fails with 1, and one
// that was called wrongly with 2.
package cli

import (
	"context"
	"fmt"
	"io"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"
)

// The exit codes of every command.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// Root is the whole command tree, with the commands that a program adds of its own.
func Root(extra ...*cobra.Command) *cobra.Command {
	root := &cobra.Command{
		Use:           "retinue",
		Short:         "One chat, many agents, nothing lost",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(
		configCommand(),
		doctorCommand(),
		rolesCommand(),
		scriptedCommand(),
		versionCommand(),
	)
	root.AddCommand(extra...)
	return root
}

// Run carries out one command line and returns its exit code. An interrupt or a request to
// terminate ends the command's context. Extra commands are those of a program that has more in it.
func Run(args []string, stdout, stderr io.Writer, extra ...*cobra.Command) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	root := Root(extra...)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	begun := watch(root)
	switch err := root.ExecuteContext(ctx); {
	case err == nil:
		return exitOK
	case *begun:
		fmt.Fprintln(stderr, "retinue:", err)
		return exitFailed
	default:
		fmt.Fprintf(stderr, "retinue: %v\nTry 'retinue --help'.\n", err)
		return exitUsage
	}
}

// watch notes when a command begins its own work: an error before that is the caller's.
func watch(cmd *cobra.Command) *bool {
	begun := new(bool)
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		if run := c.RunE; run != nil {
			c.RunE = func(c *cobra.Command, args []string) error {
				*begun = true
				return run(c, args)
			}
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(cmd)
	return begun
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "retinue", version())
			return err
		},
	}
}

// version is what the Go toolchain wrote into the binary.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	return info.Main.Version
}
