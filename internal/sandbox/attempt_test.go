//go:build services && linux

package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attempt is the part of an escape that a shell cannot do. It returns 0 when it worked, as a shell
// would.
func attempt(args []string) int {
	if len(args) == 0 {
		return 2
	}
	try, ok := tries[args[0]]
	if !ok {
		fmt.Fprintln(os.Stderr, "there is no attempt", args[0])
		return 2
	}
	if err := try(args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

var tries = map[string]func([]string) error{
	"tcp":        func(a []string) error { return converse("tcp", a[0]) },
	"udp":        func(a []string) error { return converse("udp", a[0]) },
	"unix":       func(a []string) error { return converse("unix", a[0]) },
	"socket":     trySocket,
	"call":       tryCall,
	"clone":      tryClone,
	"ptrace":     tryPtrace,
	"vmread":     tryMemory,
	"key":        tryKey,
	"shm":        tryShared,
	"inject":     tryInject,
	"supervisor": trySupervisor,
	"setuid":     trySetuid,
	"eat":        eat,
}

// answerTime is how long a running server may take to answer.
const answerTime = 30 * time.Second

// converse reaches a server that answers "secret" to whatever it gets.
func converse(network, address string) error {
	conn, err := net.DialTimeout(network, address, answerTime)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return err
	}
	if _, err := conn.Write([]byte("hello\n")); err != nil {
		return err
	}
	answer := make([]byte, 6)
	if n, err := conn.Read(answer); err != nil || string(answer[:n]) != "secret" {
		return fmt.Errorf("answered %q, %w", answer[:n], err)
	}
	return nil
}

func trySocket(a []string) error {
	kinds := map[string][3]int{
		"netlink": {unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE},
		"vsock":   {unix.AF_VSOCK, unix.SOCK_STREAM, 0},
		"alg":     {unix.AF_ALG, unix.SOCK_SEQPACKET, 0},
		"packet":  {unix.AF_PACKET, unix.SOCK_RAW, 0},
		"raw":     {unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP},
	}
	k := kinds[a[0]]
	_, err := unix.Socket(k[0], k[1], k[2])
	return err
}

// tryCall makes a system call with arguments that cannot work. A filter's answer differs from the
// call's own.
func tryCall(a []string) error {
	none := ^uintptr(0)
	calls := map[string][4]uintptr{
		"io_uring_setup":    {unix.SYS_IO_URING_SETUP, 1, 0, 0},
		"userfaultfd":       {unix.SYS_USERFAULTFD, 1, 0, 0},
		"setns":             {unix.SYS_SETNS, none, 0, 0},
		"clone3":            {unix.SYS_CLONE3, 0, 0, 0},
		"memfd_create":      {unix.SYS_MEMFD_CREATE, 0, 0, 0},
		"name_to_handle_at": {unix.SYS_NAME_TO_HANDLE_AT, none, 0, 0},
		"kcmp":              {unix.SYS_KCMP, none, none, 0},
		"pidfd_getfd":       {unix.SYS_PIDFD_GETFD, none, 0, 0},
		"bpf":               {unix.SYS_BPF, none, 0, 0},
		"mount":             {unix.SYS_MOUNT, 0, 0, 0},
		"open_tree":         {unix.SYS_OPEN_TREE, none, 0, 0},
		"kexec_load":        {unix.SYS_KEXEC_LOAD, none, 0, 0},
		"init_module":       {unix.SYS_INIT_MODULE, 0, 0, 0},
		"perf_event_open":   {unix.SYS_PERF_EVENT_OPEN, 0, 0, none},
	}
	c, ok := calls[a[0]]
	if !ok {
		return fmt.Errorf("no call %q", a[0])
	}
	_, _, errno := unix.Syscall(c[0], c[1], c[2], c[3])
	if errno == unix.EPERM || errno == unix.ENOSYS {
		return errno
	}
	return nil
}

func tryClone([]string) error {
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
	return cmd.Run()
}

func tryPtrace([]string) error {
	_, _, errno := unix.RawSyscall(unix.SYS_PTRACE, unix.PTRACE_TRACEME, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

func tryMemory([]string) error {
	from, to := []byte("memory"), make([]byte, 6)
	local := []unix.Iovec{{Base: &to[0], Len: 6}}
	remote := []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&from[0])), Len: 6}}
	_, err := unix.ProcessVMReadv(os.Getpid(), local, remote, 0)
	return err
}

func tryKey([]string) error {
	_, err := unix.AddKey("user", "retinue-test", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
	return err
}

func tryShared(a []string) error {
	key, err := strconv.Atoi(a[0])
	if err != nil {
		return err
	}
	_, err = unix.SysvShmGet(key, 0, 0)
	return err
}

// tryInject pushes a character into a terminal's input. On something that is no terminal the call
// says so, unless a filter is in the way. With "high" it sets a bit that the kernel does not look
// at.
func tryInject(a []string) error {
	request := uintptr(unix.TIOCSTI)
	if len(a) > 0 {
		request |= 1 << 32
	}
	null, err := os.Open("/dev/null")
	if err != nil {
		return err
	}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, null.Fd(), request, 0)
	if errno == unix.EPERM {
		return errno
	}
	return nil
}

// trySupervisor opens what belongs to the sandbox's own first process.
func trySupervisor(a []string) error {
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return err
	}
	found := errors.New("no first process is visible")
	for _, p := range processes {
		line, err := os.ReadFile(p + "/cmdline")
		if err != nil || !bytes.HasSuffix(line, []byte("\x00"+InitCommand+"\x00")) {
			continue
		}
		switch a[0] {
		case "memory":
			_, found = os.OpenFile(p+"/mem", os.O_RDWR, 0)
		case "files":
			_, found = os.ReadDir(p + "/fd")
		}
	}
	return found
}

func trySetuid(a []string) error {
	fd, err := unix.Openat(unix.AT_FDCWD, a[0], unix.O_CREAT|unix.O_WRONLY, 0o4755)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// eat takes so many MiB of memory in each of so many processes, and holds them.
func eat(a []string) error {
	n, err := strconv.Atoi(a[0])
	if err != nil {
		return err
	}
	most, err := strconv.Atoi(a[1])
	if err != nil {
		return err
	}
	for range n - 1 {
		if err := exec.Command(os.Args[0], "attempt", "eat", "1", a[1]).Start(); err != nil {
			return err
		}
	}
	var all [][]byte
	for len(all) < most {
		piece := make([]byte, mebibyte)
		for i := 0; i < len(piece); i += 4096 {
			piece[i] = 1
		}
		all = append(all, piece)
		if len(all)%64 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	time.Sleep(time.Minute)
	runtime.KeepAlive(all)
	return nil
}
