package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/retinue-dev/retinue/internal/cli/output"
	"github.com/retinue-dev/retinue/internal/local"
)

// promoteCommand lets runs begin on another build of the workers.
func promoteCommand() *cobra.Command {
	flags := &siteFlags{}
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "promote",
		Short: "Let new runs begin on another build of the workers",
		Long: "Let new runs begin on the workers of a build, once they serve every workspace in use.\n" +
			"Runs that have begun stay where they are. It waits until there are none: the orchestrator of a\n" +
			"conversation goes over at once when it is idle, and else at the end of its turn. Then the workers\n" +
			"of the other builds may be stopped.",
		Example: "  retinue worker --build 1.4.2 --workspace shop=/srv/shop   # beside those of 1.4.1\n" +
			"  retinue promote --build 1.4.2",
		Args: cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			if flags.build == "" {
				return errors.New("--build is missing: name the build that runs are to begin on")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return promote(cmd, flags, wait) },
	}
	flags.Add(cmd)
	flags.addVerbose(cmd)
	flags.addBuild(cmd, "the build that runs are to begin on")
	cmd.Flags().DurationVar(&wait, "wait", 10*time.Minute, "how long to wait for it, and for the runs on other builds")
	return cmd
}

func promote(cmd *cobra.Command, flags *siteFlags, wait time.Duration) (err error) {
	ctx, stop := context.WithTimeout(cmd.Context(), wait)
	defer stop()
	s, err := flags.open(ctx, cmd, want{work: local.WorkNever, quiet: silent, named: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(cmd.Context())) }()
	out := cmd.OutOrStdout()
	err = s.Promote(ctx, flags.deployment, flags.build, func(behind int) {
		fmt.Fprintf(out, "promote: new runs begin on %s; %d %s on other builds\n", flags.build, behind, output.Plural(behind, "run"))
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, "promote: the workers of other builds may be stopped")
	return err
}
