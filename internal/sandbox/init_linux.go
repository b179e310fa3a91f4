package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"golang.org/x/sys/unix"
)

// Where the first process of a sandbox finds its files.
const (
	specFile   = 3
	statusFile = 4
	lifeFile   = 5
	firstMount = 6

	initPath   = "/run/retinue/init"
	egressPath = "/run/retinue/egress.sock"
	// probeArgument makes Init look around instead of running a program.
	probeArgument = "probe"
)

// spec is the order for the first process, sent over a pipe: everybody on a machine can read
// arguments.
type spec struct {
	Argv     []string
	Env      []string
	Dir      string
	Limits   Limits
	Proxy    bool     // whether to forward to the egress proxy
	Families []uint64 // of sockets that the program may make
}

// report is a line the first process sends back.
type report struct {
	Ready   bool   // the program is about to start
	Ended   bool   // it has
	Code    int    // of its exit, or -1
	Signal  int    // that ended it
	Problem string // why it could not be started
	Missing bool   // because there is no such program

	replaced []string  // is added outside, see Outcome.Replaced
	linked   []string  // is added outside, see Outcome.Linked
	planted  []Planted // is added outside, see Outcome.Planted
}

// Init runs the program as the first process of a sandbox, under InitCommand with the arguments
// after it. It starts the real program and forwards its requests to the egress proxy. When the
// process that asked for it is gone, Init ends, and with it everything in the sandbox. It returns
// the exit code.
func Init(args []string) int {
	if len(args) > 0 && args[0] == probeArgument {
		return probe(os.Stdout)
	}
	// Our own files are not for the program.
	if err := unix.CloseRange(specFile, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		fmt.Fprintln(os.Stderr, "sandbox:", err)
		return 1
	}
	status := os.NewFile(statusFile, "status")
	done, err := supervise(status)
	if err != nil {
		done = report{Problem: err.Error(), Missing: errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist)}
	}
	send(status, done)
	if done.Ended {
		return max(done.Code, 0)
	}
	return 1
}

func supervise(status io.Writer) (report, error) {
	var s spec
	if err := json.NewDecoder(os.NewFile(specFile, "spec")).Decode(&s); err != nil {
		return report{}, fmt.Errorf("read what to run: %w", err)
	}
	// No signal from inside ends or stops the process with number 1, unless it is one that is not
	// caught and that Go's runtime would end it for. Caught, not ignored: the program would inherit
	// an ignored signal.
	signal.Notify(make(chan os.Signal, 1))
	go func() {
		// Nothing is ever written there; it ends with the process that holds the other side.
		_, _ = io.Copy(io.Discard, os.NewFile(lifeFile, "life"))
		os.Exit(1)
	}()
	if err := harden(); err != nil {
		return report{}, err
	}
	if s.Proxy {
		address, err := forward()
		if err != nil {
			return report{}, fmt.Errorf("forward to the egress proxy: %w", err)
		}
		s.Env = append(s.Env, proxyEnv("http://"+address)...)
	}
	return execute(s, status)
}

// harden makes this process the first that the kernel takes when memory is short, and one that the
// program cannot look into although it has the same user.
func harden() error {
	if err := os.WriteFile("/proc/self/oom_score_adj", []byte("500"), 0o644); err != nil {
		return fmt.Errorf("set the score of the out-of-memory killer: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("close this process to others: %w", err)
	}
	return nil
}

// execute runs the program from a thread that has the program's filter: its processes inherit it,
// while the forwarder's threads keep theirs.
func execute(s spec, status io.Writer) (report, error) {
	runtime.LockOSThread()
	if err := setLimits(s.Limits); err != nil {
		return report{}, err
	}
	if err := seccomp.LoadFilter(seccomp.Filter{NoNewPrivs: true, Policy: programFilter(s.Families)}); err != nil {
		return report{}, fmt.Errorf("load the filter: %w", err)
	}
	if err := os.Setenv("PATH", lastValue(s.Env, "PATH")); err != nil {
		return report{}, fmt.Errorf("set PATH: %w", err)
	}
	cmd := exec.Command(s.Argv[0], s.Argv[1:]...)
	cmd.Env, cmd.Dir = s.Env, s.Dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	// A session of its own, so that a program which signals its whole group does not hit this
	// process.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	send(status, report{Ready: true})
	if err := cmd.Start(); err != nil {
		return report{}, err
	}
	// The reader of the output must see its end when the program closes it.
	for _, f := range []*os.File{os.Stdin, os.Stdout, os.Stderr} {
		_ = f.Close()
	}
	return reap(cmd.Process.Pid)
}

// reap waits for the program, and until then for every process that has lost its parent: they
// become children of number 1.
func reap(program int) (report, error) {
	for {
		var state unix.WaitStatus
		pid, err := unix.Wait4(-1, &state, 0, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return report{}, fmt.Errorf("wait for the program: %w", err)
		}
		if pid != program || !state.Exited() && !state.Signaled() {
			continue
		}
		done := report{Ended: true, Code: state.ExitStatus()}
		if state.Signaled() {
			done.Signal = int(state.Signal())
		}
		return done, nil
	}
}

func setLimits(l Limits) error {
	for _, r := range []struct {
		resource int
		limit    uint64
		name     string
	}{
		{unix.RLIMIT_CORE, 0, "core files"},
		{unix.RLIMIT_NPROC, l.Processes, "processes"},
		{unix.RLIMIT_FSIZE, l.FileSize, "the size of a file"},
		{unix.RLIMIT_NOFILE, l.OpenFiles, "open files"},
		// Not the address space: runtimes reserve far more of it than they use.
		{unix.RLIMIT_DATA, l.Memory, "memory"},
		{unix.RLIMIT_MEMLOCK, 64 << 10, "locked memory"},
		{unix.RLIMIT_MSGQUEUE, 0, "message queues"},
	} {
		var now unix.Rlimit
		if err := unix.Getrlimit(r.resource, &now); err != nil {
			return fmt.Errorf("read the limit on %s: %w", r.name, err)
		}
		limit := min(r.limit, now.Max)
		if err := unix.Setrlimit(r.resource, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return fmt.Errorf("set the limit on %s: %w", r.name, err)
		}
	}
	return nil
}

const acceptPause = 10 * time.Millisecond

// forward listens on the sandbox's own loopback and carries every connection to the proxy's socket.
func forward() (string, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() {
		for {
			inner, err := listener.Accept()
			if err != nil {
				time.Sleep(acceptPause) // too many open files: some will be closed
				continue
			}
			go carry(inner)
		}
	}()
	return listener.Addr().String(), nil
}

func carry(inner net.Conn) {
	defer func() { _ = inner.Close() }()
	var dialer net.Dialer
	outer, err := dialer.DialContext(context.Background(), "unix", egressPath)
	if err != nil {
		return
	}
	defer func() { _ = outer.Close() }()
	ended := make(chan struct{}, 2)
	pipe := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		if half, ok := to.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
		ended <- struct{}{}
	}
	go pipe(outer, inner)
	go pipe(inner, outer)
	<-ended
	<-ended
}

func proxyEnv(address string) []string {
	env := []string{"no_proxy=", "NO_PROXY="}
	for _, name := range []string{"http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		env = append(env, name+"="+address)
	}
	return env
}

func lastValue(env []string, name string) string {
	value := ""
	for _, entry := range env {
		if len(entry) > len(name) && entry[:len(name)+1] == name+"=" {
			value = entry[len(name)+1:]
		}
	}
	return value
}

func send(w io.Writer, r report) {
	// Without a reader no error can be reported.
	_ = json.NewEncoder(w).Encode(r)
}
