package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/retinue-dev/retinue/internal/chat"
)

// bare is a program without a sandbox. Its process group is ended with it; a process that leaves
// the group escapes.
type bare struct {
	cmd *exec.Cmd
}

func (b *Box) launchBare(c Command) (launch, error) {
	own, err := os.UserHomeDir()
	if err != nil {
		own = "/"
	}
	env := b.options.environment(own, os.LookupEnv, c.Env)
	if c.Cache != "" {
		env = append(env, "XDG_CACHE_HOME="+c.Cache)
	}
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	if cmd.Err != nil {
		return nil, &chat.Error{Code: chat.CodeNotFound, Message: fmt.Sprintf("find the program: %v", cmd.Err)}
	}
	cmd.Env, cmd.Dir = env, c.dir()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return &bare{cmd: cmd}, nil
}

func (k *bare) command() *exec.Cmd { return k.cmd }

func (k *bare) started() {}

func (k *bare) kill() { _ = unix.Kill(-k.cmd.Process.Pid, unix.SIGKILL) }

func (k *bare) memory() uint64 { return memoryBelow(k.cmd.Process.Pid) }

func (k *bare) finish(state *os.ProcessState) (report, error) {
	k.kill() // processes that it left running in its group
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok {
		return report{}, errors.New("the system does not say how the program ended")
	}
	done := report{Ended: true, Code: status.ExitStatus()}
	if status.Signaled() {
		done.Signal = int(status.Signal())
	}
	return done, nil
}

func (k *bare) abandon() error { return nil }
