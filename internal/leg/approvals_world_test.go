package leg

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/config/role"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/tool"
	"github.com/retinue-dev/retinue/internal/tool/builtin"
	"github.com/retinue-dev/retinue/internal/tool/command"
)

// grounds is the machine that calls run on: files, a search path, links, and what its keeper
// denies.
type grounds struct {
	dir    string
	path   []string
	denied []role.Rule
	set    *tool.Set
	// ran hears of each call that runs, just before it does.
	ran func(id, name, args string)
}

func newGrounds(t *testing.T) *grounds {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "retinue-approvals-") //nolint:usetesting // files that are synced often
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	g := &grounds{dir: dir, path: []string{"bin1", "bin2"}}
	for _, d := range []string{"bin1", "bin2", "d1", "d2"} {
		if err := os.MkdirAll(filepath.Join(g.dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w, err := builtin.Open(g.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	tools := []tool.Tool{runner{g}}
	for _, writing := range w.Writing() {
		tools = append(tools, watched{writing, g})
	}
	if g.set, err = tool.NewSet(tool.Options{}, tools...); err != nil {
		t.Fatal(err)
	}
	g.reset(t)
	return g
}

// reset puts everything back to where it was.
func (g *grounds) reset(t *testing.T) {
	t.Helper()
	g.path, g.denied = []string{"bin1", "bin2"}, nil
	for _, name := range []string{"bin1/lint", "bin2/lint", "bin1/sh", "bin2/sh", "bin1/go", "bin2/go", "d1/check", "d2/check", "notes.md", "plan.md"} {
		g.write(t, name, "One.\n")
	}
	g.link(t, "cwd", "d1")
	g.link(t, "alias.md", "notes.md")
}

func (g *grounds) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (g *grounds) link(t *testing.T, name, to string) {
	t.Helper()
	at := filepath.Join(g.dir, name)
	_ = os.Remove(at) // it may not exist yet
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
}

// Tools implements Toolbox.
func (g *grounds) Tools(host.Workspace, string) (*tool.Set, error) { return g.set, nil }

// see is the effect that a call would have now, in the plainest form, and the scope of a wider yes.
func (g *grounds) see(name, args string) (would, pattern string) {
	var a struct{ Path, Command string }
	if err := json.Unmarshal([]byte(args), &a); err != nil {
		return err.Error(), ""
	}
	if name != "shell" {
		at, err := filepath.EvalSymlinks(filepath.Join(g.dir, a.Path))
		if err != nil {
			return err.Error(), ""
		}
		text, err := os.ReadFile(at) //nolint:gosec // a folder of the test's own
		return fmt.Sprint(args, at, string(text), err), filepath.Base(at)
	}
	words := strings.Fields(a.Command)
	program, binary := g.find(words[0])
	cwd, err := filepath.EvalSymlinks(filepath.Join(g.dir, "cwd"))
	script, _ := os.ReadFile(filepath.Join(cwd, words[1])) //nolint:gosec // a folder of the test's own
	patterns := map[string]string{"lint": a.Command, "sh": "", "go": "go list *"}
	return fmt.Sprint(args, program, binary, cwd, err, string(script)), patterns[words[0]]
}

// find looks a program up.
func (g *grounds) find(name string) (where, text string) {
	for _, d := range g.path {
		if body, err := os.ReadFile(filepath.Join(g.dir, d, name)); err == nil {
			return filepath.Join(d, name), string(body)
		}
	}
	return "", ""
}

// rules is the catalogue; only its verdict is used.
type rules struct {
	host.Catalog
	on *grounds
}

// Verdict is what rules say, as the program's own catalogue finds it.
func (r rules) Verdict(snapshot, name string, matters []tool.Matter) (agent.Policy, error) {
	kept, err := role.Thaw([]byte(snapshot))
	if err != nil {
		return agent.PolicyAsk, err
	}
	list := make([]role.Matter, len(matters))
	for i, m := range matters {
		list[i] = role.Matter(m)
	}
	if (role.Role{Rules: r.on.denied}).Judge(name, list) == agent.PolicyDeny {
		return agent.PolicyDeny, nil
	}
	return kept.Judge(name, list), nil
}

// Sink and Strange are what the operator says: nothing is a sink here.
func (r rules) Sink(string, []tool.Matter) bool { return false }
func (r rules) Strange(path string) bool        { return config.Defaults("").Taint.Strange(path) }

// watched is a tool whose runs are counted.
type watched struct {
	tool.Tool
	on *grounds
}

func (w watched) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	w.on.ran(call.ID, call.Tool, string(call.Args))
	return w.Tool.Run(ctx, call)
}

func (w watched) About(call tool.Call) tool.About {
	a, _ := w.Tool.(tool.Accountable)
	return a.About(call)
}

func (w watched) Binding(ctx context.Context, call tool.Call) (string, error) {
	b, _ := w.Tool.(tool.Binder)
	return b.Binding(ctx, call)
}

func (w watched) Probe(ctx context.Context, call tool.Call) (tool.Result, tool.Happened, error) {
	p, ok := w.Tool.(tool.Prober)
	if !ok {
		return tool.Result{}, tool.HappenedUnknown, nil
	}
	return p.Probe(ctx, call)
}

// runner runs the first word of a line with the second as its script.
type runner struct{ on *grounds }

func (runner) Definition() tool.Definition {
	return tool.Definition{
		Name: "shell", Description: "Runs a program.", Class: chat.ClassOnce, Writes: true,
		Schema: json.RawMessage(`{"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}`),
	}
}

func (r runner) About(call tool.Call) tool.About { return command.About(line(call)) }

func (r runner) Binding(_ context.Context, call tool.Call) (string, error) {
	words := strings.Fields(line(call))
	cwd, err := filepath.EvalSymlinks(filepath.Join(r.on.dir, "cwd"))
	if err != nil {
		return "", err
	}
	where, program := r.on.find(words[0])
	script, err := os.ReadFile(filepath.Join(cwd, words[1])) //nolint:gosec // a folder of the test's own
	if err != nil && !os.IsNotExist(err) {
		return "", err
	}
	return fmt.Sprintf("%q %q %x %x", cwd, where, sha256.Sum256([]byte(program)), sha256.Sum256(script)), nil
}

func (r runner) Run(_ context.Context, call tool.Call) (tool.Result, error) {
	r.on.ran(call.ID, call.Tool, string(call.Args))
	return tool.Result{Text: "ran"}, nil
}

func line(call tool.Call) string {
	var a struct{ Command string }
	_ = call.Decode(&a) // the schema was checked
	return a.Command
}
