package cli

import (
	"github.com/spf13/cobra"

	"github.com/retinue-dev/retinue/internal/config"
)

// configCommand shows the settings in force.
func configCommand() *cobra.Command {
	flags := &settingsFlags{}
	show := configShow(flags)
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the settings in force and where each comes from",
		Args:  cobra.NoArgs,
		RunE:  show.RunE,
	}
	flags.add(cmd)
	cmd.Flags().AddFlagSet(show.Flags())
	cmd.AddCommand(show, configSchema(), configPath(flags))
	return cmd
}

func configShow(flags *settingsFlags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show", Short: "Show the settings in force and where each comes from", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded, err := flags.load(cmd)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), struct {
					Settings []config.Entry `json:"settings"`
					Trusted  bool           `json:"trusted"`
				}{loaded.Entries(), loaded.Trusted})
			}
			var list []row
			for _, e := range loaded.Entries() {
				list = append(list, row{e.Key, e.Value, e.Origin.String()})
			}
			newScreen(cmd.OutOrStdout()).rows(list)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

func configSchema() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of the settings", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			schema, err := config.Schema()
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(schema)
			return err
		},
	}
}

func configPath(flags *settingsFlags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "path", Short: "Show where settings are looked for, nearest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded, err := flags.load(cmd)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), loaded.Files())
			}
			var list []row
			for _, f := range loaded.Files() {
				remark := "not there"
				if f.Found {
					remark = "read"
				}
				list = append(list, row{f.Layer, f.Path, remark})
			}
			newScreen(cmd.OutOrStdout()).rows(list)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}
