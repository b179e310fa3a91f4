package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// confined is a program in bubblewrap.
//
// Its first process has number 1 in there, so that its end is the end of all. It holds one end of a
// pipe and ends when the other end, ours, is closed: by us, or by our death at any moment. We can
// also kill it.
type confined struct {
	cmd    *exec.Cmd
	shield *shield
	given  []*os.File // the child's ends, closed once it runs
	plan   *plan
	status *os.File
	info   *os.File // where bubblewrap writes the number that the first process has outside

	mu       sync.Mutex
	life     *os.File  // nil once closed
	unwanted time.Time // when it was
	first    int       // a handle on the first process, or -1
	hostPid  int
	finished bool // nothing is held any more
	reports  chan report
}

func (b *Box) launchConfined(c Command, l Limits) (_ launch, err error) {
	workspace, err := openWorkspace(c.Workspace)
	if err != nil {
		return nil, err
	}
	s, err := openShield(workspace, b.options.Protected, c)
	if err != nil {
		return nil, errors.Join(err, workspace.Close())
	}
	k := &confined{shield: s, first: -1, reports: make(chan report, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, k.abandon())
		}
	}()
	if k.plan, err = b.plan(c, l, s); err != nil {
		return nil, err
	}
	var status, life *os.File
	if k.status, status, err = os.Pipe(); err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	k.given = append(k.given, status)
	if life, k.life, err = os.Pipe(); err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	k.given = append(k.given, life)
	// Not a pipe: if we die before bubblewrap writes there, it must not stop halfway.
	if k.info, err = memoryFile("info", nil); err != nil {
		return nil, err
	}
	k.cmd, err = k.plan.command(b.program, status, life, k.info)
	return k, err
}

func (k *confined) command() *exec.Cmd { return k.cmd }

func (k *confined) started() {
	k.closeGiven()
	go k.listen()
}

// hold takes hold of the first process, as soon as bubblewrap has said which it is.
func (k *confined) hold() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.first >= 0 || k.finished {
		return
	}
	var about struct {
		ChildPid int `json:"child-pid"`
	}
	if json.NewDecoder(io.NewSectionReader(k.info, 0, mebibyte)).Decode(&about) != nil {
		return // not written yet
	}
	handle, err := unix.PidfdOpen(about.ChildPid, 0)
	if err != nil {
		return // gone
	}
	if parentOf(about.ChildPid) != k.cmd.Process.Pid { // gone, and its number belongs to another
		_ = unix.Close(handle)
		return
	}
	k.first, k.hostPid = handle, about.ChildPid
}

func (k *confined) closeGiven() {
	for _, f := range k.given {
		_ = f.Close()
	}
	k.given = nil
	if k.plan != nil {
		k.plan.close()
	}
}

// listen keeps the last thing the first process says: that it is ready, and then how it ended.
func (k *confined) listen() {
	var last report
	for from := json.NewDecoder(io.LimitReader(k.status, mebibyte)); ; {
		var r report
		if err := from.Decode(&r); err != nil {
			break
		}
		k.hold()
		r.Ready = r.Ready || last.Ready
		last = r
	}
	k.reports <- last
}

// kill leaves a sandbox that is still being built to notice by itself: bubblewrap, killed halfway,
// would leave a child behind that waits for it for ever. Asked again, it kills bubblewrap too if it
// has the first process, and after buildGrace it does not care.
func (k *confined) kill() {
	k.hold()
	k.mu.Lock()
	defer k.mu.Unlock()
	again := k.life == nil
	if !again {
		_ = k.life.Close()
		k.life, k.unwanted = nil, time.Now()
	}
	if k.first >= 0 {
		_ = unix.PidfdSendSignal(k.first, unix.SIGKILL, nil, 0)
	}
	if again && (k.first >= 0 || time.Since(k.unwanted) > buildGrace) {
		_ = k.cmd.Process.Kill()
	}
}

func (k *confined) memory() uint64 {
	k.mu.Lock()
	pid := k.hostPid
	k.mu.Unlock()
	if pid == 0 {
		return 0
	}
	return memoryBelow(pid)
}

func (k *confined) finish(*os.ProcessState) (report, error) {
	k.mu.Lock()
	if k.life != nil {
		_ = k.life.Close()
		k.life = nil
	}
	first := k.first
	k.first, k.hostPid, k.finished = -1, 0, true
	k.mu.Unlock()
	var problem error
	if first >= 0 {
		_ = unix.PidfdSendSignal(first, unix.SIGKILL, nil, 0) // bubblewrap may have been killed without it
		problem = waitFor(first)
		_ = unix.Close(first)
	}
	var last report
	select {
	case last = <-k.reports:
	case <-time.After(goneGrace):
		problem = errors.Join(problem, errors.New("the sandbox's first process is gone and its report still open"))
	}
	_ = k.status.Close()
	_ = k.info.Close()
	last.replaced, last.linked = k.shield.replaced(), k.shield.linked
	last.planted = k.shield.putAside()
	return last, errors.Join(problem, k.shield.close())
}

// waitFor waits until the process of the handle is gone.
func waitFor(handle int) error {
	poll := []unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}}
	deadline := time.Now().Add(goneGrace)
	for {
		n, err := unix.Poll(poll, int(max(0, time.Until(deadline).Milliseconds())))
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return fmt.Errorf("wait for the sandbox's end: %w", err)
		case n == 0:
			return errors.New("processes of the sandbox are still there after it was killed")
		default:
			return nil
		}
	}
}

func (k *confined) abandon() error {
	k.closeGiven()
	for _, f := range []*os.File{k.status, k.info, k.life} {
		if f != nil {
			_ = f.Close()
		}
	}
	return k.shield.close()
}
