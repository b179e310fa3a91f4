package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/doctor"
)

// doctorCommand checks whether everything that is configured can be used.
func doctorCommand() *cobra.Command {
	flags := &settingsFlags{}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check settings, roles, keys, servers and programs",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			in, err := app.Inputs(flags.project, flags.flags)
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
				if err := printJSON(cmd.OutOrStdout(), findings); err != nil {
					return err
				}
			} else {
				showFindings(newScreen(cmd.OutOrStdout()), findings)
			}
			if failed > 0 {
				return fmt.Errorf("%d of %d checks failed", failed, len(findings))
			}
			return nil
		},
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

func showFindings(s screen, findings []doctor.Finding) {
	width := 0
	for _, f := range findings {
		width = max(width, len(f.Check))
	}
	style := map[doctor.Level]string{doctor.OK: green, doctor.Warn: yellow, doctor.Fail: red}
	for _, f := range findings {
		s.line("%s  %s  %s", s.paint(style[f.Level], pad(string(f.Level), 4)), pad(f.Check, width), f.Detail)
		if f.Advice != "" {
			s.line("%s  %s", pad("", 6+width), s.paint(dim, "→ "+f.Advice))
		}
	}
}
