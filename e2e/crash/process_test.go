//go:build services

package crash

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/journal/postgres"
)

// process is one that may be killed and started again.
type process struct {
	t     *testing.T
	name  string
	log   string
	make  func() *exec.Cmd
	heard func(line string)
	// probe tells whether a process that does not say so is ready.
	probe func() bool
	// whole means that the children of the process are halted with it. The commands of a worker
	// keep running.
	whole bool

	mu     sync.Mutex
	cmd    *exec.Cmd
	in     io.WriteCloser
	exited chan struct{}
}

// The complaints of a test about a process that is of no use to it.
const (
	notReady = "is not ready after"
	notBack  = "did not come back"
)

// start runs the process and returns when it says that it is ready.
func (p *process) start() {
	p.t.Helper()
	cmd := p.make()
	log, err := os.OpenFile(p.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	defer log.Close() //nolint:errcheck // the process has its own
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	ready, exited := make(chan struct{}), make(chan struct{})
	p.mu.Lock()
	p.cmd, p.in, p.exited = cmd, in, exited
	p.mu.Unlock()
	go func() {
		defer close(exited)
		p.read(out, ready)
		_ = cmd.Wait()
	}()
	for deadline := time.Now().Add(2 * patience); time.Now().Before(deadline); {
		select {
		case <-ready:
			return
		case <-exited:
			return
		case <-time.After(30 * time.Millisecond):
			if p.probe != nil && p.probe() {
				return
			}
		}
	}
	p.t.Errorf("%s %s %s; see %s", p.name, notReady, 2*patience, p.log)
}

// read reads the output of the process. The engine prints its address when it is ready.
func (p *process) read(out io.Reader, ready chan struct{}) {
	lines, first := bufio.NewScanner(out), true
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		if first && strings.Contains(lines.Text(), "ready") {
			first = false
			close(ready)
			continue
		}
		if p.heard != nil {
			p.heard(lines.Text())
		}
	}
}

func (p *process) pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd.Process.Pid
}

// alive reports whether the process is running.
func (p *process) alive() bool {
	p.mu.Lock()
	exited := p.exited
	p.mu.Unlock()
	select {
	case <-exited:
		return false
	default:
		return true
	}
}

// signal sends a signal to the process as it is now.
func (p *process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(s)
	}
}

// halt stops the process until it is resumed. First the process itself, so that it starts nothing
// more.
func (p *process) halt() {
	p.signal(syscall.SIGSTOP)
	for _, child := range p.children() {
		_ = syscall.Kill(child, syscall.SIGSTOP)
	}
}

// resume wakes a halted process.
func (p *process) resume() {
	for _, child := range p.children() {
		_ = syscall.Kill(child, syscall.SIGCONT)
	}
	p.signal(syscall.SIGCONT)
}

// children are the processes that a whole one has started.
func (p *process) children() (out []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.whole || p.cmd == nil {
		return nil
	}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(text), ") ") // the name before it may hold anything but this
		var state string
		var parent, child int
		if _, err := fmt.Sscan(rest, &state, &parent); err != nil || parent != p.cmd.Process.Pid {
			continue
		}
		if _, err := fmt.Sscan(string(text), &child); err == nil {
			out = append(out, child)
		}
	}
	return out
}

// kill ends the process and waits until it is gone.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	p.mu.Lock()
	exited := p.exited
	p.mu.Unlock()
	if exited != nil {
		<-exited
	}
}

// write sends a line to the process. One that was killed does not hear it.
func (p *process) write(v any) {
	body, err := json.Marshal(v)
	if err != nil {
		p.t.Error(err)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = p.in.Write(append(body, '\n'))
}

// newProcess makes a process that is killed at the end of the test.
func (w *world) newProcess(name string, cmd func() *exec.Cmd, heard func(string)) *process {
	p := &process{t: w.t, name: name, log: filepath.Join(w.dir, name+".log"), make: cmd, heard: heard}
	w.t.Cleanup(func() {
		p.resume()
		p.kill()
	})
	return p
}

// play makes a process of the test's own binary.
func (w *world) play(name, what string, heard func(string)) *process {
	return w.playAs(name, what, w.part, heard)
}

func (w *world) playAs(name, what string, p part, heard func(string)) *process {
	w.t.Helper()
	if w.signed {
		w.psql("create role " + name + " login in role " + postgres.Role)
		p.DSN = strings.Replace(p.DSN, "//crash@", "//"+name+"@", 1)
	}
	return w.newProcess(name, func() *exec.Cmd {
		p.Play = what
		body, err := json.Marshal(p)
		if err != nil {
			w.t.Fatal(err)
		}
		cmd := exec.Command(w.binary)
		cmd.Env = append(os.Environ(), partVariable+"="+string(body), "GOMEMLIMIT=400MiB")
		return cmd
	}, heard)
}

// repository is the root of this repository.
func repository(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// engineBinary is the program with the engine inside.
func engineBinary(t *testing.T) string {
	t.Helper()
	path := os.Getenv("TEST_RETINUE_FULL")
	if path == "" {
		path = filepath.Join(repository(t), "bin", "retinue-full")
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatal(fmt.Errorf("no engine to test with, run 'make engine': %w", err))
	}
	return path
}
