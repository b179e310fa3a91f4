package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/retinue-dev/retinue/internal/cli/exit"
	"github.com/retinue-dev/retinue/internal/cli/roles"
	"github.com/retinue-dev/retinue/internal/local"
	"github.com/retinue-dev/retinue/internal/secret"
	"github.com/retinue-dev/retinue/internal/toolbox"
)

// Program is what a build of retinue has beside the commands that all builds have.
type Program struct {
	// Engine starts a workflow engine in this process; nil means that there is none in it.
	Engine   local.EngineStarter
	Commands []*cobra.Command
}

// Root is the whole command tree of a program.
func Root(p Program) *cobra.Command {
	root := &cobra.Command{
		Use:           "retinue",
		Short:         "One chat, many agents, nothing lost",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(
		auditCommand(),
		configCommand(),
		doctorCommand(),
		inboxCommand(p.Engine),
		linkCommand(),
		mcpCommand(p.Engine),
		migrateCommand(),
		openAPICommand(),
		promoteCommand(),
		roles.Command(),
		runCommand(p.Engine),
		scriptedCommand(),
		serveCommand(),
		tenantCommand(),
		versionCommand(),
		workerCommand(),
	)
	if p.Engine != nil {
		root.AddCommand(upCommand(p.Engine))
	} else {
		root.AddCommand(elsewhere("up", "Run everything that agents need, in one process: in retinue-full only"))
	}
	root.AddCommand(p.Commands...)
	return root
}

// Run carries out one command line and returns its exit code. An interrupt or a request to
// terminate ends the command's context. The program is also the first process of every sandbox that
// it starts.
func Run(args []string, stdout, stderr io.Writer, p Program) int {
	if code, ours := toolbox.SandboxInit(args); ours {
		return code
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	root := Root(p)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	begun := watch(root)
	called, err := root.ExecuteContextC(ctx)
	said := ""
	if err != nil {
		said = secret.New(os.Environ()).Redact(err.Error())
	}
	code := exit.Failed
	if own, ok := errors.AsType[*exit.Error](err); ok {
		code = own.Code
	}
	switch {
	case err == nil:
		return exit.OK
	case said == "":
		return code
	case !*begun:
		fmt.Fprintf(stderr, "retinue: %s\nTry '%s --help'.\n", said, called.CommandPath())
		return exit.Usage
	default:
		fmt.Fprintln(stderr, "retinue:", said)
		return code
	}
}

// elsewhere is a command that only the program with the engine has.
func elsewhere(name, short string) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short, DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return exit.Misused("there is no engine in this program: use retinue-full %s ('make engine' builds it), or name a server in "+
				"engine.temporal_address and start 'retinue serve' and 'retinue worker'", name)
		},
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
