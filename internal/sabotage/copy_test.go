//go:build unix

package sabotage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// suiteTime is how long a suite may take.
	suiteTime = 30 * time.Minute
	// leaveTime is how long what it started may go on after it.
	leaveTime = 10 * time.Second
)

// tools are what make has built, which a copy need not build again.
var tools = []string{"golangci-lint", "sqlc", "workflowcheck", "actionlint", "retinue", "retinue-full"}

// installed are folders that a copy shares, if they exist: nobody writes to them but a package
// manager.
var installed = []string{"web/node_modules", "web/generate/node_modules"}

// replica is a copy of the repository. It has the same place whenever it is made, since the linters
// keep what they found by place.
type replica struct{ root, dir string }

// repository is the root of this repository.
func repository(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// newReplica is the place of a copy, which is this test's alone until it ends. Copies that are used
// at the same time have numbers.
func newReplica(t *testing.T, number int) replica {
	t.Helper()
	c := replica{root: repository(t), dir: filepath.Join(os.TempDir(), fmt.Sprintf("retinue-sabotage-%d", number))}
	file, err := os.OpenFile(c.dir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	must(t, err)
	must(t, syscall.Flock(int(file.Fd()), syscall.LOCK_EX)) // waits for the process that has it
	t.Cleanup(func() {
		_ = os.RemoveAll(c.dir)
		_ = file.Close()
	})
	return c
}

// fill makes the copy anew: all files that git knows or would add, the built pages, and the tools.
// Others can read it, since some suites run programs as a user without rights.
func (c replica) fill(t *testing.T) {
	t.Helper()
	must(t, os.RemoveAll(c.dir))
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = c.root
	out, err := list.Output()
	must(t, err)
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		c.take(t, name)
	}
	err = filepath.WalkDir(filepath.Join(c.root, "web", "dist"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			c.take(t, strings.TrimPrefix(path, c.root+"/"))
		}
		return err
	})
	if !errors.Is(err, fs.ErrNotExist) {
		must(t, err)
	}
	must(t, os.MkdirAll(filepath.Join(c.dir, "bin"), 0o755))
	for _, name := range tools {
		c.link(t, filepath.Join("bin", name))
	}
	for _, name := range installed {
		if _, err := os.Stat(filepath.Join(c.root, name)); err == nil {
			must(t, os.Symlink(filepath.Join(c.root, name), filepath.Join(c.dir, name)))
		}
	}
}

// take copies one file with its times, which make looks at. One that was removed is left out.
func (c replica) take(t *testing.T, name string) {
	t.Helper()
	from, to := filepath.Join(c.root, name), filepath.Join(c.dir, name)
	info, err := os.Lstat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	must(t, err)
	must(t, os.MkdirAll(filepath.Dir(to), 0o755))
	if info.Mode().Type() == fs.ModeSymlink {
		target, err := os.Readlink(from)
		must(t, err)
		must(t, os.Symlink(target, to))
		return
	}
	in, err := os.Open(from)
	must(t, err)
	defer in.Close() //nolint:errcheck // it was only read
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	must(t, err)
	_, err = io.Copy(out, in)
	must(t, errors.Join(err, out.Close()))
	must(t, os.Chtimes(to, info.ModTime(), info.ModTime()))
}

// link gives the copy a program that was built, if it was. A build replaces the name
// and not the file.
func (c replica) link(t *testing.T, name string) {
	t.Helper()
	err := os.Link(filepath.Join(c.root, name), filepath.Join(c.dir, name))
	switch {
	case errors.Is(err, syscall.EXDEV):
		c.take(t, name)
	case !errors.Is(err, fs.ErrNotExist):
		must(t, err)
	}
}

// edit makes a change.
func (c replica) edit(t *testing.T, e Edit) {
	t.Helper()
	path := filepath.Join(c.dir, e.File)
	source, err := os.ReadFile(path)
	must(t, err)
	if n := strings.Count(string(source), e.Old); n != 1 {
		t.Fatalf("the place of the break occurs %d times in %s", n, e.File)
	}
	must(t, os.WriteFile(path, []byte(strings.Replace(string(source), e.Old, e.New, 1)), 0o600)) // it exists, and keeps its mode
}

// build makes the programs anew. A break that does not build proves nothing.
func (c replica) build(t *testing.T) {
	t.Helper()
	for _, name := range []string{"retinue", "retinue-full"} {
		if err := os.Remove(filepath.Join(c.dir, "bin", name)); !errors.Is(err, fs.ErrNotExist) {
			must(t, err)
		}
	}
	if out, failed := c.run(t, "engine", "lean"); failed {
		t.Fatalf("the programs do not build, so nothing is proved:\n%s", tail(out))
	}
}

// suite runs a suite as the gate does, and reports whether it failed.
func (c replica) suite(t *testing.T, name string) (string, bool) {
	t.Helper()
	args, err := gateCommand(c.dir, name)
	must(t, err)
	return c.run(t, args...)
}

// run has make carry something out in the copy. If it takes too long, all that it started is killed
// with it.
func (c replica) run(t *testing.T, args ...string) (string, bool) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), suiteTime)
	defer stop()
	cmd := exec.CommandContext(ctx, "make", append([]string{"--no-print-directory"}, args...)...)
	cmd.Dir, cmd.Env = c.dir, append(environ(), "PWD="+c.dir)
	cmd.SysProcAttr, cmd.WaitDelay = &syscall.SysProcAttr{Setpgid: true}, leaveTime
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out, err := cmd.CombinedOutput()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		t.Fatalf("make %s: %v\n%s", strings.Join(args, " "), err, tail(string(out)))
	}
	if ctx.Err() != nil {
		t.Fatalf("make %s takes more than %s\n%s", strings.Join(args, " "), suiteTime, tail(string(out)))
	}
	return string(out), err != nil
}

// environ is the environment without what a make around this test would tell another.
func environ() []string {
	drop := map[string]bool{"MAKEFLAGS": true, "MFLAGS": true, "MAKELEVEL": true, "MAKEOVERRIDES": true, "PWD": true}
	for word := range strings.FieldsSeq(os.Getenv("MAKEFLAGS")) {
		if name, _, ok := strings.Cut(word, "="); ok {
			drop[name] = true
		}
	}
	var out []string
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); !drop[name] {
			out = append(out, pair)
		}
	}
	return out
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
