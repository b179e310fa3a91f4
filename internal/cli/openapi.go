package cli

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/retinue-dev/retinue/internal/app"
)

// openAPICommand prints what the server can be asked for.
func openAPICommand() *cobra.Command {
	return &cobra.Command{
		Use:   "openapi",
		Short: "Print the description of the HTTP API (OpenAPI 3.1)",
		Long: "Print the document that a server of this program serves under /openapi.json, from which clients in\n" +
			"other languages can be generated.",
		Example: "  retinue openapi > openapi.json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			document, err := app.Document(version())
			if err != nil {
				return err
			}
			var out bytes.Buffer
			if err := json.Indent(&out, document, "", "  "); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), out.String())
			return err
		},
	}
}
