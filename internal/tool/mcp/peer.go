package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/egress"
	"github.com/retinue-dev/retinue/internal/sandbox"
)

const (
	// longestLife is how long a program may run before it is started anew.
	longestLife = 24 * time.Hour
	// lastWords is how much of what a program complained of is repeated. Its own end is waited for a
	// short while, ownEnd, to have it, and the one that we make for forcedEnd.
	lastWords = 400
	ownEnd    = 300 * time.Millisecond
	forcedEnd = 2 * time.Second
	// largestMessage is how large one message of a server may be.
	largestMessage = 16 << 20
)

// peer is a server that runs or can be reached.
type peer struct {
	transport sdk.Transport
	// stop ends it at once.
	stop func()
	// ended is closed when it is gone. Then how says how it ended, and said is its last complaint,
	// each if known.
	ended     chan struct{}
	how, said string
	// hide takes secrets out of a text.
	hide *strings.Replacer
	// gate is its way into the network, nil if it has none.
	gate    *egress.Gate
	callers *callers
}

// reach starts a program or prepares the way to an address.
func (o Options) reach(e Entry) (*peer, error) {
	r, err := e.reveal()
	if err != nil {
		return nil, err
	}
	if e.URL != "" {
		return o.overHTTP(e, r)
	}
	return o.startProgram(e, r)
}

// startProgram runs a server in the sandbox.
func (o Options) startProgram(e Entry, r revealed) (_ *peer, err error) {
	if o.Workspace == "" {
		return nil, &chat.Error{Code: chat.CodeInvalid, Message: "server " + e.Name + " is a program, which needs a workspace"}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			cancel()
		}
	}()
	box, err := o.Box(ctx)
	if err != nil {
		return nil, err
	}
	calls := &callers{}
	gate, network, closeGate, err := o.openGate(ctx, e.Hosts, calls.reach, r.secrets)
	if err != nil {
		return nil, err
	}
	process, err := box.Start(ctx, sandbox.Command{
		Argv: append([]string{e.Command}, r.args...), Workspace: o.Workspace, Dir: e.Cwd, Env: r.env, Network: network,
		Limits: sandbox.Limits{Wall: longestLife, Output: 4 << 10},
	})
	if err != nil {
		closeGate()
		return nil, err
	}
	p := &peer{
		transport: &sdk.IOTransport{
			Reader: &speech{from: process.Stdout}, Writer: process.Stdin, MaxLineLength: largestMessage,
		},
		stop: cancel, hide: r.hide, ended: make(chan struct{}), gate: gate, callers: calls,
	}
	o.running.Go(func() {
		outcome, err := process.Wait()
		p.how, p.said = obituary(outcome, err)
		closeGate()
		close(p.ended)
	})
	return p, nil
}

// obituary says how a program ended, with its last complaint.
func obituary(o sandbox.Outcome, err error) (how, said string) {
	if err != nil {
		if how = words(err); chat.CodeOf(err) == chat.CodeNotFound {
			how += " (the sandbox sees the workspace and the system's own folders, and nothing else)"
		}
		return how, ""
	}
	switch {
	case o.Ending == sandbox.EndLimit:
		how = "it ran into a limit: " + o.Limit
	case o.Ending == sandbox.EndExited && o.Signal != 0:
		how = "it was ended by " + o.Signal.String()
	case o.Ending == sandbox.EndExited:
		how = fmt.Sprintf("it ended with code %d", o.Code)
	}
	said = strings.TrimSpace(visible(o.Stderr.String()))
	if len(said) > lastWords {
		said = "…" + strings.ToValidUTF8(said[len(said)-lastWords:], "")
	}
	return how, said
}

// openGate makes the way out of a sandbox to the hosts of an entry, if it has any.
func (o Options) openGate(
	ctx context.Context, hosts []string, reach egress.Reach, own []string,
) (*egress.Gate, *sandbox.Network, func(), error) {
	if len(hosts) == 0 {
		return nil, nil, func() {}, nil
	}
	policy := egress.Policy{Resolver: o.Resolver, Budget: o.HostBytes}
	for _, host := range hosts {
		rule, local, err := ruleFor(host)
		if err != nil {
			return nil, nil, nil, err
		}
		policy.Allow, policy.Local = append(policy.Allow, rule), append(policy.Local, local...)
	}
	gate, err := egress.New(policy)
	if err != nil {
		return nil, nil, nil, err
	}
	var leaks egress.Leaks
	if o.Leaks != nil {
		if leaks, err = o.Leaks(own); err != nil {
			return nil, nil, nil, fmt.Errorf("look up what must not leave: %w", err)
		}
	}
	gate = gate.For(reach, leaks)
	dir, err := os.MkdirTemp("", "retinue-mcp-")
	if err != nil {
		return nil, nil, nil, fmt.Errorf("make a place for the egress proxy: %w", err)
	}
	socket := filepath.Join(dir, "egress.sock")
	listener, err := egress.Listen(socket)
	if err != nil {
		return nil, nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	go func() { _ = gate.Serve(ctx, listener) }() // it ends with the context, and has nobody to tell
	return gate, &sandbox.Network{Socket: socket}, func() {
		gate.Close()
		_ = os.RemoveAll(dir) // an empty socket, in a folder for temporary files
	}, nil
}
