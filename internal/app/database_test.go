package app

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/audit"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/config"
)

// TestWhatNeedsADatabaseSaysSo migrates, and opens the people, without a database: with none in the
// settings, with one whose name is missing, and with one that is not there.
func TestWhatNeedsADatabaseSaysSo(t *testing.T) {
	migrate := func(ctx context.Context, s config.Settings, lookup func(string) (string, bool)) error {
		return Migrate(ctx, s, lookup)
	}
	open := func(ctx context.Context, s config.Settings, lookup func(string) (string, bool)) error {
		_, err := OpenRegistry(ctx, s, lookup)
		return err
	}
	const kanarienvogel = "postgres://me:kanarienvogel@127.0.0.1:1/db?sslmode=disable"
	lookup := func(name string) (string, bool) { return kanarienvogel, name == "DSN" }
	for name, do := range map[string]func(context.Context, config.Settings, func(string) (string, bool)) error{"migrate": migrate, "open": open} {
		for dsn, want := range map[string]string{"": "journal.dsn", "{env:NOBODY}": "journal.dsn: the variable NOBODY", "{env:DSN}": "127.0.0.1:1"} {
			in := config.Inputs{Home: t.TempDir(), DataHome: t.TempDir()}
			if dsn != "" {
				in.Flags = []config.Flag{{Name: "--set", Key: "journal.dsn", Value: dsn}}
			}
			loaded, err := config.LoadSettings(in)
			if err != nil {
				t.Fatal(err)
			}
			err = do(t.Context(), loaded.Settings, lookup)
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "kanarienvogel") {
				t.Errorf("%s with %q: %v", name, dsn, err)
			}
			if (chat.CodeOf(err) == chat.CodeInvalid) != (dsn == "") {
				t.Errorf("%s with %q has the code %s", name, dsn, chat.CodeOf(err))
			}
		}
	}
}

// TestTheOperatorHasAName asks who runs a command on the installation's own machines.
func TestTheOperatorHasAName(t *testing.T) {
	t.Setenv("USER", "ann")
	if diff := cmp.Diff(audit.Actor{User: "ann", Source: "cli"}, operator()); diff != "" {
		t.Error(diff)
	}
	t.Setenv("USER", "")
	if diff := cmp.Diff(audit.Actor{User: "you", Source: "cli"}, operator()); diff != "" {
		t.Error(diff)
	}
}
