//go:build services && linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestAUserWithoutAName runs everything in one process as a user that the machine has no name for,
// as containers do.
func TestAUserWithoutAName(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	const nobody = 54321
	dir := t.TempDir()
	binary, err := os.ReadFile(program(t, "retinue-full", "engine"))
	if err != nil {
		t.Fatal(err)
	}
	for path := dir; path != os.TempDir(); path = filepath.Dir(path) {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	home, copied := filepath.Join(dir, "home"), filepath.Join(dir, "retinue")
	if err := os.WriteFile(copied, binary, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(home, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), copied, "run", "--demo", "hello")
	cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "scripted model") {
		t.Errorf("%v\n%s", err, out)
	}
}
