package shell

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/retinue-dev/retinue/internal/sandbox"
	"github.com/retinue-dev/retinue/internal/tool"
	"github.com/retinue-dev/retinue/internal/tool/command"
)

// programBytes is how large programs and scripts are whose content is hashed.
const programBytes = 512 << 20

// Binding is everything beyond the arguments that decides what a call will run, as text: its
// folder, its sandbox, and the programs and scripts that its words name now. A person's approval is
// bound to this text: when the text has changed, the approval does not hold. The binding leaves out
// files that a program reads once it runs.
func (t *Tool) Binding(ctx context.Context, call tool.Call) (string, error) {
	var args arguments
	if err := call.Decode(&args); err != nil {
		return "", err
	}
	dir, err := t.dir(args.Cwd)
	if err != nil {
		return "", err
	}
	b := binding{tool: t, dirs: []string{dir}}
	o := t.options.Sandbox
	b.say("cwd %s", dir)
	b.say("sandbox %s, root %t, reads %q, passes %q, protects %q", o.Tier, o.AllowRoot, o.ReadOnly, o.Pass, o.Protected)
	b.say("hosts %q", t.options.Hosts)
	b.file("shell", interpreter())
	for _, c := range command.Parse(args.Command).Commands {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		b.command(c)
	}
	return strings.Join(b.lines, "\n"), nil
}

// binding collects the lines of one.
type binding struct {
	tool  *Tool
	lines []string
	// dirs are where a relative path may start: the call's folder, and those that the line goes to.
	dirs []string
}

// say adds a line once.
func (b *binding) say(format string, args ...any) {
	if line := fmt.Sprintf(format, args...); !slices.Contains(b.lines, line) {
		b.lines = append(b.lines, line)
	}
}

func (b *binding) command(c command.Command) {
	words := c.Words()
	if c.Program == "" || len(words) == 0 {
		return // an assignment, a redirection, or what only the shell will know; the arguments say so
	}
	if c.Program == "cd" && len(words) > 1 {
		for _, dir := range slices.Clone(b.dirs) {
			b.dirs = append(b.dirs, absolute(dir, words[len(words)-1]))
		}
		return
	}
	if strings.Contains(words[0], "/") {
		b.scripts(words[:1])
	} else {
		b.program(words[0])
	}
	if c.Launches() {
		b.scripts(words[1:])
	}
}

// program is a bare name, looked up as the shell will.
func (b *binding) program(name string) {
	for _, dir := range filepath.SplitList(sandbox.Path(b.tool.options.Sandbox, os.LookupEnv)) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			b.file("program", path)
			return
		}
	}
	b.say("program %s: not found, or a command of the shell", name)
}

// scripts are words that may name files to be run. Those that name none are arguments.
func (b *binding) scripts(words []string) {
	for _, word := range words {
		for _, dir := range b.dirs {
			path := absolute(dir, word)
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				b.file("script", path)
			}
		}
	}
}

func absolute(dir, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}

// file adds what a path leads to, with its hash.
func (b *binding) file(what, path string) {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		resolved = path
	}
	b.say("%s %s is %s, sha256 %s", what, path, resolved, b.tool.programHash(resolved))
}

// identity is a file in one state.
type identity struct {
	path    string
	size    int64
	changed time.Time
	inode   uint64
	status  int64
}

// programHash is the hash of a file anywhere, remembered for as long as the file is the same one:
// its status time changes with every write and cannot be set.
func (t *Tool) programHash(path string) string {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "unreadable"
	}
	defer func() { _ = f.Close() }() // nothing was written
	info, err := f.Stat()
	if err != nil {
		return "unreadable"
	}
	key := identity{path: path, size: info.Size(), changed: info.ModTime()}
	key.inode, key.status = kernelIdentity(info)
	if known, ok := t.hashes.Load(key); ok && key.status != 0 {
		if hash, ok := known.(string); ok {
			return hash
		}
	}
	hash := hashOf(f, programBytes)
	if hash == "" {
		return "unknown"
	}
	t.hashes.Store(key, hash)
	return hash
}
