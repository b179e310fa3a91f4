//go:build services && linux

package sandbox

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/retinue-dev/retinue/internal/chat"
)

// pathCase is a workspace, or a folder in it, that could lead a mount elsewhere.
type pathCase struct {
	name   string
	make   func(t *testing.T, dir string) Command // in a fresh folder
	script string
	code   chat.Code // of the refusal; otherwise the script must end with 0
	want   string    // in what it prints
}

func in(path string) func(*testing.T, string) Command {
	return func(t *testing.T, dir string) Command {
		t.Helper()
		work := filepath.Join(dir, path)
		must(t, os.MkdirAll(work, 0o755))
		return Command{Workspace: work}
	}
}

// linked has a symbolic link in a workspace, to a folder outside of it.
func linked(name string, use func(c *Command)) func(*testing.T, string) Command {
	return func(t *testing.T, dir string) Command {
		t.Helper()
		work, outside := filepath.Join(dir, "work"), filepath.Join(dir, "outside")
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(work, name)), 0o755))
		must(t, os.MkdirAll(outside, 0o755))
		must(t, os.Symlink(outside, filepath.Join(work, name)))
		c := Command{Workspace: work}
		if use != nil {
			use(&c)
		}
		return c
	}
}

var pathCases = []pathCase{
	{name: "spaces", make: in("a b  c"), script: `pwd && touch x`, want: "a b  c"},
	{name: "a new line", make: in("a\nb"), script: `pwd && touch x`, want: "a\nb"},
	{name: "other letters", make: in("ünï-漢字"), script: `pwd && touch x`, want: "漢字"},
	{name: "what looks like an option", make: in("--bind"), script: `pwd && touch x`, want: "--bind"},
	{name: "quotes", make: in(`"'$(x)`), script: `pwd && touch x`, want: `"'$(x)`},
	{name: "a percent sign and a backslash", make: in(`%n\040`), script: `pwd && touch x`, want: `%n\040`},
	{name: "very deep", make: in(strings.Repeat("d/", 200) + "e"), script: `touch x`},
	{name: "a link", code: chat.CodeDenied, make: func(t *testing.T, dir string) Command {
		t.Helper()
		must(t, os.Symlink("/etc", filepath.Join(dir, "work")))
		return Command{Workspace: filepath.Join(dir, "work")}
	}},
	{name: "below a link", code: chat.CodeDenied, make: func(t *testing.T, dir string) Command {
		t.Helper()
		must(t, os.Symlink("/etc", filepath.Join(dir, "up")))
		return Command{Workspace: filepath.Join(dir, "up/ssl")}
	}},
	{name: "not clean", code: chat.CodeInvalid, make: func(_ *testing.T, dir string) Command {
		return Command{Workspace: dir + "/../" + filepath.Base(dir)}
	}},
	{name: "the root", code: chat.CodeInvalid, make: func(*testing.T, string) Command { return Command{Workspace: "/"} }},
	{name: "relative", code: chat.CodeInvalid, make: func(*testing.T, string) Command { return Command{Workspace: "work"} }},
	{name: "missing", code: chat.CodeInvalid, make: func(_ *testing.T, dir string) Command {
		return Command{Workspace: dir + "/missing"}
	}},
	{name: "a file", code: chat.CodeInvalid, make: func(t *testing.T, dir string) Command {
		t.Helper()
		must(t, os.WriteFile(dir+"/file", nil, 0o600))
		return Command{Workspace: dir + "/file"}
	}},
	{name: "git is a link", code: chat.CodeDenied, make: linked(".git", nil)},
	{name: "git's hooks are a link", code: chat.CodeDenied, make: linked(".git/hooks", nil)},
	{name: "the folder of hooks is a link", code: chat.CodeDenied, make: func(t *testing.T, dir string) Command {
		t.Helper()
		must(t, os.MkdirAll(dir+"/real", 0o755))
		must(t, os.Symlink("real", dir+"/hooks"))
		must(t, exec.Command("/bin/sh", "-c", "cd "+dir+" && git init -q . && git config core.hooksPath hooks").Run())
		return Command{Workspace: dir}
	}},
	{name: "roles are a link", code: chat.CodeDenied, make: linked(".retinue", nil)},
	{name: "a protected link leads nowhere", code: chat.CodeDenied, make: func(t *testing.T, dir string) Command {
		t.Helper()
		must(t, os.Symlink("/nonexistent", dir+"/.mcp.json"))
		return Command{Workspace: dir}
	}},
	{name: "a protected link, read-only", script: `! touch .retinue/x`, make: linked(".retinue", func(c *Command) { c.ReadOnly = true })},
	{name: "git is a file", script: `! echo x > .git && ! rm -f .git && ! mv .git y`, make: func(t *testing.T, dir string) Command {
		t.Helper()
		must(t, os.WriteFile(dir+"/.git", []byte("gitdir: elsewhere\n"), 0o600))
		return Command{Workspace: dir}
	}},
	{name: "a protected path is a pipe", script: `! mv .envrc y`, make: func(t *testing.T, dir string) Command {
		t.Helper()
		must(t, unix.Mkfifo(dir+"/.envrc", 0o600))
		return Command{Workspace: dir}
	}},
	{name: "starts in a folder of it", script: `pwd`, want: "/work/sub", make: func(t *testing.T, dir string) Command {
		t.Helper()
		c := in("work/sub")(t, dir)
		return Command{Workspace: filepath.Dir(c.Workspace), Dir: "sub"}
	}},
	{name: "starts above it", code: chat.CodeNotFound, make: func(t *testing.T, dir string) Command {
		t.Helper()
		must(t, os.MkdirAll(dir+"/outside", 0o755))
		c := in("work")(t, dir)
		c.Dir = "../outside"
		return c
	}},
	{name: "starts at a link out of it", code: chat.CodeNotFound, make: linked("out", func(c *Command) { c.Dir = "out" })},
	{name: "starts elsewhere", code: chat.CodeNotFound, make: func(t *testing.T, dir string) Command {
		t.Helper()
		c := in("work")(t, dir)
		c.Dir = "/var/lib"
		return c
	}},
	{name: "read-only", script: `test -e x && ! touch y && ! rm x && ! echo z > x && ! mkdir d && ! ln x y`, make: func(t *testing.T, dir string) Command {
		t.Helper()
		must(t, os.WriteFile(dir+"/x", nil, 0o600))
		return Command{Workspace: dir, ReadOnly: true}
	}},
	{name: "in the machine's /tmp", script: `touch x && test "$(ls /tmp)" != ""`, make: func(t *testing.T, _ string) Command {
		t.Helper()
		return Command{Workspace: t.TempDir()}
	}},
}

func TestPathsLeadNowhereElse(t *testing.T) {
	b := openBox(t, TierBubblewrap)
	for _, c := range pathCases {
		t.Run(c.name, func(t *testing.T) {
			dir := tempDir(t)
			command := c.make(t, dir)
			command.Argv = shell(c.script)
			outcome, err := b.Run(t.Context(), command)
			if c.code != "" {
				if err == nil || chat.CodeOf(err) != c.code {
					t.Errorf("got %v and %+v, want it refused as %s", err, outcome, c.code)
				}
				return
			}
			if err != nil || outcome.Code != 0 || !strings.Contains(outcome.Stdout.String(), c.want) {
				t.Errorf("%v, code %d: %s%s", err, outcome.Code, outcome.Stdout, outcome.Stderr)
			}
		})
	}
}

func TestAnOperatorProtectsMore(t *testing.T) {
	for _, path := range []string{"/etc", "..", "../x", "a/../../b", "."} {
		b, err := Open(t.Context(), Options{Tier: TierBubblewrap, Protected: []string{path}})
		if chat.CodeOf(err) != chat.CodeInvalid {
			t.Errorf("%q was accepted: %v, %v", path, b, err)
		}
	}
	work := tempDir(t)
	must(t, os.MkdirAll(work+"/.git/refs", 0o755))
	b, err := Open(t.Context(), Options{Tier: TierBubblewrap, Protected: []string{".git", "a/b"}})
	must(t, err)
	outcome, err := b.Run(t.Context(), Command{
		Argv: shell(`! touch .git/x && ! touch .git/refs/x && ! touch .git/hooks/x && ! mkdir a/b && touch c`), Workspace: work,
	})
	if err != nil || outcome.Code != 0 {
		t.Errorf("%v, code %d: %s", err, outcome.Code, outcome.Stderr)
	}
	must(t, b.Close())
}

// TestStartFilesOfShells are protected where they are, and at home also where they are not yet.
func TestStartFilesOfShells(t *testing.T) {
	b, work := openBox(t, TierBubblewrap), tempDir(t)
	must(t, os.WriteFile(work+"/.zshrc", []byte("mine"), 0o644))
	run := func(script string) {
		t.Helper()
		o, err := b.Run(t.Context(), Command{Argv: shell(script), Workspace: work})
		if err != nil || o.Code != 0 {
			t.Errorf("%s: %v, code %d: %s%s", script, err, o.Code, o.Stdout, o.Stderr)
		}
	}
	run(`! echo x > .zshrc && ! mv .zshrc a && touch .bashrc && rm .bashrc && mkdir -p .config/fish && rm -r .config`)
	t.Setenv("HOME", work)
	run(`! echo x > .zshrc && ! touch .bashrc && ! mkdir .config/fish && touch a`)
	if data, err := os.ReadFile(work + "/.zshrc"); err != nil || string(data) != "mine" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := os.Lstat(work + "/.bashrc"); !os.IsNotExist(err) {
		t.Errorf("a placeholder is left: %v", err)
	}
}

func TestPlaceholdersAreGoneAfterwards(t *testing.T) {
	b, work := openBox(t, TierBubblewrap), tempDir(t)
	must(t, os.Mkdir(work+"/.envrc", 0o755)) // a person's, though empty
	must(t, os.Mkdir(work+"/.git", 0o755))
	outcome, err := b.Run(t.Context(), Command{Argv: shell(`ls -A . .git; touch done`), Workspace: work})
	if err != nil || !strings.Contains(outcome.Stdout.String(), ".mcp.json") || !strings.Contains(outcome.Stdout.String(), "commondir") {
		t.Errorf("%v, no placeholders are seen inside: %s%s", err, outcome.Stdout, outcome.Stderr)
	}
	var left []string
	must(t, filepath.WalkDir(work, func(path string, _ os.DirEntry, err error) error {
		left = append(left, strings.TrimPrefix(path, work))
		return err
	}))
	if got := strings.Join(left, " "); got != " /.envrc /.git /done" {
		t.Errorf("left are %q", got)
	}
}

// TestPlaceholdersStayWhileSomebodyNeedsThem has two runs in one workspace, of which one ends
// first.
func TestPlaceholdersStayWhileSomebodyNeedsThem(t *testing.T) {
	b, work := openBox(t, TierBubblewrap), tempDir(t)
	other := openBox(t, TierBubblewrap)
	first, err := b.Start(t.Context(), Command{Argv: shell(`read go; rmdir .mcp.json; echo x > .mcp.json`), Workspace: work})
	must(t, err)
	for deadline := time.Now().Add(time.Minute); ; {
		if _, err := os.Stat(work + "/.mcp.json"); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no placeholder came")
		}
		time.Sleep(time.Millisecond)
	}
	time.Sleep(200 * time.Millisecond)
	if _, err := other.Run(t.Context(), Command{Argv: shell(`true`), Workspace: work}); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintln(first.Stdin, "go"); err != nil {
		t.Fatal(err)
	}
	outcome, err := first.Wait()
	if err != nil || outcome.Code == 0 {
		t.Errorf("%v, code %d: the protected path was written", err, outcome.Code)
	}
	_ = first.Stdout.Close()
	if left, err := os.ReadDir(work); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// TestAFileSavedAnewOutsideIsReported has a program outside remove a mount without knowing.
func TestAFileSavedAnewOutsideIsReported(t *testing.T) {
	b, work := openBox(t, TierBubblewrap), tempDir(t)
	must(t, os.WriteFile(work+"/.mcp.json", []byte("old"), 0o600))
	p, err := b.Start(t.Context(), Command{
		Argv: shell(`echo x > .mcp.json || echo protected; read go; echo x > .mcp.json || echo protected`), Workspace: work,
	})
	must(t, err)
	from := bufio.NewReader(p.Stdout)
	if line, err := from.ReadString('\n'); err != nil || line != "protected\n" {
		t.Errorf("%q, %v", line, err)
	}
	must(t, os.WriteFile(work+"/new", []byte("new"), 0o600))
	must(t, os.Rename(work+"/new", work+"/.mcp.json"))
	if _, err := fmt.Fprintln(p.Stdin, "go"); err != nil {
		t.Fatal(err)
	}
	outcome, err := p.Wait()
	if diff := cmp.Diff([]string{".mcp.json"}, outcome.Replaced); diff != "" || err != nil {
		t.Error(diff, err)
	}
	must(t, p.Stdout.Close())
}

func TestManyRunsInOneWorkspace(t *testing.T) {
	b, work := openBox(t, TierBubblewrap), tempDir(t)
	must(t, os.MkdirAll(work+"/.git/hooks", 0o755))
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 8 {
				outcome, err := b.Run(t.Context(), Command{Argv: shell(`! touch .git/hooks/x && ! touch .retinue/x && ! mv .git y`), Workspace: work})
				if err != nil || outcome.Code != 0 {
					t.Errorf("%v, code %d: %s", err, outcome.Code, outcome.Stderr)
				}
			}
		})
	}
	wait.Wait()
	if left, err := os.ReadDir(work); err != nil || len(left) != 1 {
		t.Errorf("left are %v, %v", left, err)
	}
}

func TestGitWorksInside(t *testing.T) {
	b, work := openBox(t, TierBubblewrap), tempDir(t)
	bare := openBox(t, TierNone)
	if o, err := bare.Run(t.Context(), Command{Argv: shell(`git init -q .`), Workspace: work}); err != nil || o.Code != 0 {
		t.Fatalf("%v %s", err, o.Stderr)
	}
	outcome, err := b.Run(t.Context(), Command{Workspace: work, Argv: shell(
		`set -e; export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
		echo x > file; git add -A; git commit -q -m first; git checkout -q -b other; git stash list; git status --porcelain; git ls-files`)})
	if err != nil || outcome.Code != 0 || outcome.Stdout.String() != "file\n" {
		t.Errorf("%v, code %d: %s%s", err, outcome.Code, outcome.Stdout, outcome.Stderr)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
