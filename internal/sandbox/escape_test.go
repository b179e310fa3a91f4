//go:build services && linux

package sandbox

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"golang.org/x/sys/unix"

	"github.com/retinue-dev/retinue/internal/measure"
)

// world is the machine around a sandbox, with things worth getting at.
type world struct {
	dir     string // holds the two below
	outside string
	work    string
	token   string
	env     []string
	victim  *exec.Cmd
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{dir: tempDir(t), token: fmt.Sprintf("token-%d", os.Getpid())}
	w.outside, w.work = filepath.Join(w.dir, "outside"), filepath.Join(w.dir, "work")
	account, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	node, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("RETINUE_SECRET", w.token)
	name := "retinue-" + strconv.Itoa(os.Getpid())
	for _, file := range []string{"/tmp/" + name, "/dev/shm/" + name} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Remove(file) })
	}
	key := sharedMemory(t)
	w.victim = exec.Command("/bin/sh", "-c", "while :; do sleep 1000; done #retinue-victim")
	w.victim.Env = []string{"SECRET=" + w.token, "PATH=/usr/bin:/bin"}
	w.victim.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := w.victim.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-w.victim.Process.Pid, syscall.SIGKILL)
		_ = w.victim.Wait()
	})
	w.env = []string{
		"O=" + w.outside, "W=" + w.work, "TOKEN=" + w.token, "VICTIM=" + strconv.Itoa(w.victim.Process.Pid),
		"ACCOUNT=" + account.Username, "NODE=" + node, "MARK=/tmp/" + name, "SHM=" + name, "ABSTRACT=" + name,
		"SHMKEY=" + strconv.Itoa(key),
		"PORT=" + port(t, "tcp", "127.0.0.1:0"), "UDP=" + datagrams(t),
	}
	answer(t, "unix", "@"+name)
	answer(t, "unix", filepath.Join(w.dir, "answers"))
	w.reset(t)
	return w
}

// sharedMemory makes some of the machine's, under a key that was nobody's: a database takes its own
// from the numbers of files, which are as large as those of processes.
func sharedMemory(t *testing.T) (key int) {
	t.Helper()
	for {
		key = 1 + rand.IntN(math.MaxInt32)
		id, err := unix.SysvShmGet(key, 4096, unix.IPC_CREAT|unix.IPC_EXCL|0o600)
		if errors.Is(err, unix.EEXIST) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
		return key
	}
}

// reset puts both folders back to what they were.
func (w *world) reset(t *testing.T) {
	t.Helper()
	for _, dir := range []string{w.outside, w.work} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{
		"outside/secret": w.token, "outside/victim": "whole",
		"work/.git/HEAD": "ref: refs/heads/main\n", "work/.git/config": "[core]\n\trepositoryformatversion = 0\n",
		"work/.git/hooks/sample": "", "work/.git/objects/x": "", "work/.git/refs/x": "",
		"work/.retinue/role.md": "role", "work/code.txt": "code",
	} {
		path := filepath.Join(w.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(w.outside, filepath.Join(w.work, "outside")); err != nil {
		t.Fatal(err)
	}
	// A socket keeps answering under every name it has.
	for _, dir := range []string{w.outside, w.work} {
		if err := os.Link(filepath.Join(w.dir, "answers"), filepath.Join(dir, "sock")); err != nil {
			t.Fatal(err)
		}
	}
}

// state is everything outside and all that is protected inside.
func (w *world) state(t *testing.T) string {
	t.Helper()
	var lines []string
	look := func(root string) {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return nil //nolint:nilerr // missing is a state too
			}
			info, err := entry.Info()
			if err != nil {
				return err
			}
			line := fmt.Sprint(path, info.Mode())
			if info.Mode().IsRegular() {
				content, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				line += fmt.Sprintf("%x", sha256.Sum256(content))
			}
			lines = append(lines, line)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	look(w.outside)
	for _, g := range guardedPaths {
		look(filepath.Join(w.work, g.path))
	}
	lines = append(lines, fmt.Sprint(w.victim.Process.Signal(syscall.Signal(0))))
	return strings.Join(lines, "\n")
}

// try makes one attempt and says whether it got out.
func (w *world) try(t *testing.T, b *Box, e escape) (bool, string) {
	t.Helper()
	w.reset(t)
	before := w.state(t)
	self := initPath
	if b.options.Tier == TierNone {
		executable, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		self = executable
	}
	outcome, err := b.Run(t.Context(), Command{
		Argv: shell(e.script), Workspace: w.work, SetAside: true, Env: append([]string{"SELF=" + self}, w.env...),
		Limits: Limits{Wall: time.Minute},
	})
	if err != nil {
		t.Fatalf("%s: %v", e.name, err)
	}
	after := w.state(t)
	said := fmt.Sprintf("%s, code %d, signal %v\n%s%s", outcome.Ending, outcome.Code, outcome.Signal, outcome.Stdout, outcome.Stderr)
	if before != after {
		said += "\nthe world changed:\n" + after
	}
	return outcome.Ending == EndExited && outcome.Code == 0 || before != after, said
}

func TestNothingGetsOut(t *testing.T) {
	w, b := newWorld(t), openBox(t, TierBubblewrap)
	out := 0
	for _, e := range escapes {
		if got, said := w.try(t, b, e); got {
			t.Errorf("%s: got out: %s\n%s", e.name, e.script, said)
			out++
		}
	}
	measure.Figure(t, "escape: %d attempts, %d got out", len(escapes), out)
	if left, err := filepath.Glob(filepath.Join(w.work, ".*")); err != nil || len(left) != 2 {
		t.Errorf("the workspace has %v, want only what was there before, %v", left, err)
	}
}

func TestEachAttemptWorksWithoutASandbox(t *testing.T) {
	w, b := newWorld(t), openBox(t, TierNone)
	controls := 0
	for _, e := range escapes {
		if !e.control {
			continue
		}
		controls++
		if got, said := w.try(t, b, e); !got {
			t.Errorf("%s: fails without a sandbox too, so it shows nothing: %s\n%s", e.name, e.script, said)
		}
	}
	t.Logf("%d of %d attempts", controls, len(escapes))
}

// weakenings break the sandbox, one way at a time. Where two things protect, both are taken away.
// Each names an attempt that must get out then.
var weakenings = []struct {
	name   string
	weaken func(*plan)
	caught string
}{
	{"the machine's network", func(p *plan) { p.isolation = without(p.isolation, "--unshare-net") }, "server of the machine"},
	{"the machine's processes", func(p *plan) {
		p.isolation = without(without(p.isolation, "--unshare-pid"), "--as-pid-1")
	}, "a process of the machine"},
	{"the machine's shared memory", func(p *plan) {
		p.isolation = without(p.isolation, "--unshare-ipc")
		allow(p, "shmget")
	}, "shared memory by key"},
	{"the machine's name", func(p *plan) {
		p.isolation = without(without(p.isolation, "--unshare-uts"), "--hostname", "sandbox")
	}, "name of the machine"},
	{"namespaces", func(p *plan) {
		p.isolation = without(p.isolation, "--disable-userns")
		allow(p, "unshare")
	}, "namespace"},
	{"namespaces by clone", func(p *plan) {
		p.isolation = without(p.isolation, "--disable-userns")
		p.filter.Syscalls[2].NamesWithCondtions = nil
	}, "namespace by clone"},
	{"root", func(p *plan) { p.isolation = swap(p.isolation, "1000", "0") }, "root"},
	{"capabilities", func(p *plan) {
		p.isolation = without(without(p.isolation, "--cap-drop", "ALL"), "--disable-userns")
		p.isolation = append(p.isolation, "--cap-add", "ALL")
	}, "capabilities"},
	{"unix sockets", func(p *plan) { p.spec.Families = []uint64{unix.AF_UNIX} }, "unix socket in the workspace"},
	{"sockets of other families", func(p *plan) {
		p.spec.Families = []uint64{unix.AF_NETLINK}
		p.filter.Syscalls = p.filter.Syscalls[:len(p.filter.Syscalls)-1]
	}, "netlink"},
	{"tracing", func(p *plan) { allow(p, "ptrace") }, "trace"},
	{"another's memory", func(p *plan) { allow(p, "process_vm_readv") }, "read another's memory"},
	{"keys", func(p *plan) { allow(p, "add_key") }, "keyrings"},
	{"rings", func(p *plan) { allow(p, "io_uring_setup") }, "io_uring"},
	{"page faults", func(p *plan) { allow(p, "userfaultfd") }, "page faults"},
	{"clone3", func(p *plan) { p.filter.Syscalls[1].Names = nil }, "clone3"},
	{"files that lend rights", func(p *plan) { p.filter.Syscalls[3].NamesWithCondtions = nil }, "a file made with rights"},
	{"all of the machine's files", func(p *plan) {
		p.system = append([]string{"--ro-bind", "/", "/"}, p.system[3:]...)
		p.system = without(p.system, "--symlink", "usr/bin", "/bin")
		p.system = without(p.system, "--symlink", "usr/sbin", "/sbin")
		p.system = without(p.system, "--symlink", "usr/lib", "/lib")
		p.system = without(p.system, "--symlink", "usr/lib64", "/lib64")
		dropFiles(p)
	}, "data of services"},
	{"the machine's /proc", func(p *plan) { p.system = append(p.system, "--bind", "/proc", "/proc") }, "arguments of other processes"},
	{"the machine's devices", func(p *plan) {
		p.system = append(p.system, "--dev-bind", "/dev", "/dev")
		p.seal = nil
	}, "devices of the machine"},
	{"the machine's shared files", func(p *plan) { p.system = append(p.system, "--bind", "/dev/shm", "/dev/shm") }, "shared memory in a file"},
	{"the machine's /tmp", func(p *plan) { p.system = append(p.system, "--bind", "/tmp", "/tmp") }, "temporary files of others"},
	{"the machine's control groups", func(p *plan) { p.system = append(p.system, "--ro-bind", "/sys", "/sys") }, "control groups"},
	{"the machine's users", func(p *plan) { p.system = append(p.system, "--ro-bind", "/etc/passwd", "/etc/passwd") }, "users of the machine"},
	{"a root that can be written", func(p *plan) { p.seal = nil }, "write to the system"},
	{"the folder above the workspace", func(p *plan) {
		dir := filepath.Dir(p.spec.Dir)
		p.work = append([]string{"--bind", dir, dir}, p.work...)
	}, "write a file outside"},
	{"no protected paths", func(p *plan) { p.work = p.work[:3] }, "git hook"},
	{"no place for what is missing", func(p *plan) { p.work = keep(p.work, ".git", ".git/hooks", ".git/config", ".retinue") }, "a place for servers freed"},
	{"folders above protected paths", func(p *plan) { p.work = drop(p.work, ".git") }, "git folder renamed"},
	{"settings of a worktree", func(p *plan) { p.work = drop(p.work, ".git/config.worktree") }, "settings of a worktree"},
	{"hooks of a hook runner", func(p *plan) { p.work = drop(p.work, ".husky") }, "hooks of a hook runner, once freed"},
	{"git's other folder", func(p *plan) { p.work = drop(p.work, ".git/commondir") }, "git settings elsewhere, once freed"},
}

func TestEachWeakeningIsNoticed(t *testing.T) {
	w, b := newWorld(t), openBox(t, TierBubblewrap)
	for _, weak := range weakenings {
		at := slices.IndexFunc(escapes, func(e escape) bool { return e.name == weak.caught })
		if at < 0 {
			t.Fatalf("there is no attempt %q", weak.caught)
		}
		b.weaken = weak.weaken
		if got, said := w.try(t, b, escapes[at]); !got {
			t.Errorf("%s: not noticed by %q\n%s", weak.name, weak.caught, said)
		}
	}
	t.Logf("%d weakenings", len(weakenings))
}

func without(args []string, gone ...string) []string {
	for i := range args {
		if i+len(gone) <= len(args) && slices.Equal(args[i:i+len(gone)], gone) {
			return slices.Delete(slices.Clone(args), i, i+len(gone))
		}
	}
	return args
}

func swap(args []string, from, to string) []string {
	args = slices.Clone(args)
	for i := range args {
		if args[i] == from {
			args[i] = to
		}
	}
	return args
}

// allow takes a call off the list of the refused ones.
func allow(p *plan, name string) {
	p.filter.Syscalls[0] = seccomp.SyscallGroup{
		Names: without(p.filter.Syscalls[0].Names, name), Action: seccomp.ActionErrno,
	}
}

// dropFiles removes files that cannot be put into a read-only folder.
func dropFiles(p *plan) {
	var kept []string
	for i := 0; i < len(p.system); i++ {
		switch p.system[i] {
		case "--perms":
			if p.system[i+2] == "--file" {
				i += 4
				continue
			}
		case "--ro-bind-try":
			i += 2
			continue
		case "--ro-bind-fd": // our own program, which needs a place
			kept = append(kept, "--tmpfs", "/run")
		}
		kept = append(kept, p.system[i])
	}
	p.system, p.seal = kept, nil
}

// keep and drop choose among the mounts in the workspace, three words each, by path.
func keep(work []string, paths ...string) []string {
	return choose(work, func(path string) bool { return slices.Contains(paths, path) })
}

func drop(work []string, path string) []string {
	return choose(work, func(p string) bool { return p != path })
}

func choose(work []string, wanted func(path string) bool) []string {
	kept := slices.Clone(work[:3])
	for mount := range slices.Chunk(work[3:], 3) {
		if wanted(strings.TrimPrefix(mount[2], work[2]+"/")) {
			kept = append(kept, mount...)
		}
	}
	return kept
}

// answer serves "secret" to everybody.
func answer(t *testing.T, network, address string) net.Addr {
	t.Helper()
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 8)) // a writer that is hung up on before it has written takes that for a failure
			_, _ = conn.Write([]byte("secret"))
			_ = conn.Close()
		}
	}()
	return listener.Addr()
}

func port(t *testing.T, network, address string) string {
	t.Helper()
	_, number, err := net.SplitHostPort(answer(t, network, address).String())
	if err != nil {
		t.Fatal(err)
	}
	return number
}

func datagrams(t *testing.T) string {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		buffer := make([]byte, 64)
		for {
			_, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = conn.WriteTo([]byte("secret"), from)
		}
	}()
	_, number, err := net.SplitHostPort(conn.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	return number
}
