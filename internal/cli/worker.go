package cli

import (
	"fmt"
	"iter"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/cli/output"
	"github.com/retinue-dev/retinue/internal/cli/settings"
	"github.com/retinue-dev/retinue/internal/local"
)

// workerCommand runs agents of conversations that others began.
func workerCommand() *cobra.Command {
	flags := &siteFlags{}
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run a worker: model calls and tools",
		Long: "Run agents until stopped (Ctrl-C or SIGTERM). A worker needs the engine and the journal that the\n" +
			"settings name. Start as many as you like, on as many machines: they share the work.\n\n" +
			"Workers that have a workspace run the agents that work in it. A workspace belongs to one\n" +
			"tenant, whose id GET /v1/me shows: conversations of another cannot name it, and a worker refuses\n" +
			"their work. Give the same name to the same files on every machine.\n\n" +
			"With --build an agent's run stays with the workers of the build it began on, and new ones begin\n" +
			"on the build that 'retinue promote' named last: nothing begins before the first promote.\n\n" +
			"When stopped, it takes on nothing new, lets model calls and tools finish and\n" +
			"hands the agents over to other workers, or to the next one that starts.",
		Example: "  retinue worker --workspace t4kq2/shop=/srv/shop --workspace t4kq2/docs=/srv/docs\n" +
			"  retinue worker --workspace shop=/srv/shop   # where nobody logs in",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return work(cmd, flags) },
	}
	flags.Add(cmd)
	flags.addVerbose(cmd)
	flags.addBuild(cmd, "the build of this worker, such as a version or a commit; all workers have one or none")
	cmd.Flags().StringArrayVar(&flags.workspaces, "workspace", nil, "a workspace and where it is here: TENANT/NAME=DIR,\nor NAME=DIR where nobody logs in")
	return cmd
}

func work(cmd *cobra.Command, flags *siteFlags) error {
	ctx := cmd.Context()
	s, err := flags.open(ctx, cmd, want{work: local.WorkAlways, quiet: slog.LevelWarn, named: true})
	if err != nil {
		return err
	}
	names, err := folders(flags.workspaces)
	if err != nil {
		return err
	}
	serves := "agents without a workspace"
	if len(names) > 0 {
		serves += " and those in " + strings.Join(slices.Sorted(shown(names)), ", ")
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "worker: ready, process %d, engine at %s; serves %s\n", os.Getpid(), s.Address, serves)
	if len(names) > 0 {
		s.warn(output.New(out), "worker: ")
	}
	<-ctx.Done()
	fmt.Fprintln(out, "worker: draining: takes on nothing new, hands over what is under way")
	began := time.Now()
	if err := s.close(ctx); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "worker: drained in %s; nothing is lost, other workers go on\n", output.Seconds(time.Since(began)))
	return err
}

// shown are workspaces as people write them: without the tenant where there is one only.
func shown(folders map[app.Workspace]string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for at := range folders {
			name := at.Name
			if at.Tenant != app.LocalTenant {
				name = at.String()
			}
			if !yield(name) {
				return
			}
		}
	}
}

// migrateCommand prepares the journal's database.
func migrateCommand() *cobra.Command {
	flags := &settings.Flags{}
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the journal's database up to date",
		Long: "Make the tables of the journal, or bring them up to date, in the PostgreSQL database that\n" +
			"journal.dsn names. Run it before the first start and before every upgrade; twice does no harm.\n\n" +
			"It needs the right to make tables and, the first time, a role. Everything else connects as a\n" +
			"member of the role retinue_app, which has neither: name the owner's address for this command only.",
		Example: "  OWNER_DSN=postgres://owner@db/retinue retinue migrate --set 'journal.dsn={env:OWNER_DSN}'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded, err := flags.Load(cmd)
			if err != nil {
				return err
			}
			if err := app.Migrate(cmd.Context(), loaded.Settings, os.LookupEnv); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), "the journal is up to date")
			return err
		},
	}
	flags.Add(cmd)
	return cmd
}
