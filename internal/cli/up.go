package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/cli/exit"
	"github.com/retinue-dev/retinue/internal/cli/output"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/local"
)

// upCommand runs everything in one process.
func upCommand(start local.EngineStarter) *cobra.Command {
	flags := &siteFlags{}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run everything that agents need, in this one process",
		Long: "Run the workflow engine, the journal, a worker and the HTTP API in this process, until stopped.\n" +
			"Nothing else needs to be installed. 'retinue run' finds it by the data folder.\n\n" +
			"Everything is kept in the data folder (data_dir, see 'retinue config'). Whatever was under way\n" +
			"when it ended, or was killed, goes on when it is started again.",
		Example: "  retinue up --demo\n  retinue up --workspace ~/code/shop",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return up(cmd, flags, start) },
	}
	flags.AddSet(cmd)
	flags.addDemo(cmd)
	flags.addVerbose(cmd)
	cmd.Flags().StringArrayVar(&flags.workspaces, "workspace", nil,
		"the folder that agents work in (default: nearest folder with .retinue or .git)")
	return cmd
}

func up(cmd *cobra.Command, flags *siteFlags, start local.EngineStarter) (err error) {
	ctx := cmd.Context()
	began := time.Now()
	if len(flags.workspaces) > 1 {
		return exit.Misused("up works in one workspace: start 'retinue worker' for others")
	}
	s, err := flags.open(ctx, cmd, want{
		start: start, work: local.WorkAlways, alone: true, quiet: slog.LevelWarn, file: upLog,
	})
	if err != nil {
		return err
	}
	front, err := s.Serve(ctx, app.FrontOptions{Workspace: s.workspace, Version: version(), Moves: true})
	if err != nil {
		return errors.Join(err, s.close(ctx))
	}
	screen := output.New(cmd.OutOrStdout())
	if s.demo != nil {
		screen.Line("%s", screen.Paint(output.Yellow, local.DemoLabel))
	}
	s.warn(screen, "")
	screen.Line("%s", screen.Paint(output.Bold, "retinue is up")+" after "+output.Seconds(time.Since(began)))
	engine := s.Address + ", named in the settings"
	if s.Engine != nil {
		engine = fmt.Sprintf("%s, in this process (%d)", s.Address, os.Getpid())
	}
	screen.Rows([]output.Row{
		{Label: "server", Value: front.Link()},
		{Label: "engine", Value: engine},
		{Label: "journal", Value: journalOf(s.loaded.Settings)},
		{Label: "data", Value: s.loaded.Settings.DataDir},
		{Label: "workspace", Value: s.workspace},
		{Label: "sandbox", Value: sandboxOf(s.loaded.Settings.Sandbox)},
		{Label: "models", Value: modelsOf(s.loaded.Settings)},
		{Label: "log", Value: flags.logPlace(s.loaded.Settings.DataDir)},
	})
	screen.Line("try  %s", tryThis(s.demo != nil))
	screen.Line("The link lets one browser in; '%s' prints another.", linkThis(s.demo != nil))
	screen.Line("Ctrl-C ends it; what is under way goes on at the next start.")
	select {
	case <-ctx.Done():
	case <-front.Failed:
	}
	began = time.Now()
	screen.Line("stopping: agents are handed over, then the engine ends")
	if err := errors.Join(front.Close(), s.close(context.WithoutCancel(ctx))); err != nil {
		return err
	}
	screen.Line("stopped in %s", output.Seconds(time.Since(began)))
	return nil
}

// linkThis is the command that makes another link.
func linkThis(demo bool) string {
	if demo {
		return "retinue link --demo"
	}
	return "retinue link"
}

// upLog is the file in the data folder that up logs to.
const upLog = "up.log"

func (f *siteFlags) logPlace(dir string) string {
	if f.verbose {
		return "the error stream"
	}
	return filepath.Join(dir, upLog)
}

func journalOf(s config.Settings) string {
	if s.Journal.DSN.IsZero() {
		return "SQLite in the data folder"
	}
	return "PostgreSQL, as the settings say"
}

func modelsOf(s config.Settings) string {
	if s.Tiers == (config.Tiers{}) {
		return "none: set tiers.fast, tiers.balanced and tiers.strong, or start with --demo"
	}
	return fmt.Sprintf("fast %s, balanced %s, strong %s", output.OrNone(s.Tiers.Fast), output.OrNone(s.Tiers.Balanced), output.OrNone(s.Tiers.Strong))
}

func sandboxOf(s config.Sandbox) string {
	if len(s.Hosts) == 0 || s.Tier == config.SandboxNone {
		return string(s.Tier)
	}
	return string(s.Tier) + ", with a way out to " + strings.Join(s.Hosts, ", ")
}

func tryThis(demo bool) string {
	if demo {
		return `retinue run --demo "Compare apples, pears and plums"`
	}
	return `retinue run "What is in this folder?"`
}
