package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Box runs programs in one tier. It is safe for concurrent use.
type Box struct {
	options Options
	program string   // bubblewrap
	self    *os.File // our own program, which is also the first process of a sandbox
	weaken  func(*plan)
}

const probeTime = 10 * time.Second

// Check reports the obstacles to opening a box, as far as they show without opening it, with
// advice.
func Check(options Options) error {
	if os.Geteuid() == 0 && !options.AllowRoot && options.Tier != TierNone {
		return &chat.Error{Code: chat.CodeDenied, Message: "a sandbox started by root still reads root's files: " +
			"run as an ordinary user, or allow root explicitly"}
	}
	if err := checkProtected(options.Protected); err != nil {
		return err
	}
	switch options.Tier {
	case TierNone:
		return nil
	case TierGVisor:
		return unavailable("the gvisor tier is not built into this program yet: choose bubblewrap")
	case TierBubblewrap:
	default:
		return &chat.Error{Code: chat.CodeInvalid, Message: fmt.Sprintf("there is no sandbox tier %q: "+
			"choose bubblewrap, gvisor or none", options.Tier)}
	}
	if _, err := exec.LookPath(bubblewrapProgram); err != nil {
		return unavailable("bwrap is not installed: install the package bubblewrap")
	}
	return nil
}

// Open makes a box of the tier and tests that it holds. Without the tier it fails and says what to
// do.
func Open(ctx context.Context, options Options) (*Box, error) {
	if err := Check(options); err != nil {
		return nil, err
	}
	b := &Box{options: options}
	if options.Tier == TierNone {
		return b, nil
	}
	var err error
	if b.program, err = exec.LookPath(bubblewrapProgram); err != nil {
		return nil, fmt.Errorf("find bubblewrap: %w", err)
	}
	executable, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find our own program: %w", err)
	}
	if b.self, err = openPath(executable); err != nil {
		return nil, fmt.Errorf("open our own program: %w", err)
	}
	if err := b.test(ctx); err != nil {
		return nil, errors.Join(err, b.self.Close())
	}
	return b, nil
}

func unavailable(message string) error {
	return &chat.Error{Code: chat.CodeUnavailable, Message: message}
}

// Close releases what the box holds. Programs that still run are not touched.
func (b *Box) Close() error {
	if b.self == nil {
		return nil
	}
	return b.self.Close()
}

// Warning is a warning for people about the tier, or empty.
func (b *Box) Warning() string { return b.options.Warning() }

// test runs our own program in a fresh sandbox and compares its view with the promises.
func (b *Box) test(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "retinue-sandbox-")
	if err != nil {
		return fmt.Errorf("make a workspace for the sandbox's test: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return fmt.Errorf("find the workspace for the sandbox's test: %w", err)
	}
	outcome, err := b.Run(ctx, Command{
		Argv: []string{initPath, InitCommand, probeArgument}, Workspace: dir, Limits: Limits{Wall: probeTime},
	})
	if err != nil {
		return unavailable(fmt.Sprintf("bubblewrap does not work here: %v; it needs user namespaces that unprivileged users "+
			"may make, and a bwrap that knows --bind-fd (Debian 12, Ubuntu 24.04 or later)", err))
	}
	var seen sights
	if err := json.Unmarshal(outcome.Stdout.Head, &seen); err != nil {
		return unavailable(fmt.Sprintf("the sandbox's test of itself said %q and %q", outcome.Stdout, outcome.Stderr))
	}
	if err := seen.holds(append(b.options.ReadOnly, dir)...); err != nil {
		return unavailable(fmt.Sprintf("the sandbox does not hold: %v", err))
	}
	return nil
}
