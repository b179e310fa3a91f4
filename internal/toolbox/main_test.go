package toolbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/host"
)

// TestMain is also the first process of a sandbox.
func TestMain(m *testing.M) {
	if code, ours := SandboxInit(os.Args[1:]); ours {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// here is the workspace of tests that have one.
var here = host.Workspace{Tenant: "local", Name: "w"}

// settings reads settings of a person and leaves out everything else of this machine.
func settings(t *testing.T, text string) config.Loaded {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "xdg", "retinue")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "retinue.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := config.LoadSettings(config.Inputs{
		Home: filepath.Join(root, "home"), ConfigHome: filepath.Join(root, "xdg"), Project: filepath.Join(root, "project"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}
