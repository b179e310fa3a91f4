package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/config"
)

// EngineStarter starts a workflow engine in this process.
type EngineStarter func(ctx context.Context, o EngineOptions) (EngineServer, error)

// EngineOptions say where an engine keeps its records and whom it accepts.
type EngineOptions struct {
	// File is the SQLite file with its records.
	File string
	// Listen is a loopback address. Empty means any free port.
	Listen string
	// Credentials is the folder of certificates by which the engine knows its callers, and they know
	// it.
	Credentials string
	Log         *slog.Logger
}

// EngineServer is an engine that runs in this process.
type EngineServer struct {
	Address string
	Stop    func() error
}

// Owner is the process that runs the engine of a data folder.
type Owner struct {
	PID     int    `json:"pid"`
	Address string `json:"address"`
	// Workspaces are those that the process works for.
	Workspaces []string `json:"workspaces,omitempty"`
}

// OpenOptions say which data folder's engine is meant.
type OpenOptions struct {
	// Dir is the data folder.
	Dir string
	// Start is nil in a program without an engine.
	Start EngineStarter
	// Workspaces are those that this process works for.
	Workspaces []string
	// Alone refuses an engine that another process runs.
	Alone  bool
	Logger *slog.Logger
}

// Engine is the engine of a data folder. One process at a time runs it; when that one ends,
// another that uses it goes on with it at the same address.
type Engine struct {
	// Owner is the process that ran it when it was opened.
	Owner Owner
	// Ours means that it was this process.
	Ours bool

	options OpenOptions
	stop    context.CancelFunc
	done    sync.WaitGroup
	mu      sync.Mutex
	release func() error
}

// The files of an engine in a data folder.
const (
	engineFile = "engine.db"
	engineTLS  = "engine-tls"
	ownerFile  = "engine.json"
	ownerLock  = "engine.json.lock"
)

const (
	// ownerPatience is how long a process that has just taken the folder may take to start its engine.
	ownerPatience = 30 * time.Second
	// ownerPoll is the time between two looks whether the owner is ready, or gone.
	ownerPoll = 100 * time.Millisecond
)

// ErrNoEngine means that nothing runs an engine and this program has none in it.
var ErrNoEngine = errors.New("no engine runs, and there is none in this program: start 'retinue up' with the " +
	"standalone build, run this with the standalone build, or set engine.temporal_address")

// OpenEngine finds the engine that runs on a data folder, or starts one.
func OpenEngine(ctx context.Context, o OpenOptions) (*Engine, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	e := &Engine{options: o, stop: func() {}}
	patience := time.Now().Add(ownerPatience)
	for {
		owner, taken, err := e.take(ctx, "")
		if err != nil || taken {
			e.Owner, e.Ours = owner, taken
			return e, err
		}
		owner, err = readOwner(o.Dir)
		switch {
		case err == nil && o.Alone:
			return nil, fmt.Errorf("process %d runs an engine on %s: stop it, or choose another folder with --set data_dir=DIR",
				owner.PID, o.Dir)
		case err == nil:
			e.Owner = owner
			e.succeed(ctx)
			return e, nil
		case time.Now().After(patience):
			return nil, fmt.Errorf("another process has taken %s and does not say where its engine is: %w", o.Dir, err)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(ownerPoll):
		}
	}
}

// take starts the engine if nobody else runs it. It reports whether it did, and what it tells other
// processes of this one.
func (e *Engine) take(ctx context.Context, address string) (owner Owner, taken bool, err error) {
	unlock, err := tryLock(filepath.Join(e.options.Dir, ownerLock))
	if err != nil || unlock == nil {
		return owner, false, err
	}
	if e.options.Start == nil {
		return owner, false, errors.Join(ErrNoEngine, unlock())
	}
	server, err := e.options.Start(ctx, EngineOptions{
		File: filepath.Join(e.options.Dir, engineFile), Listen: address, Credentials: filepath.Join(e.options.Dir, engineTLS),
		Log: e.options.Logger,
	})
	if err != nil {
		return owner, false, errors.Join(err, unlock())
	}
	owner = Owner{PID: os.Getpid(), Address: server.Address, Workspaces: e.options.Workspaces}
	file := filepath.Join(e.options.Dir, ownerFile)
	if err := writeOwner(file, owner); err != nil {
		return owner, false, errors.Join(err, server.Stop(), unlock())
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.release = func() error { return errors.Join(os.Remove(file), server.Stop(), unlock()) }
	return owner, true, nil
}

// succeed waits for the owner to end and goes on with its engine.
func (e *Engine) succeed(ctx context.Context) {
	ctx, e.stop = context.WithCancel(context.WithoutCancel(ctx))
	e.done.Go(func() {
		ticker := time.NewTicker(ownerPoll)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			_, taken, err := e.take(ctx, e.Owner.Address)
			switch {
			case taken:
				return
			case errors.Is(err, ErrNoEngine):
				e.options.Logger.ErrorContext(ctx, "the engine has ended: start 'retinue up' again", "address", e.Owner.Address)
				return
			case err != nil:
				e.options.Logger.WarnContext(ctx, "go on with the engine", "error", err)
			}
		}
	})
}

// TLS is how this process and the engine know each other.
func (e *Engine) TLS() config.EngineTLS {
	return app.EngineClient(filepath.Join(e.options.Dir, engineTLS))
}

// Close lets go of the engine, and stops it if it runs here.
func (e *Engine) Close() error {
	e.stop()
	e.done.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.release == nil {
		return nil
	}
	release := e.release
	e.release = nil // a second time there is nothing left
	return release()
}

// tryLock takes a file for this process alone. It returns nil if another has it. The kernel frees
// it however the process ends.
func tryLock(file string) (unlock func() error, err error) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, f.Close()
	case err != nil:
		return nil, errors.Join(fmt.Errorf("lock %s: %w", file, err), f.Close())
	}
	return f.Close, nil
}

func readOwner(dir string) (Owner, error) {
	text, err := os.ReadFile(filepath.Join(dir, ownerFile))
	if err != nil {
		return Owner{}, err
	}
	var o Owner
	if err := json.Unmarshal(text, &o); err != nil {
		return Owner{}, fmt.Errorf("read %s: %w", ownerFile, err)
	}
	return o, nil
}

// writeOwner writes a file that a reader finds whole or not at all.
func writeOwner(file string, o Owner) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	draft := file + ".new"
	if err := os.WriteFile(draft, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the engine's address: %w", err)
	}
	return os.Rename(draft, file)
}
