package app

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/retinue-dev/retinue/internal/config"
)

// TestWhereSettingsComeFrom looks for the project from a folder below it, from one that has none
// above it, and by its name.
func TestWhereSettingsComeFrom(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"shop/.retinue", "shop/cmd/till", "repository/.git", "repository/src", "plain/src"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", filepath.Join(root, "home"))
	t.Setenv("XDG_CONFIG_HOME", "/xdg/config")
	t.Setenv("XDG_DATA_HOME", "/xdg/data")
	flags := []config.Flag{{Name: "--set", Key: "a", Value: "b"}}
	for from, want := range map[string]string{
		"shop/cmd/till": "shop", "shop": "shop", "repository/src": "repository", "plain/src": "plain/src",
	} {
		t.Chdir(filepath.Join(root, from))
		got, err := Inputs("", flags)
		expected := config.Inputs{
			Managed: "/etc/retinue", Home: filepath.Join(root, "home"), ConfigHome: "/xdg/config", DataHome: "/xdg/data",
			Project: filepath.Join(root, want), Environ: os.Environ(), Flags: flags,
		}
		if diff := cmp.Diff(expected, got, cmpopts.IgnoreUnexported(config.Inputs{})); err != nil || diff != "" {
			t.Errorf("from %s: %v (-want +got):\n%s", from, err, diff)
		}
	}
	t.Chdir(root)
	if got, err := Inputs("shop/cmd", nil); err != nil || got.Project != filepath.Join(root, "shop/cmd") {
		t.Errorf("a project that is named: %q, %v", got.Project, err)
	}
	t.Setenv("HOME", "")
	if got, err := Inputs("shop", nil); err != nil || got.Home != "" {
		t.Errorf("without a home: %q, %v", got.Home, err)
	}
	at := Here("/shop")
	if _, err := time.Parse(time.DateOnly, at.Date); err != nil || at.Cwd != "/shop" || at.Platform == "" {
		t.Errorf("here is %+v, %v", at, err)
	}
}
