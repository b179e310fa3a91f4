package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/cli/output"
	"github.com/retinue-dev/retinue/internal/cli/settings"
	"github.com/retinue-dev/retinue/internal/doctor"
)

// doctorCommand checks whether everything that is configured can be used.
func doctorCommand() *cobra.Command {
	flags := &settings.Flags{}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check settings, roles, keys, servers and programs",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			in, err := app.Inputs(flags.Project, flags.Changes)
			if err != nil {
				return err
			}
			findings := app.Doctor(cmd.Context(), in)
			failed := 0
			for _, f := range findings {
				if f.Level == doctor.Fail {
					failed++
				}
			}
			if asJSON {
				if err := output.JSON(cmd.OutOrStdout(), findings); err != nil {
					return err
				}
			} else {
				showFindings(output.New(cmd.OutOrStdout()), findings)
			}
			if failed > 0 {
				return fmt.Errorf("%d of %d checks failed", failed, len(findings))
			}
			return nil
		},
	}
	flags.Add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

func showFindings(s output.Screen, findings []doctor.Finding) {
	width := 0
	for _, f := range findings {
		width = max(width, len(f.Check))
	}
	style := map[doctor.Level]string{doctor.OK: output.Green, doctor.Warn: output.Yellow, doctor.Fail: output.Red}
	for _, f := range findings {
		s.Line("%s  %s  %s", s.Paint(style[f.Level], output.Pad(string(f.Level), 4)), output.Pad(f.Check, width), f.Detail)
		if f.Advice != "" {
			s.Line("%s  %s", output.Pad("", 6+width), s.Paint(output.Dim, "→ "+f.Advice))
		}
	}
}
