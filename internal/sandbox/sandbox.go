// Package sandbox runs a program in a workspace and keeps it there.
//
// A Box is opened for one tier. It either keeps the tier's promises, shown by a test of itself at
// the start, or it does not open: it never falls back to less. docs/security.md lists the promises
// of each tier, and their limits.
//
// The package imports the standard library, golang.org/x and a seccomp assembler, and of ours only
// chat, for errors. It decides nothing about permissions.
package sandbox

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Tier names the technique that confines a program.
type Tier string

// The tiers.
const (
	TierBubblewrap Tier = "bubblewrap" // namespaces, mounts and a system call filter
	TierGVisor     Tier = "gvisor"     // a kernel of its own in user space
	TierNone       Tier = "none"       // nothing
)

// InitCommand is the hidden command of the program that runs Init. A sandbox starts it first.
const InitCommand = "sandbox-init"

// Options choose a tier and what every program in it finds.
type Options struct {
	Tier Tier
	// AllowRoot lets root open a box. Programs started by root still read root's files.
	AllowRoot bool
	// ReadOnly are folders outside of the workspace that programs may read, such as a toolchain.
	ReadOnly []string
	// Protected are paths in a workspace, beyond the built-in ones, that programs cannot write.
	Protected []string
	// Pass names the variables of our own environment that programs get as well.
	Pass []string
}

// Command is one program to run.
type Command struct {
	Argv      []string
	Workspace string // absolute and free of symbolic links
	Dir       string // where it starts; the workspace when empty
	Env       []string
	Stdin     io.Reader // for Run; nothing when nil
	ReadOnly  bool      // whether the workspace cannot be written
	Merge     bool      // whether standard error goes into standard output, in the order written
	Network   *Network  // none when nil
	Cache     string    // a folder kept from run to run as ~/.cache, and written by nobody else; none when empty
	SetAside  bool      // whether protected files that it makes and nothing could hold are set aside at its end
	Limits    Limits
}

// Network is the one way out of a sandbox: the socket of an egress proxy.
type Network struct {
	Socket string
}

// Limits bound one program and all that it starts. Zero means the default.
type Limits struct {
	Wall      time.Duration // 2 minutes
	Output    int           // bytes kept of each stream: 64 KiB, at most 512 KiB
	Processes uint64        // processes and threads: 512
	FileSize  uint64        // bytes of one file: 1 GiB
	OpenFiles uint64        // 1024 for each process
	Memory    uint64        // bytes of all processes together, and of each: 2 GiB
	Tmp       uint64        // bytes of /tmp and of /dev/shm, each: 256 MiB
}

const (
	mebibyte = 1 << 20
	// maxOutput keeps both streams of a program within one mebibyte of memory.
	maxOutput = mebibyte / 2
)

func (l Limits) withDefaults() Limits {
	set := func(value *uint64, fallback uint64) {
		if *value == 0 {
			*value = fallback
		}
	}
	if l.Wall <= 0 {
		l.Wall = 2 * time.Minute
	}
	if l.Output <= 0 {
		l.Output = 64 << 10
	}
	l.Output = min(l.Output, maxOutput)
	set(&l.Processes, 512)
	set(&l.FileSize, 1<<30)
	set(&l.OpenFiles, 1024)
	set(&l.Memory, 2<<30)
	set(&l.Tmp, 256*mebibyte)
	return l
}

// Ending says how a program ended.
type Ending string

// The endings.
const (
	EndExited    Ending = "exited"    // by itself, with a code or by a signal
	EndTimedOut  Ending = "timed_out" // its wall time was over
	EndCancelled Ending = "cancelled" // the context was
	EndLimit     Ending = "limit"     // it ran into a limit; Outcome.Limit says which
)

// Outcome describes the end of a program.
type Outcome struct {
	Ending   Ending
	Code     int            // of its exit; -1 when it has none
	Signal   syscall.Signal // that ended it, when one did
	Limit    string         // which limit, in words, when Ending is EndLimit
	Duration time.Duration
	// Replaced are the protected paths that somebody outside replaced meanwhile. From then on the
	// program could write them, so a person should look at them.
	Replaced []string
	// Linked are the files and folders that were read-only because they, or files in them, have names
	// outside of the workspace as well.
	Linked []string
	// Planted are the protected paths that somebody made or changed meanwhile and that were set aside.
	Planted []Planted
	Stdout  Output // empty for a process from Start, whose reader has it
	Stderr  Output
}

// Planted is a protected path that changed while a program ran, and its state since.
type Planted struct {
	Path  string
	Aside string // where it lies now; empty if it could not be moved, or was a link that is put back
}

func (c Command) check() error {
	switch {
	case len(c.Argv) == 0 || c.Argv[0] == "":
		return &chat.Error{Code: chat.CodeInvalid, Message: "the command is empty"}
	case !filepath.IsAbs(c.Workspace) || filepath.Clean(c.Workspace) != c.Workspace || c.Workspace == "/":
		return &chat.Error{Code: chat.CodeInvalid, Message: "the workspace must be an absolute, clean path below /"}
	}
	for _, text := range append(append([]string{c.Dir}, c.Argv...), c.Env...) {
		if strings.ContainsRune(text, 0) {
			return &chat.Error{Code: chat.CodeInvalid, Message: "a NUL byte in the command, its folder or its environment"}
		}
	}
	return nil
}

func (c Command) dir() string {
	switch {
	case c.Dir == "":
		return c.Workspace
	case filepath.IsAbs(c.Dir):
		return filepath.Clean(c.Dir)
	}
	return filepath.Join(c.Workspace, c.Dir)
}

// usualPath is where programs are on every machine.
const usualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// searchPath lists the folders in which programs are looked up: our own search path, as far as it
// exists in a sandbox, then the usual folders.
func (o Options) searchPath(own string) string {
	var dirs []string
	for _, dir := range filepath.SplitList(own) {
		inside := slices.ContainsFunc(append([]string{"/usr"}, o.ReadOnly...), func(root string) bool {
			below, err := filepath.Rel(root, dir)
			return err == nil && filepath.IsLocal(below)
		})
		if filepath.IsAbs(dir) && inside && !slices.Contains(strings.Split(usualPath, ":"), dir) {
			dirs = append(dirs, dir)
		}
	}
	return strings.Join(append(dirs, usualPath), ":")
}

// environment puts the variables together; of two with one name the later wins, as in exec.Cmd.
func (o Options) environment(home string, lookup func(string) (string, bool), command []string) []string {
	own, _ := lookup("PATH")
	env := []string{
		"PATH=" + o.searchPath(own), "HOME=" + home, "TMPDIR=/tmp", "LANG=C.UTF-8", "TERM=dumb", "USER=agent", "LOGNAME=agent",
	}
	for _, name := range o.Pass {
		if value, ok := lookup(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return append(env, command...)
}

// Warning is a warning for people about the tier, or empty.
func (o Options) Warning() string {
	if o.Tier == TierNone {
		return "NO SANDBOX: programs run with all your rights, on all your files and with your network"
	}
	if os.Geteuid() == 0 {
		return "the sandbox is started by root: programs in it read files that only root may read"
	}
	return ""
}

// Path is where programs will be looked for by their bare names: PATH in the environment they get.
func Path(o Options, lookup func(string) (string, bool)) string {
	path := ""
	for _, entry := range o.environment("", lookup, nil) {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			path = value
		}
	}
	return path
}
