package sabotage

import (
	"os"
	"path/filepath"

	"github.com/retinue-dev/retinue/internal/tiers"
)

// gateCommand is what make is asked for when the gate runs a suite.
func gateCommand(root, suite string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(root, ".ci", "tiers"))
	if err != nil {
		return nil, err
	}
	table, err := tiers.Parse(string(text))
	if err != nil {
		return nil, err
	}
	return table.Command(tiers.Gate, suite)
}
