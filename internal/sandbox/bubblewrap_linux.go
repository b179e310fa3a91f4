package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"golang.org/x/sys/unix"
)

const (
	bubblewrapProgram = "bwrap"
	home              = "/tmp/home"
	insideUser        = "1000"
)

// plan is one sandbox before it is started: the arguments of bubblewrap and the files it inherits.
type plan struct {
	isolation []string // which namespaces and privileges
	system    []string // the parts of the machine to mount
	work      []string // the workspace and what is protected in it
	seal      []string // options that follow all mounts
	filter    seccomp.Policy
	spec      spec
	files     []*os.File // from firstMount on
	opened    []*os.File // those among them that are ours to close
}

// add gives a file to the sandbox and returns its number there.
func (p *plan) add(f *os.File) string {
	p.files = append(p.files, f)
	return strconv.Itoa(firstMount + len(p.files) - 1)
}

// addData gives bytes to the sandbox as a file.
func (p *plan) addData(name string, data []byte) (string, error) {
	f, err := memoryFile(name, data)
	if err != nil {
		return "", err
	}
	p.opened = append(p.opened, f)
	return p.add(f), nil
}

func (p *plan) close() {
	for _, f := range p.opened {
		_ = f.Close()
	}
}

// isolation has no --die-with-parent: if we die in the moment after bubblewrap asked for it and
// before it released its child, the child waits for ever. The first process does that work, see
// confined.
var isolation = []string{
	"--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup",
	"--disable-userns", "--uid", insideUser, "--gid", insideUser, "--cap-drop", "ALL",
	"--hostname", "sandbox", "--new-session", "--as-pid-1", "--clearenv",
}

// readable are the files of the machine that programs need to run at all, and those by which they
// check certificates.
var readable = []string{
	"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ssl/certs",
	"/etc/ssl/openssl.cnf", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted", "/etc/localtime",
}

// madeUp are the files under /etc whose real ones say more of the machine than is needed.
var madeUp = [][2]string{
	{"/etc/passwd", "root:x:0:0:root:/nonexistent:/bin/false\nagent:x:1000:1000:agent:" + home + ":/bin/sh\n" +
		"nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n"},
	{"/etc/group", "root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n"},
	{"/etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n"},
	{"/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"},
}

func (b *Box) plan(c Command, l Limits, s *shield) (*plan, error) {
	p := &plan{isolation: append([]string{}, isolation...), filter: baseFilter()}
	p.spec = spec{
		Argv: c.Argv, Dir: c.dir(), Env: b.options.environment(home, os.LookupEnv, c.Env),
		Limits: l, Proxy: c.Network != nil, Families: programFamilies,
	}
	if err := p.mountSystem(b.options.ReadOnly, b.self, l); err != nil {
		return p, err
	}
	if err := p.mountWorkspace(c, s); err != nil {
		return p, err
	}
	if c.Cache != "" {
		cache, err := openPath(c.Cache)
		if err != nil {
			return p, fmt.Errorf("open the cache of the workspace: %w", err)
		}
		p.opened = append(p.opened, cache)
		p.system = append(p.system, "--bind-fd", p.add(cache), home+"/.cache")
	}
	if c.Network != nil {
		socket, err := openPath(c.Network.Socket)
		if err != nil {
			return p, fmt.Errorf("open the socket of the egress proxy: %w", err)
		}
		p.opened = append(p.opened, socket)
		p.system = append(p.system, "--bind-fd", p.add(socket), egressPath)
	}
	p.seal = []string{"--remount-ro", "/dev", "--remount-ro", "/"}
	if b.weaken != nil {
		b.weaken(p)
	}
	return p, nil
}

func (p *plan) mountSystem(more []string, self *os.File, l Limits) error {
	p.system = append(p.system, "--ro-bind", "/usr", "/usr")
	for _, dir := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		target, err := os.Readlink(dir)
		switch {
		case err == nil:
			p.system = append(p.system, "--symlink", target, dir)
		case !errors.Is(err, fs.ErrNotExist):
			p.system = append(p.system, "--ro-bind", dir, dir)
		}
	}
	for _, file := range readable {
		p.system = append(p.system, "--ro-bind-try", file, file)
	}
	for _, file := range madeUp {
		fd, err := p.addData(file[0], []byte(file[1]))
		if err != nil {
			return err
		}
		p.system = append(p.system, "--perms", "0444", "--file", fd, file[0])
	}
	size := strconv.FormatUint(l.Tmp, 10)
	p.system = append(p.system, "--proc", "/proc", "--dev", "/dev", "--size", size, "--tmpfs", "/dev/shm",
		"--perms", "1777", "--size", size, "--tmpfs", "/tmp", "--dir", home,
		"--ro-bind-fd", p.add(self), initPath)
	for _, dir := range more {
		p.system = append(p.system, "--ro-bind", dir, dir)
	}
	return nil
}

func (p *plan) mountWorkspace(c Command, s *shield) error {
	how := "--bind-fd"
	if c.ReadOnly {
		how = "--ro-bind-fd"
	}
	p.work = append(p.work, how, p.add(s.workspace), c.Workspace)
	if c.ReadOnly {
		return nil
	}
	masks, err := s.masks()
	if err != nil {
		return err
	}
	for _, m := range masks {
		how := "--bind-fd"
		if m.readOnly {
			how = "--ro-bind-fd"
		}
		p.work = append(p.work, how, p.add(m.file), filepath.Join(c.Workspace, m.path))
	}
	return nil
}

// command puts it together. Arguments go through a file, as they name paths of the machine.
func (p *plan) command(path string, status, life, info *os.File) (*exec.Cmd, error) {
	filter, err := assemble(p.filter)
	if err != nil {
		return nil, err
	}
	filterFD, err := p.addData("filter", filter)
	if err != nil {
		return nil, err
	}
	infoFD := p.add(info)
	args := append([]string{}, p.isolation...)
	args = append(args, "--seccomp", filterFD, "--info-fd", infoFD)
	args = append(append(append(args, p.system...), p.work...), p.seal...)
	argsFD, err := p.addData("arguments", []byte(strings.Join(args, "\x00")+"\x00"))
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(p.spec)
	if err != nil {
		return nil, fmt.Errorf("write down what to run: %w", err)
	}
	specification, err := memoryFile("spec", data)
	if err != nil {
		return nil, err
	}
	p.opened = append(p.opened, specification)
	cmd := exec.Command(path, "--args", argsFD, initPath, InitCommand)
	cmd.Env, cmd.Dir = []string{}, "/"
	cmd.ExtraFiles = append([]*os.File{specification, status, life}, p.files...)
	return cmd, nil
}

// memoryFile holds data without a name in any folder.
func memoryFile(name string, data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.WriteAt(data, 0); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("fill a file in memory: %w", err)
	}
	return f, nil
}

func openPath(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}
