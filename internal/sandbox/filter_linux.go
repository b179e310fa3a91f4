package sandbox

import (
	"encoding/binary"
	"fmt"
	"slices"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// refused are the system calls that no program in a sandbox needs, grouped by use. Most need a
// capability as well that no program in there has; the filter does not rely on that.
var refused = slices.Concat(
	[]string{"ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp", "process_madvise"},
	[]string{"bpf", "perf_event_open", "userfaultfd", "lookup_dcookie", "fanotify_init", "vhangup"},
	[]string{"io_uring_setup", "io_uring_enter", "io_uring_register"},
	[]string{"keyctl", "add_key", "request_key"},
	[]string{
		"mount", "umount2", "pivot_root", "chroot", "fsopen", "fsconfig", "fsmount", "fspick", "move_mount",
		"open_tree", "open_tree_attr", "mount_setattr", "swapon", "swapoff", "quotactl", "quotactl_fd",
		"open_by_handle_at", "name_to_handle_at",
	},
	[]string{"unshare", "setns"},
	[]string{
		"kexec_load", "kexec_file_load", "reboot", "init_module", "finit_module", "delete_module", "acct",
		"syslog", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "iopl", "ioperm", "modify_ldt",
		"nfsservctl", "uselib", "ustat", "sysfs", "vm86", "vm86old", "personality", "move_pages", "migrate_pages",
		"mbind", "set_mempolicy",
	},
	// Memory that no process maps escapes the count of what a sandbox uses.
	[]string{"memfd_create", "memfd_secret", "shmget"},
)

// namespaces are the flags of clone that would make a namespace.
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWTIME

// baseFilter holds for every process of a sandbox. Its own first process needs one family of
// sockets more than programs do, to reach the egress proxy.
func baseFilter() seccomp.Policy {
	return seccomp.Policy{
		DefaultAction: seccomp.ActionAllow,
		Syscalls: []seccomp.SyscallGroup{
			{Names: known(refused), Action: seccomp.ActionErrno},
			// The arguments of these lie in memory, where a filter cannot see them. Without them
			// the C library uses clone and openat.
			{Names: known([]string{"clone3", "openat2"}), Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS)},
			{
				NamesWithCondtions: []seccomp.NameWithConditions{{
					Name:       "clone",
					Conditions: seccomp.ArgumentConditions{{Argument: 0, Operation: seccomp.BitsSet, Value: namespaces}},
				}},
				Action: seccomp.ActionErrno,
			},
			{NamesWithCondtions: lendingRights(), Action: seccomp.ActionErrno},
			families(unix.AF_INET, unix.AF_INET6, unix.AF_UNIX),
		},
	}
}

// lendingRights are the calls that could leave a file in the workspace with which another user of
// the machine gets the rights of the sandbox's user.
func lendingRights() []seccomp.NameWithConditions {
	const lends = unix.S_ISUID | unix.S_ISGID
	var all []seccomp.NameWithConditions
	add := func(name string, conditions ...seccomp.Condition) {
		if len(known([]string{name})) == 1 {
			all = append(all, seccomp.NameWithConditions{Name: name, Conditions: conditions})
		}
	}
	has := func(argument uint32, bits uint64) seccomp.Condition {
		return seccomp.Condition{Argument: argument, Operation: seccomp.BitsSet, Value: bits}
	}
	for name, mode := range map[string]uint32{"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "creat": 1, "mknod": 1, "mknodat": 2} {
		add(name, has(mode, lends))
	}
	// Without O_CREAT the mode is an old value of the register. O_TMPFILE has a bit of its own.
	const creates = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
	add("open", has(1, creates), has(2, lends))
	add("openat", has(2, creates), has(3, lends))
	return all
}

// programFamilies are the sockets of a program: those of the sandbox's own loopback.
var programFamilies = []uint64{unix.AF_INET, unix.AF_INET6}

// programFilter comes on top of it for programs, which may make sockets of these families only.
// A pair of connected unix sockets leads nowhere, and common programs use it as a pipe.
func programFilter(allowed []uint64) seccomp.Policy {
	return seccomp.Policy{
		DefaultAction: seccomp.ActionAllow,
		Syscalls:      []seccomp.SyscallGroup{families(allowed...)},
	}
}

// families refuses sockets of all families but these.
func families(allowed ...uint64) seccomp.SyscallGroup {
	var other seccomp.ArgumentConditions
	for _, family := range allowed {
		other = append(other, seccomp.Condition{Argument: 0, Operation: seccomp.NotEqual, Value: family})
	}
	return seccomp.SyscallGroup{
		NamesWithCondtions: []seccomp.NameWithConditions{{Name: "socket", Conditions: other}},
		Action:             seccomp.ActionErrno | seccomp.Action(unix.EAFNOSUPPORT),
	}
}

// known leaves out the names that this machine's architecture never had.
func known(names []string) []string {
	info, err := arch.GetInfo("")
	if err != nil {
		return names
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		_, ok := info.SyscallNames[name]
		return !ok
	})
}

// assemble turns a policy into the bytes the kernel takes, behind a prologue for two things that
// the library's conditions cannot say.
//
// A call by the numbers of another architecture, which the library lets pass, is refused. And the
// request of an ioctl is compared by its lower half alone, as the kernel reads it: with all 64
// bits, a bit set above them would get terminal input past the filter.
func assemble(policy seccomp.Policy) ([]byte, error) {
	info, err := arch.GetInfo("")
	if err != nil {
		return nil, fmt.Errorf("find the architecture: %w", err)
	}
	body, err := policy.Assemble()
	if err != nil {
		return nil, fmt.Errorf("assemble the filter: %w", err)
	}
	const (
		numberAt  = 0
		archAt    = 4
		requestAt = 24 // lower half of the second argument
		word      = 4
	)
	refuse := func(errno unix.Errno) bpf.Instruction {
		return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)}
	}
	prologue := []bpf.Instruction{
		bpf.LoadAbsolute{Off: archAt, Size: word},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(info.ID), SkipTrue: 1},
		refuse(unix.ENOSYS),
		bpf.LoadAbsolute{Off: numberAt, Size: word},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_IOCTL, SkipTrue: 4},
		bpf.LoadAbsolute{Off: requestAt, Size: word},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.TIOCSTI, SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.TIOCLINUX, SkipTrue: 1},
		refuse(unix.EPERM),
	}
	raw, err := bpf.Assemble(append(prologue, body...))
	if err != nil {
		return nil, fmt.Errorf("assemble the filter: %w", err)
	}
	var out []byte
	for _, in := range raw {
		out = binary.NativeEndian.AppendUint16(out, in.Op)
		out = append(out, in.Jt, in.Jf)
		out = binary.NativeEndian.AppendUint32(out, in.K)
	}
	return out, nil
}
