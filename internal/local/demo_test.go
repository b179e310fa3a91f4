package local

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/retinue-dev/retinue/internal/config"
)

// TestTheDemoStaysInItsFolder starts it beside settings of the person, after an earlier demo.
func TestTheDemoStaysInItsFolder(t *testing.T) {
	home := t.TempDir()
	t.Setenv("ANTHROPIC_API_KEY", "theirs")
	left := filepath.Join(home, "demo", DemoWorkspace, demoMade)
	if err := os.MkdirAll(filepath.Dir(left), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(left, []byte("package shop\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := StartDemo(config.Settings{DataDir: home}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	if _, err := os.Stat(left); err == nil {
		t.Error("what an earlier demo made is still there")
	}
	for name, want := range demoFiles {
		if got, err := os.ReadFile(filepath.Join(d.Workspace, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if dir := d.Loaded.Settings.DataDir; dir != DemoFolder(config.Settings{DataDir: home}) {
		t.Errorf("its data folder is %s", dir)
	}
	if key, ok := d.Lookup("ANTHROPIC_API_KEY"); ok {
		t.Errorf("it finds a key of the person: %s", key)
	}
	if key, err := d.Loaded.Settings.Providers["demo"].Key.Reveal(d.Lookup); err != nil || key == "" {
		t.Errorf("its own key: %q, %v", key, err)
	}
}
