package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/retinue-dev/retinue/internal/local"
)

func scriptedCommand() *cobra.Command {
	var settings local.Scripted
	var strict, check, faults bool
	cmd := &cobra.Command{
		Use:   "scripted",
		Short: "Run a scripted model server",
		Long: "Run a model server that plays a script over the APIs of Anthropic and OpenAI, for demos, tests\n" +
			"and experiments without a provider. It answers by rule and knows nothing.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings.Lax = !strict
			if faults {
				return settings.Faults(cmd.OutOrStdout())
			}
			if check {
				if err := settings.Check(); err != nil {
					return err
				}
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "the script is fine")
				return err
			}
			return settings.Run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&settings.Script, "script", "", "the script, a YAML file")
	flags.StringVar(&settings.Example, "example", "", "a script that comes with retinue, such as demo")
	flags.StringVar(&settings.Listen, "listen", "127.0.0.1:0", "the loopback address to listen on; port 0 picks a free one")
	flags.BoolVar(&strict, "strict", true, "refuse what a provider would refuse")
	flags.Float64Var(&settings.Rate, "rate", 0, "requests per second and key; 0 is no limit")
	flags.BoolVar(&check, "check", false, "read the script, report what is wrong with it, and end")
	flags.BoolVar(&faults, "faults", false, "list what a script can make go wrong, and end")
	cmd.MarkFlagsOneRequired("script", "example", "faults")
	cmd.MarkFlagsMutuallyExclusive("script", "example", "faults")
	return cmd
}
