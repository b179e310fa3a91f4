package settings

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/cli/output"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/config/document"
	"github.com/retinue-dev/retinue/internal/secret"
)

// Flags are the flags of every command that reads settings.
type Flags struct {
	// Project is the root of the project, empty for the nearest.
	Project string
	// Changes are what --set says, once the command begins.
	Changes []config.Flag
	// Vault takes secrets out of what a command prints and does. It is made before the command begins,
	// and the secrets of the settings are added when they are read.
	Vault *secret.Vault
	set   []string
}

// Add gives a command and those below it the flags. A flag that makes no sense is the caller's
// mistake, so it is found before the command begins.
func (f *Flags) Add(cmd *cobra.Command) {
	cmd.PersistentFlags().StringVar(&f.Project, "project", "", "root of the project (default: nearest folder with .retinue or .git)")
	f.AddSet(cmd)
}

// AddSet gives a command the flag that changes settings.
func (f *Flags) AddSet(cmd *cobra.Command) {
	cmd.PersistentFlags().StringArrayVar(&f.set, "set", nil, "change one setting: --set tiers.fast=local/model")
	cmd.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		f.guard(cmd)
		for _, entry := range f.set {
			key, value, ok := strings.Cut(entry, "=")
			if !ok {
				return fmt.Errorf("--set %s: write key=value", entry)
			}
			f.Changes = append(f.Changes, config.Flag{Name: "--set", Key: key, Value: value})
		}
		return nil
	}
}

// Load reads the settings, and writes what is odd about them to the error stream.
func (f *Flags) Load(cmd *cobra.Command) (config.Loaded, error) {
	in, err := app.Inputs(f.Project, f.Changes)
	if err != nil {
		return config.Loaded{}, err
	}
	loaded, err := config.LoadSettings(in)
	if err != nil {
		return config.Loaded{}, fmt.Errorf("read settings:\n%w", err)
	}
	app.Hide(f.Vault, loaded.Settings, os.LookupEnv)
	Warn(cmd, loaded.Warnings)
	return loaded, nil
}

// guard takes secrets out of the error that a command ends with.
func (f *Flags) guard(cmd *cobra.Command) {
	f.Vault = secret.New(os.Environ())
	run := cmd.RunE
	if run == nil {
		return
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		if err == nil {
			return nil
		}
		return &redacted{error: err, text: f.Vault.Redact(err.Error())}
	}
}

// redacted is an error in other words.
type redacted struct {
	error
	text string
}

// Error implements error.
func (e *redacted) Error() string { return e.text }

// Unwrap gives the error.
func (e *redacted) Unwrap() error { return e.error }

// Warn writes warnings to the error stream, where they do not disturb what a program reads.
func Warn(cmd *cobra.Command, warnings []document.Warning) {
	s := output.New(cmd.ErrOrStderr())
	for _, w := range warnings {
		s.Line("%s %s", s.Paint(output.Yellow, "warning:"), w.Error())
	}
}
