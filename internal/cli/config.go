package cli

import (
	"github.com/spf13/cobra"

	"github.com/retinue-dev/retinue/internal/cli/output"
	"github.com/retinue-dev/retinue/internal/cli/settings"
	"github.com/retinue-dev/retinue/internal/config"
)

// configCommand shows the settings in force.
func configCommand() *cobra.Command {
	flags := &settings.Flags{}
	show := configShow(flags)
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the settings in force and where each comes from",
		Args:  cobra.NoArgs,
		RunE:  show.RunE,
	}
	flags.Add(cmd)
	cmd.Flags().AddFlagSet(show.Flags())
	cmd.AddCommand(show, configSchema(), configPath(flags))
	return cmd
}

func configShow(flags *settings.Flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show", Short: "Show the settings in force and where each comes from", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded, err := flags.Load(cmd)
			if err != nil {
				return err
			}
			if asJSON {
				return output.JSON(cmd.OutOrStdout(), struct {
					Settings []config.Entry `json:"settings"`
					Trusted  bool           `json:"trusted"`
				}{loaded.Entries(), loaded.Trusted})
			}
			var list []output.Row
			for _, e := range loaded.Entries() {
				list = append(list, output.Row{Label: e.Key, Value: e.Value, Remark: e.Origin.String()})
			}
			output.New(cmd.OutOrStdout()).Rows(list)
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

func configPath(flags *settings.Flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "path", Short: "Show where settings are looked for, nearest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded, err := flags.Load(cmd)
			if err != nil {
				return err
			}
			if asJSON {
				return output.JSON(cmd.OutOrStdout(), loaded.Files())
			}
			var list []output.Row
			for _, f := range loaded.Files() {
				remark := "not there"
				if f.Found {
					remark = "read"
				}
				list = append(list, output.Row{Label: f.Layer, Value: f.Path, Remark: remark})
			}
			output.New(cmd.OutOrStdout()).Rows(list)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}
