//go:build services

package crash

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/sandbox"
	"github.com/retinue-dev/retinue/internal/tool"
	"github.com/retinue-dev/retinue/internal/tool/builtin"
	"github.com/retinue-dev/retinue/internal/tool/shell"
)

// stampingTools leave a line in the ledger of effects each time they run: one that must not be run
// twice, one that may, and one that can tell whether it did.
type stampingTools struct {
	file string
	// shell runs commands; nil means that there are none.
	shell *shell.Tool
}

// toolbox has the tools of a process in this world.
func (p part) toolbox() (stampingTools, error) {
	b := stampingTools{file: p.ledger()}
	if !p.Shell {
		return b, nil
	}
	files, err := builtin.Open(p.workspace())
	if err != nil {
		return b, err
	}
	confined := sandbox.Options{Tier: sandbox.TierBubblewrap, AllowRoot: true}
	enter := sync.OnceValues(func() (shell.Env, error) {
		box, err := sandbox.Open(context.Background(), confined)
		return shell.Env{Box: box}, err
	})
	b.shell, err = shell.New(shell.Options{
		Workspace: p.workspace(), Files: files.Files, Sandbox: confined, Enter: func(context.Context) (shell.Env, error) { return enter() },
	})
	return b, err
}

// Tools implements host.Toolbox.
func (b stampingTools) Tools(host.Workspace, string) (*tool.Set, error) {
	return tool.NewSet(tool.Options{},
		runner{stamp{name: "shell", class: chat.ClassOnce, argument: "command", file: b.file}, b.shell},
		stamp{name: "write_file", class: chat.ClassIdempotent, argument: "path", file: b.file},
		mender{stamp{name: "edit_file", class: chat.ClassReconcilable, argument: "path", file: b.file}})
}

// mender can tell by the ledger whether it ran.
type mender struct{ stamp }

// Probe implements tool.Prober.
func (m mender) Probe(_ context.Context, call tool.Call) (tool.Result, tool.Happened, error) {
	ledger, err := os.ReadFile(m.file)
	if err != nil && !os.IsNotExist(err) {
		return tool.Result{}, tool.HappenedUnknown, err
	}
	if strings.Contains(string(ledger), string(m.class)+" "+call.ID+"\n") {
		return tool.Result{Text: "stamped"}, tool.HappenedYes, nil
	}
	return tool.Result{}, tool.HappenedNo, nil
}

// command begins the command lines that are run.
const command = "n=0; "

// runner is a stamp that runs commands.
type runner struct {
	stamp
	shell *shell.Tool
}

// Definition implements tool.Tool.
func (r runner) Definition() tool.Definition {
	d := r.stamp.Definition()
	if r.shell != nil {
		d.Timeout = r.shell.Definition().Timeout
	}
	return d
}

// Run implements tool.Tool.
func (r runner) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	var args struct{ Command string }
	if err := call.Decode(&args); err != nil || r.shell == nil || !strings.HasPrefix(args.Command, command) {
		return r.stamp.Run(ctx, call)
	}
	note(r.file, string(r.class)+" "+call.ID)
	const long = 600 // seconds
	line, err := json.Marshal(map[string]any{"command": args.Command, "timeout": long})
	if err != nil {
		return tool.Result{}, err
	}
	call.Args = line
	return r.shell.Run(ctx, call)
}

// labour in the arguments of a call makes it take long, and swift makes it take no time.
const (
	labour = "labour"
	swift  = "swift"
	// amended in the arguments is in the result too: they were a person's.
	amended = "amended"
)

// stamp is one of them, under the name of a tool that roles may have.
type stamp struct {
	name     string
	class    chat.EffectClass
	argument string
	file     string
}

func (s stamp) Definition() tool.Definition {
	schema, err := json.Marshal(map[string]any{
		"type": "object", "required": []string{s.argument},
		"properties": map[string]any{s.argument: map[string]any{"type": "string"}},
	})
	if err != nil {
		panic(err)
	}
	return tool.Definition{
		Name: s.name, Description: "Leaves a line in a ledger.", Schema: schema, Class: s.class, Writes: true,
	}
}

// Run leaves the line first and then takes its time, so that a kill finds effects without results.
func (s stamp) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	note(s.file, string(s.class)+" "+call.ID)
	h := fnv.New32()
	_, _ = h.Write([]byte(call.ID))
	takes := time.Duration(50+h.Sum32()%500) * time.Millisecond
	if strings.Contains(string(call.Args), labour) {
		takes = 4 * time.Second
	}
	if strings.Contains(string(call.Args), swift) {
		takes = time.Millisecond
	}
	select {
	case <-ctx.Done():
	case <-time.After(takes):
	}
	if strings.Contains(string(call.Args), amended) {
		return tool.Result{Text: "stamped as " + amended}, ctx.Err()
	}
	return tool.Result{Text: "stamped"}, ctx.Err()
}
