//go:build linux

package shell_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/sandbox"
	"github.com/retinue-dev/retinue/internal/tool"
	"github.com/retinue-dev/retinue/internal/tool/builtin"
	"github.com/retinue-dev/retinue/internal/tool/shell"
)

// TestMain is also the first process of a sandbox.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sandbox.InitCommand {
		os.Exit(sandbox.Init(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// bench is a workspace with the tool on it.
type bench struct {
	dir  string
	tool *shell.Tool
	set  *tool.Set
}

func newBench(t *testing.T, o sandbox.Options, hosts ...string) bench {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "work")
	must(t, os.Mkdir(dir, 0o755))
	files, err := builtin.Open(dir)
	must(t, err)
	box, err := sandbox.Open(t.Context(), o)
	must(t, err)
	made, err := shell.New(shell.Options{
		Workspace: dir, Files: files.Files, Sandbox: o, Hosts: hosts,
		Enter: func(context.Context) (shell.Env, error) { return shell.Env{Box: box}, nil },
	})
	must(t, err)
	t.Cleanup(func() { must(t, errors.Join(made.Close(), box.Close(), files.Close())) })
	set, err := tool.NewSet(tool.Options{}, made)
	must(t, err)
	return bench{dir: dir, tool: made, set: set}
}

func bare() sandbox.Options { return sandbox.Options{Tier: sandbox.TierNone} }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func call(t *testing.T, pairs ...any) tool.Call {
	t.Helper()
	args := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			t.Fatalf("%v is no name", pairs[i])
		}
		args[name] = pairs[i+1]
	}
	data, err := json.Marshal(args)
	must(t, err)
	return tool.Call{ID: "1.0", Tool: "shell", Args: data}
}

func (b bench) run(t *testing.T, pairs ...any) tool.Result {
	t.Helper()
	r, err := b.set.Run(t.Context(), call(t, pairs...))
	must(t, err)
	for i := range r.Facts.Commands {
		r.Facts.Commands[i].Duration = 0
	}
	return r
}

func TestHowACommandEnds(t *testing.T) {
	b := newBench(t, bare())
	for line, want := range map[string]tool.Result{
		"echo out; echo err >&2": {Text: "out\nerr\n[exit code 0]", End: tool.EndOK},
		"true":                   {Text: "(no output)\n[exit code 0]", End: tool.EndOK},
		"echo a; exit 3":         {Text: "a\n[exit code 3]", End: tool.EndFailed},
		"kill -9 $$":             {Text: "(no output)\n[ended by signal 9, SIGKILL]", End: tool.EndFailed},
		"[[ a == a ]] && echo bash": {
			Text: "bash\n[exit code 0]", End: tool.EndOK,
		},
	} {
		fact := tool.Command{Line: line}
		switch {
		case strings.Contains(line, "exit 3"):
			fact.Exit = 3
		case strings.HasPrefix(line, "kill"):
			fact.Exit, fact.Signal = -1, "SIGKILL"
		}
		want.Facts.Commands = []tool.Command{fact}
		if diff := cmp.Diff(want, b.run(t, "command", line)); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
}

func TestACommandWhoseTimeIsOver(t *testing.T) {
	b := newBench(t, bare())
	want := tool.Result{
		Text: "begun\n[stopped after 3s, with everything it started: its time was over; what it did until then stays done]",
		End:  tool.EndTimedOut,
		Facts: tool.Facts{
			Commands: []tool.Command{{Line: "echo begun; touch half; sleep 30", Exit: -1, Signal: "timed out"}},
			Wrote:    []tool.Change{{Path: "half", After: hashOf("")}},
		},
	}
	if diff := cmp.Diff(want, b.run(t, "command", "echo begun; touch half; sleep 30", "timeout", 3)); diff != "" {
		t.Error(diff)
	}
}

func TestTimesAsOthersSendThem(t *testing.T) {
	b := newBench(t, bare())
	for timeout, want := range map[any]string{
		1500:    "stopped after 1.5s",
		601:     "timeout is 600 seconds at most",
		700_000: "timeout is 600 seconds at most",
		0:       "do not fit",
		"5":     "do not fit",
		600:     "exit code 0",
		600_000: "exit code 0",
	} {
		line := "true"
		if timeout == 1500 {
			line = "sleep 20"
		}
		if r := b.run(t, "command", line, "timeout", timeout); !strings.Contains(r.Text, want) {
			t.Errorf("%v: %s", timeout, r.Text)
		}
	}
}

func TestNamesThatOthersUse(t *testing.T) {
	b := newBench(t, bare())
	must(t, os.Mkdir(filepath.Join(b.dir, "sub"), 0o755))
	for _, name := range []string{"Bash", "bash", "terminal", "execute_bash", "run_command", "run_shell_command"} {
		c := call(t, "cmd", "pwd", "workdir", "sub", "run_in_background", false, "description", "where")
		c.Tool = name
		if r, err := b.set.Run(t.Context(), c); err != nil || !strings.HasPrefix(r.Text, filepath.Join(b.dir, "sub")+"\n") {
			t.Errorf("%s: %v %s", name, err, r.Text)
		}
	}
}

func TestTheFolderStaysInTheWorkspace(t *testing.T) {
	b := newBench(t, bare())
	outside := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(b.dir, "sub/deep"), 0o755))
	must(t, os.Symlink(outside, filepath.Join(b.dir, "out")))
	must(t, os.Symlink("sub/deep", filepath.Join(b.dir, "in")))
	must(t, os.Symlink("../../..", filepath.Join(b.dir, "sub/up")))
	must(t, os.WriteFile(filepath.Join(b.dir, "file"), nil, 0o644))
	for cwd, want := range map[string]string{
		"sub": "sub", "./sub/": "sub", "in": "sub/deep", b.dir: "", b.dir + "/sub": "sub", "sub/..": "",
	} {
		if r := b.run(t, "command", "pwd -P", "cwd", cwd); r.Text != filepath.Join(b.dir, want)+"\n[exit code 0]" {
			t.Errorf("%s: %s", cwd, r.Text)
		}
	}
	for _, cwd := range []string{"..", "../x", "/", "/tmp", outside, "out", "sub/up", "file", "missing", "a\x00b", b.dir + "x", "~"} {
		if r := b.run(t, "command", "pwd", "cwd", cwd); r.End != tool.EndFailed || !strings.Contains(r.Text, "cwd") && !strings.Contains(r.Text, "NUL") {
			t.Errorf("%s was taken: %s", cwd, r.Text)
		}
	}
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func TestChangedFilesAreFacts(t *testing.T) {
	b := newBench(t, bare())
	for name, text := range map[string]string{"same": "1", "changed": "1", "gone": "1", ".gitignore": "*.log\n", "noise.log": "1"} {
		must(t, os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o644))
	}
	r := b.run(t, "command", "cat same; echo 22 > changed; rm gone; mkdir sub; printf new > sub/new; echo 2 > noise.log; mkdir .git; echo > .git/x; exit 1")
	want := []tool.Change{
		{Path: "changed", Before: tool.Unknown, After: hashOf("22\n"), Bytes: 3}, {Path: "gone", Before: tool.Unknown}, {Path: "sub/new", After: hashOf("new"), Bytes: 3},
	}
	if diff := cmp.Diff(want, r.Facts.Wrote); diff != "" || r.Facts.Partial || r.End != tool.EndFailed {
		t.Errorf("%s, partial %v: %s", r.End, r.Facts.Partial, diff)
	}
}

func TestTooMuchToLookAtIsSaid(t *testing.T) {
	b := newBench(t, bare())
	r := b.run(t, "command", "for i in $(seq 600); do echo $i > f$i; done")
	if len(r.Facts.Wrote) != 500 || !r.Facts.Partial {
		t.Errorf("%d changes, partial %v", len(r.Facts.Wrote), r.Facts.Partial)
	}
	r = b.run(t, "command", "head -c 9000000 /dev/zero > large")
	if want := []tool.Change{{Path: "large", After: tool.Unknown, Bytes: 9_000_000}}; !cmp.Equal(want, r.Facts.Wrote) {
		t.Errorf("%+v", r.Facts.Wrote)
	}
}

func TestWithoutASandboxEveryCallSaysWhy(t *testing.T) {
	files, err := builtin.Open(t.TempDir())
	must(t, err)
	defer func() { must(t, files.Close()) }()
	made, err := shell.New(shell.Options{Workspace: t.TempDir(), Files: files.Files, Enter: func(ctx context.Context) (shell.Env, error) {
		_, err := sandbox.Open(ctx, sandbox.Options{Tier: sandbox.TierGVisor, AllowRoot: true})
		return shell.Env{}, err
	}})
	must(t, err)
	set, err := tool.NewSet(tool.Options{}, made)
	must(t, err)
	r, err := set.Run(t.Context(), call(t, "command", "true"))
	if err != nil || r.End != tool.EndFailed || !strings.Contains(r.Text, "choose bubblewrap") {
		t.Errorf("%v %s %s", err, r.End, r.Text)
	}
}

func TestWhatTheModelIsToldOfItsSurroundings(t *testing.T) {
	none := newBench(t, bare()).tool.Definition()
	if !strings.Contains(none.Description, "NO sandbox") || none.Network {
		t.Errorf("%v %s", none.Network, none.Description)
	}
	for _, hosts := range [][]string{nil, {"a.example", "*.b.example"}} {
		made, err := shell.New(shell.Options{Workspace: t.TempDir(), Sandbox: sandbox.Options{Tier: sandbox.TierBubblewrap}, Hosts: hosts})
		must(t, err)
		d := made.Definition()
		if d.Network != (hosts != nil) || strings.Contains(d.Description, "no network") != (hosts == nil) ||
			strings.Contains(d.Description, "a.example, *.b.example") != (hosts != nil) {
			t.Errorf("%v: %v %s", hosts, d.Network, d.Description)
		}
	}
}

func TestARuleIsHeldAgainstEveryCommandOfALine(t *testing.T) {
	b := newBench(t, bare())
	about := b.set.About(call(t, "cmd", "go test ./... && rm -rf x"))
	want := []tool.Matter{{Forms: []string{"go test ./..."}}, {Forms: []string{"rm -rf x"}, Inside: []string{"rm x"}}}
	if diff := cmp.Diff(want, about.Matters); diff != "" || about.Pattern != "" {
		t.Errorf("%q %s", about.Pattern, diff)
	}
}

// TestACancelledCommandIsGone starts what would live on, and looks for it afterwards.
func TestACancelledCommandIsGone(t *testing.T) {
	b := newBench(t, bare())
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for {
			if _, err := os.Stat(filepath.Join(b.dir, "begun")); err == nil {
				cancel()
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	_, err := b.set.Run(ctx, call(t, "command", "(trap '' TERM HUP; while :; do date > alive; sleep 0.02; done) & touch begun; wait"))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the call gave %v", err)
	}
	alive := filepath.Join(b.dir, "alive")
	must(t, os.RemoveAll(alive))
	time.Sleep(300 * time.Millisecond)
	if _, err := os.Stat(alive); err == nil {
		t.Error("a process went on")
	}
}
