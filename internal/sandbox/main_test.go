//go:build services && linux

package sandbox

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// testUser is who these tests run as when root starts them: started by root, a sandbox reads root's
// files.
const testUser = "retinue-test"

// TestMain is also the program that runs inside: a sandbox starts its own executable, here the
// test.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case InitCommand:
			os.Exit(Init(os.Args[2:]))
		case "attempt":
			os.Exit(attempt(os.Args[2:]))
		case "holder":
			fmt.Fprintln(os.Stderr, holder(os.Args[2:]))
			os.Exit(1)
		}
	}
	if os.Geteuid() == 0 {
		os.Exit(asUser())
	}
	os.Exit(m.Run())
}

// asUser runs the same tests again as an unprivileged user, from a copy that this user can reach.
func asUser() int {
	code, err := runAsUser()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func runAsUser() (int, error) {
	account, err := user.Lookup(testUser)
	if err != nil {
		return 1, fmt.Errorf("%w: make the user with: useradd --system --shell /usr/sbin/nologin %s", err, testUser)
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return 1, err
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	if err != nil {
		return 1, err
	}
	dir, err := os.MkdirTemp("/var/tmp", "retinue-tests-")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program := filepath.Join(dir, "tests")
	if err := copyProgram(program); err != nil {
		return 1, err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return 1, err
	}
	// The go command's own log of opened files lies where this user cannot write.
	args := slices.DeleteFunc(slices.Clone(os.Args[1:]), func(arg string) bool {
		return strings.HasPrefix(arg, "-test.testlogfile=")
	})
	cmd := exec.Command(program, args...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "TMPDIR=/tmp"}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	if err := cmd.Run(); cmd.ProcessState == nil {
		return 1, err
	}
	return cmd.ProcessState.ExitCode(), nil
}

func copyProgram(to string) error {
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer func() { _ = self.Close() }()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, self)
	if closed := target.Close(); err == nil {
		err = closed
	}
	return err
}

func openBox(t *testing.T, tier Tier) *Box {
	t.Helper()
	b, err := Open(t.Context(), Options{Tier: tier})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// tempDir is outside of /tmp, of which every sandbox has its own.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "retinue-test-") //nolint:usetesting // t.TempDir lies in /tmp
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func shell(script string) []string { return []string{"/bin/sh", "-c", script} }
