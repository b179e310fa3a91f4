package sandbox

import (
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// judge runs the assembled filter over one system call, as the kernel would, and returns its
// answer.
func judge(t *testing.T, architecture, number uint32, args ...uint64) uint32 {
	t.Helper()
	raw, err := assemble(baseFilter())
	if err != nil {
		t.Fatal(err)
	}
	var program []bpf.Instruction
	for ; len(raw) > 0; raw = raw[8:] {
		program = append(program, bpf.RawInstruction{
			Op: binary.NativeEndian.Uint16(raw), Jt: raw[2], Jf: raw[3], K: binary.NativeEndian.Uint32(raw[4:]),
		}.Disassemble())
	}
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	// The virtual machine reads big-endian words, where the kernel reads the machine's own.
	call := binary.BigEndian.AppendUint32(nil, number)
	call = binary.BigEndian.AppendUint32(call, architecture)
	call = append(call, make([]byte, 8)...)
	for i := range 6 {
		var value uint64
		if i < len(args) {
			value = args[i]
		}
		call = binary.BigEndian.AppendUint32(call, uint32(value))
		call = binary.BigEndian.AppendUint32(call, uint32(value>>32))
	}
	answer, err := vm.Run(call)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(answer)
}

const allowed = unix.SECCOMP_RET_ALLOW

func TestTheFilterAnswers(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the numbers below are those of amd64")
	}
	own, other := uint32(arch.X86_64.ID), uint32(arch.I386.ID)
	const high = 1 << 32
	for _, c := range []struct {
		name   string
		arch   uint32
		number uint32
		args   []uint64
		want   uint32
	}{
		{"read", own, unix.SYS_READ, nil, allowed},
		{"ptrace", own, unix.SYS_PTRACE, nil, unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{"ptrace by the number of another architecture", other, 26, nil, unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{"read by the number of another architecture", other, 3, nil, unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{"ptrace by its x32 number", own, 0x40000000 | 521, nil, unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{"clone3", own, unix.SYS_CLONE3, nil, unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{"a thread", own, unix.SYS_CLONE, []uint64{unix.CLONE_VM | unix.CLONE_THREAD}, allowed},
		{"a namespace", own, unix.SYS_CLONE, []uint64{unix.CLONE_NEWUSER}, unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{"a namespace and a bit above", own, unix.SYS_CLONE, []uint64{high | unix.CLONE_NEWNET}, unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{"a socket", own, unix.SYS_SOCKET, []uint64{unix.AF_INET}, allowed},
		{"a socket of IPv6", own, unix.SYS_SOCKET, []uint64{unix.AF_INET6}, allowed},
		{"netlink", own, unix.SYS_SOCKET, []uint64{unix.AF_NETLINK}, unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)},
		{"netlink and a bit above", own, unix.SYS_SOCKET, []uint64{high | unix.AF_NETLINK}, unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)},
		{"a socket and a bit above", own, unix.SYS_SOCKET, []uint64{high | unix.AF_INET}, unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)},
		{"terminal input", own, unix.SYS_IOCTL, []uint64{0, unix.TIOCSTI}, unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{"terminal input and a bit above", own, unix.SYS_IOCTL, []uint64{0, high | unix.TIOCSTI}, unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{"console", own, unix.SYS_IOCTL, []uint64{0, unix.TIOCLINUX}, unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{"size of a terminal", own, unix.SYS_IOCTL, []uint64{0, unix.TIOCGWINSZ}, allowed},
		{"mode", own, unix.SYS_FCHMODAT, []uint64{0, 0, 0o755}, allowed},
		{"mode that lends rights", own, unix.SYS_FCHMODAT, []uint64{0, 0, 0o4755}, unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{"a file", own, unix.SYS_OPENAT, []uint64{0, 0, unix.O_CREAT, 0o644}, allowed},
		{"a file that lends rights", own, unix.SYS_OPENAT, []uint64{0, 0, unix.O_CREAT, 0o2755}, unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{"a nameless file that lends rights", own, unix.SYS_OPENAT, []uint64{0, 0, unix.O_TMPFILE, 0o4755}, unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{"reading with rubbish for a mode", own, unix.SYS_OPENAT, []uint64{0, 0, unix.O_RDONLY | unix.O_DIRECTORY, ^uint64(0)}, allowed},
	} {
		if got := judge(t, c.arch, c.number, c.args...); got != c.want {
			t.Errorf("%s: %#x, want %#x", c.name, got, c.want)
		}
	}
}

// TestEveryRefusedCallExists keeps a slip of the pen from leaving a call out of the filter.
func TestEveryRefusedCallExists(t *testing.T) {
	for _, name := range refused {
		_, amd := arch.X86_64.SyscallNames[name]
		_, old := arch.I386.SyscallNames[name]
		if !amd && !old {
			t.Errorf("there is no system call %s", name)
		}
	}
	if len(known(refused)) < 50 {
		t.Errorf("only %d are known here", len(known(refused)))
	}
}
