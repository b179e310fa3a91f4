package toolbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/egress"
	"github.com/retinue-dev/retinue/internal/sandbox"
	"github.com/retinue-dev/retinue/internal/tool/shell"
)

// SandboxInit is for the first thing that a program does. If its arguments say that it is the first
// process of a sandbox, it does that work and returns its exit code.
func SandboxInit(args []string) (code int, ours bool) {
	if len(args) == 0 || args[0] != sandbox.InitCommand {
		return 0, false
	}
	return sandbox.Init(args[1:]), true
}

// Sandboxes is the one sandbox of a process, for everything that starts programs. It is opened when
// it is first needed; if it cannot be, a command that enters is told why, and nothing weaker is
// tried.
type Sandboxes struct {
	// Options are what the settings make of it.
	Options sandbox.Options
	hosts   []string
	// policy is what commands may reach.
	policy egress.Policy

	mu    sync.Mutex
	room  *shell.Env
	close []func() error
}

// NewSandboxes opens no sandbox yet.
func NewSandboxes(s config.Sandbox) *Sandboxes {
	policy := egress.Policy{Budget: int64(s.HostBytes)}
	for _, host := range s.Hosts {
		policy.Allow = append(policy.Allow, egress.Rule{Host: host})
	}
	return &Sandboxes{hosts: s.Hosts, policy: policy, Options: sandbox.Options{
		Tier: sandbox.Tier(s.Tier), AllowRoot: s.AllowRoot, ReadOnly: s.ReadOnly, Pass: s.Pass,
	}}
}

// Enter is the box and the way out of it. A box that did not open is tried again: somebody may have
// installed what was missing.
func (e *Sandboxes) Enter(ctx context.Context) (shell.Env, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.room != nil {
		return *e.room, nil
	}
	box, err := sandbox.Open(ctx, e.Options)
	if err != nil {
		return shell.Env{}, &chat.Error{Code: chat.CodeOf(err), Message: "no command can be run: " + said(err) + settingsHint}
	}
	room := &shell.Env{Box: box}
	if len(e.hosts) > 0 && e.Options.Tier != sandbox.TierNone {
		gate, err := egress.New(e.policy)
		if err != nil {
			return shell.Env{}, errors.Join(err, box.Close())
		}
		room.Network = func(ctx context.Context) (*sandbox.Network, func() error, error) { return openProxy(ctx, gate) }
	}
	e.room = room
	e.close = append(e.close, box.Close)
	return *room, nil
}

// openProxy serves the proxy of one command, on a socket that only this user can reach.
func openProxy(ctx context.Context, gate *egress.Gate) (*sandbox.Network, func() error, error) {
	own, finish := recorded(ctx, gate)
	dir, err := os.MkdirTemp("", "retinue-egress-")
	if err != nil {
		return nil, nil, fmt.Errorf("make a folder for the egress proxy: %w", err)
	}
	socket := filepath.Join(dir, "proxy.sock")
	listener, err := egress.Listen(socket)
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	served := make(chan error, 1)
	go func() { served <- own.Serve(serving, listener) }()
	return &sandbox.Network{Socket: socket}, func() error {
		stop()
		err := <-served
		finish()
		return errors.Join(err, os.RemoveAll(dir))
	}, nil
}

// settingsHint says where a person can change it.
const settingsHint = " (sandbox in the settings)"

// said is an error in the words for people.
func said(err error) string {
	if e, ok := errors.AsType[*chat.Error](err); ok {
		return e.Message
	}
	return err.Error()
}

// Close lets go of the box and of the way out.
func (e *Sandboxes) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var errs error
	for _, c := range e.close {
		errs = errors.Join(errs, c())
	}
	e.close, e.room = nil, nil
	return errs
}

// Notice is something that people should know before agents work.
type Notice struct {
	Text string
	// Alarm means that they must not miss it.
	Alarm bool
}

// SandboxNotice is what people should know of the sandbox of these settings, if anything. Whether
// it really holds is tested when it is first used.
func SandboxNotice(s config.Settings) (Notice, bool) {
	o := NewSandboxes(s.Sandbox).Options
	if o.Tier == sandbox.TierNone {
		return Notice{Text: o.Warning(), Alarm: true}, true
	}
	if err := sandbox.Check(o); err != nil {
		return Notice{Text: "agents cannot run commands: " + said(err) + settingsHint}, true
	}
	if text := o.Warning(); text != "" {
		return Notice{Text: text}, true
	}
	return Notice{}, false
}
