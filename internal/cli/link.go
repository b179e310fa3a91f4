package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/retinue-dev/retinue/internal/cli/remote"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/local"
)

// linkCommand prints an address that lets a browser in.
func linkCommand() *cobra.Command {
	flags := &siteFlags{}
	cmd := &cobra.Command{
		Use:   "link",
		Short: "Print a link that lets a browser in, once",
		Long: "Print a link to the server that runs on the data folder ('retinue up'). The first browser that opens\n" +
			"it is let in until the server ends; after that the link is worth nothing. A hosted server has no\n" +
			"links: people log in there.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded, err := flags.Load(cmd)
			if err != nil {
				return err
			}
			settings := loaded.Settings
			if flags.demo {
				settings.DataDir = local.DemoFolder(settings)
			}
			found := local.FindServer(cmd.Context(), settings, "")
			if found == nil {
				return noServer(cmd, settings, flags.demo)
			}
			link, err := found.Link(cmd.Context())
			if err != nil {
				return (&remote.Server{Client: found, Address: local.SocketPath(settings)}).Explain(err)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), link)
			return err
		},
	}
	flags.Add(cmd)
	cmd.Flags().BoolVar(&flags.demo, "demo", false, "the server of 'retinue up --demo'")
	return cmd
}

// noServer says what to do where no server answers: the demo has a folder of its own.
func noServer(cmd *cobra.Command, settings config.Settings, demo bool) error {
	if folder := local.DemoFolder(settings); !demo && local.FindServer(cmd.Context(), config.Settings{DataDir: folder}, "") != nil {
		return errors.New("only the demo is up: run 'retinue link --demo'")
	}
	return errors.New("no server runs on " + settings.DataDir + ": start 'retinue up'")
}
