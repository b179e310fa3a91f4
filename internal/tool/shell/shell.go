// Package shell is the tool that runs command lines in a sandbox. The description for the model is
// in shell.md.
//
// It imports chat, tool, tool/command and sandbox. It decides nothing about permissions: they are
// checked before. It says how a command ended, what it printed, which files it changed and which
// tests it ran, all as seen from outside of the sandbox.
package shell

import (
	"context"
	_ "embed" // the description
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/sandbox"
	"github.com/retinue-dev/retinue/internal/tool"
	"github.com/retinue-dev/retinue/internal/tool/command"
)

//go:embed shell.md
var description string

const (
	defaultTime = 120 * time.Second
	longestTime = 600 * time.Second
	// overhead is the time that a call may take beyond its command: for the sandbox's start and the
	// scan of files.
	overhead = 30 * time.Second
	// keptOutput is the size of a command's kept output, a head and a tail. The set caps it further
	// and keeps this as the whole.
	keptOutput = 512 << 10
)

// Env is where commands run.
type Env struct {
	Box *sandbox.Box
	// Network opens a way out for one command, which is shut after it; nil if commands have none.
	Network func(ctx context.Context) (way *sandbox.Network, shut func() error, err error)
}

// Options say where commands run.
type Options struct {
	// Workspace is the folder they work in.
	Workspace string
	// Enter opens the sandbox, or says why that fails and what to do. It is called for every
	// command.
	Enter func(ctx context.Context) (Env, error)
	// Files visits the files of the workspace that a person would look at.
	Files func(ctx context.Context, visit func(name string, info fs.FileInfo) error) error
	// Cache makes the folder that commands keep their caches in from call to call; nil means none.
	Cache func() (string, error)
	// Marks makes the folder, outside of the workspace, that says which commands run in it; nil means
	// none.
	Marks func() (string, error)
	// Sandbox is how the box is opened, and Hosts what commands may reach from it.
	Sandbox sandbox.Options
	Hosts   []string
}

// Tool runs command lines.
type Tool struct {
	options Options
	root    *os.Root
	// dirs are the absolute paths under which a model may know the workspace; the first has no links.
	dirs []string
	// hashes remembers the hashes of programs, which are large and seldom change.
	hashes sync.Map
}

// New makes the tool for a workspace.
func New(o Options) (*Tool, error) {
	given, err := filepath.Abs(o.Workspace)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	resolved, err := filepath.EvalSymlinks(given)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	root, err := os.OpenRoot(resolved)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	return &Tool{options: o, root: root, dirs: []string{resolved, given}}, nil
}

// Close gives the folder up.
func (t *Tool) Close() error { return t.root.Close() }

// Definition implements tool.Tool.
func (t *Tool) Definition() tool.Definition {
	return tool.Definition{
		Name: "shell", Aliases: []string{"Bash", "bash", "terminal", "execute_bash", "run_command", "run_shell_command"},
		Description: description + t.surroundings(), Class: chat.ClassOnce, Writes: true, Network: len(t.options.Hosts) > 0,
		Unconfined: t.options.Sandbox.Tier == sandbox.TierNone, Timeout: longestTime + overhead,
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"command": {"type": "string", "minLength": 1, "description": "The command line, for bash."},
				"cwd": {"type": "string", "description": "The folder to start in, relative to the top of the workspace."},
				"timeout": {"type": "number", "exclusiveMinimum": 0, "description": "Seconds until it is stopped; 120 if left out, 600 at most."},
				"description": {"type": "string", "description": "What it does, in a few words, for the person who is asked."}
			},
			"required": ["command"],
			"additionalProperties": false
		}`),
		Synonyms: map[string]string{
			"cmd": "command", "script": "command", "CommandLine": "command", "command_line": "command",
			"workdir": "cwd", "working_dir": "cwd", "working_directory": "cwd", "directory": "cwd", "dir_path": "cwd", "Cwd": "cwd",
			"timeout_seconds": "timeout", "timeout_secs": "timeout",
			"explanation": "", "run_in_background": "", "is_background": "", "is_input": "", "security_risk": "",
			"SafeToAutoRun": "", "Blocking": "", "WaitMsBeforeAsync": "",
		},
	}
}

// surroundings tells the model what commands can reach.
func (t *Tool) surroundings() string {
	if t.options.Sandbox.Tier == sandbox.TierNone {
		return "- There is NO sandbox: a command has all the rights of the person whose machine this is. Stay inside the workspace.\n"
	}
	text := "- It runs in a sandbox: it sees the system's programs and the workspace, and writes only there and to /tmp, " +
		"which is empty at every start. Settings and instructions of agents and editors, settings and hooks of git " +
		"and what those name cannot be written; write_file asks a person about instructions such as AGENTS.md.\n"
	if len(t.options.Hosts) == 0 {
		return text + "- There is no network.\n"
	}
	return text + "- The network is reached through a proxy, which the usual variables name, and only at: " +
		strings.Join(t.options.Hosts, ", ") + ".\n"
}

// About implements tool.Accountable.
func (t *Tool) About(call tool.Call) tool.About {
	var args arguments
	if err := call.Decode(&args); err != nil {
		return tool.About{Matters: []tool.Matter{{Forms: []string{""}, Hidden: true}}}
	}
	return command.About(args.Command)
}

type arguments struct {
	Command string
	Cwd     string
	Timeout float64
}

// wall is how long the command may take. Other programs' tools take milliseconds, and models that
// learned those send them. Nobody means an hour, so a value far above our limit is read as
// milliseconds.
func (a arguments) wall() (time.Duration, error) {
	const milliseconds = 1000
	wall := time.Duration(a.Timeout * float64(time.Second))
	if a.Timeout >= milliseconds {
		wall = time.Duration(a.Timeout * float64(time.Millisecond))
	}
	switch {
	case a.Timeout == 0:
		return defaultTime, nil
	case wall > longestTime || a.Timeout > float64(longestTime/time.Millisecond):
		return 0, tool.Refuse("timeout is %v seconds at most: split the work, or let it do less", longestTime.Seconds())
	}
	return wall, nil
}

// Run implements tool.Tool. A command that fails is a result: its effects are known.
func (t *Tool) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	var args arguments
	if err := call.Decode(&args); err != nil {
		return tool.Result{}, err
	}
	wall, err := args.wall()
	if err != nil {
		return tool.Result{}, err
	}
	dir, err := t.dir(args.Cwd)
	if err != nil {
		return tool.Result{}, err
	}
	room, err := t.options.Enter(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	cache := ""
	if t.options.Cache != nil {
		if cache, err = t.options.Cache(); err != nil {
			return tool.Result{}, err
		}
	}
	network, closeNetwork, err := room.wayOut(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	marks := ""
	if t.options.Marks != nil {
		if marks, err = t.options.Marks(); err != nil {
			return tool.Result{}, errors.Join(err, closeNetwork())
		}
	}
	began := time.Now()
	m, err := leaveMark(marks, began)
	if err != nil {
		return tool.Result{}, errors.Join(err, closeNetwork())
	}
	before := t.look(ctx)
	outcome, err := room.Box.Run(ctx, sandbox.Command{
		Argv: []string{interpreter(), "-c", args.Command}, Workspace: t.dirs[0], Dir: dir, Merge: true, Network: network, Cache: cache,
		Limits: sandbox.Limits{Wall: wall, Output: keptOutput}, SetAside: true,
	})
	if errors.Is(context.Cause(ctx), tool.ErrGivenUp) {
		m.leave(began, time.Now())
	} else {
		defer m.remove()
	}
	if err = errors.Join(err, closeNetwork()); err != nil {
		return tool.Result{}, fmt.Errorf("run the command: %w", err)
	}
	facts := t.changes(ctx, before)
	facts.Commands = []tool.Command{fact(args.Command, outcome)}
	return tool.Result{Text: report(outcome, wall) + m.told(), End: end(outcome), Facts: facts}, nil
}

// wayOut opens the network for one command.
func (r Env) wayOut(ctx context.Context) (*sandbox.Network, func() error, error) {
	if r.Network == nil {
		return nil, func() error { return nil }, nil
	}
	return r.Network(ctx)
}

// dir finds the folder to start in. No link on the way to it may lead out of the workspace.
func (t *Tool) dir(given string) (string, error) {
	if strings.ContainsRune(given, 0) {
		return "", tool.Refuse("a path holds no NUL")
	}
	name := filepath.Clean(given)
	for _, dir := range t.dirs {
		if rest, ok := strings.CutPrefix(name, dir); ok && (rest == "" || rest[0] == filepath.Separator) {
			name = filepath.Join(".", rest)
			break
		}
	}
	if !filepath.IsLocal(name) {
		return "", &chat.Error{Code: chat.CodeDenied, Message: fmt.Sprintf("cwd %q is outside the workspace", given)}
	}
	info, err := t.root.Stat(name)
	if err != nil || !info.IsDir() {
		return "", tool.Refuse("cwd %q is no folder of the workspace", given)
	}
	resolved, err := filepath.EvalSymlinks(filepath.Join(t.dirs[0], name))
	if err != nil {
		return "", tool.Refuse("cwd %q is no folder of the workspace", given)
	}
	if inside, err := filepath.Rel(t.dirs[0], resolved); err != nil || !filepath.IsLocal(inside) {
		return "", &chat.Error{Code: chat.CodeDenied, Message: fmt.Sprintf("cwd %q leads out of the workspace", given)}
	}
	return resolved, nil
}

// interpreter is bash where it is installed.
func interpreter() string {
	for _, path := range []string{"/usr/bin/bash", "/bin/bash"} {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return "/bin/sh"
}
