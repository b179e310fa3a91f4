package settings_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/cli/settings"
)

// carriedOut runs a command with the flags, and returns its error and what it wrote to the error
// stream.
func carriedOut(t *testing.T, do func(*cobra.Command, *settings.Flags) error, args ...string) (string, error) {
	t.Helper()
	home := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"} {
		t.Setenv(name, home)
	}
	flags := &settings.Flags{}
	cmd := &cobra.Command{
		Use: "look", SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return do(cmd, flags) },
	}
	flags.Add(cmd)
	var errs strings.Builder
	cmd.SetErr(&errs)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return errs.String(), err
}

// TestProjectAndSet reads the settings of the named project, with what the flags change.
func TestProjectAndSet(t *testing.T) {
	project := t.TempDir()
	if err := os.MkdirAll(filepath.Join(project, ".retinue"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := "tiers:\n  fast: openai/of-the-file\n  strong: openai/strong\n"
	if err := os.WriteFile(filepath.Join(project, ".retinue", "retinue.yaml"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	fast, strong := "", ""
	said, err := carriedOut(t, func(cmd *cobra.Command, f *settings.Flags) error {
		loaded, err := f.Load(cmd)
		fast, strong = loaded.Settings.Tiers.Fast, loaded.Settings.Tiers.Strong
		return err
	}, "--project", project, "--set", "tiers.fast=openai/of-the-flag")
	if err != nil || fast != "openai/of-the-flag" || strong != "openai/strong" || said != "" {
		t.Errorf("%v: fast is %s, strong %s; %q is said", err, fast, strong, said)
	}
	_, err = carriedOut(t, func(*cobra.Command, *settings.Flags) error {
		t.Error("the command began")
		return nil
	}, "--set", "tiers.fast")
	if err == nil || err.Error() != "--set tiers.fast: write key=value" {
		t.Errorf("got %v", err)
	}
}

// TestSecretsLeaveErrors takes the secrets of the environment out of the error that a command ends
// with, which keeps its code.
func TestSecretsLeaveErrors(t *testing.T) {
	t.Setenv("WORDS_TOKEN", "open-sesame-open")
	_, err := carriedOut(t, func(*cobra.Command, *settings.Flags) error {
		return &chat.Error{Code: chat.CodeDenied, Message: "the key open-sesame-open is refused"}
	})
	if err == nil || strings.Contains(err.Error(), "sesame") || !strings.Contains(err.Error(), "is refused") {
		t.Errorf("got %v", err)
	}
	if own, ok := errors.AsType[*chat.Error](err); !ok || own.Code != chat.CodeDenied {
		t.Errorf("the code is lost: %v", err)
	}
}
