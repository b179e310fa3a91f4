//go:build services

package mcp

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/retinue-dev/retinue/internal/sandbox"
)

const (
	testTier = sandbox.TierBubblewrap
	// testUser is who these tests run as when root starts them: started by root, a sandbox reads
	// root's files.
	testUser = "retinue-test"
	// serversDir is told where the servers from the registry are.
	serversDir = "TEST_RETINUE_MCP_SERVERS"
)

// TestMain is also the servers that the tests talk to, and the first process of their sandbox.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sandbox.InitCommand {
		os.Exit(sandbox.Init(os.Args[2:]))
	}
	actInstead()
	if os.Geteuid() != 0 {
		os.Exit(m.Run())
	}
	code, err := asUser()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// ourselves is our own program, as a server in a sandbox finds it.
func ourselves() string { return "/run/retinue/init" }

// asUser runs the same tests again as an unprivileged user, from a copy that this user can reach.
func asUser() (int, error) {
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
	if err := os.Chmod(dir, 0o755); err != nil {
		return 1, err
	}
	program := filepath.Join(dir, "tests")
	data, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return 1, err
	}
	if err := os.WriteFile(program, data, 0o755); err != nil {
		return 1, err
	}
	args := slices.DeleteFunc(slices.Clone(os.Args[1:]), func(arg string) bool {
		return strings.HasPrefix(arg, "-test.testlogfile=")
	})
	cmd := exec.Command(program, args...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "TMPDIR=/tmp", serversDir + "=" + os.Getenv(serversDir)}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	if err := cmd.Run(); cmd.ProcessState == nil {
		return 1, err
	}
	return cmd.ProcessState.ExitCode(), nil
}
