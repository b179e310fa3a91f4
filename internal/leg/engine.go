package leg

import (
	"context"
	"errors"
	"fmt"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// Engine has runs. Each runs a task in one leg after another. A leg needs it for agents that it
// does not run itself.
type Engine interface {
	// Start has a task run, unless it does. Its legs are carried out from a queue. It is ErrInvalidRun
	// if it never will.
	Start(ctx context.Context, in Begin, queue string) error
	// Signal tells the run of a task something, ErrNoRun if there is none.
	Signal(ctx context.Context, ref journal.Ref, task string, signal Signal) error
	// End ends the run of a task that does not let go, ErrNoRun if there is none.
	End(ctx context.Context, ref journal.Ref, task string) error
}

// The errors of an Engine about a run.
var (
	ErrNoRun      = errors.New("there is no such run")
	ErrInvalidRun = errors.New("there cannot be such a run")
)

// Signal is a signal to a run. It has no content.
type Signal string

// The signals. Histories know their names.
const (
	// SignalLook has an agent look at its mail.
	SignalLook Signal = "look"
	// SignalEnded says that a child with a run of its own has ended.
	SignalEnded Signal = "ended"
	// SignalCheck says that children with runs of their own may be lost.
	SignalCheck Signal = "check"
)

// Watch brings the engine's messages to a leg while it works.
type Watch struct {
	// Called ends when the engine calls the leg back, and whenever Gone does.
	Called context.Context
	// Gone ends when the engine no longer waits for the leg, with the reason as its cause.
	Gone context.Context
	// Drained is closed when the worker is to stop.
	Drained <-chan struct{}
	// Name distinguishes the leg from all others of its run, and Again means that a worker was
	// given it before, under another name.
	Name  string
	Again bool
}

// Tell tells the run that carries an agent: its own, or that of the nearest agent above it that has
// one. The first run of an agent has the agent's name; one that was resumed is asked after.
func Tell(ctx context.Context, engine Engine, log journal.Reader, ref journal.Ref, to string, signal Signal) error {
	for {
		err := engine.Signal(ctx, ref, to, signal)
		up := string(chat.AgentPath(to).Parent())
		if up == "" || !errors.Is(err, ErrNoRun) {
			return err
		}
		task, err := TaskOf(ctx, log, ref, to)
		if err != nil {
			return err
		}
		if task != "" && task != to {
			if err := engine.Signal(ctx, ref, task, signal); !errors.Is(err, ErrNoRun) {
				return err
			}
		}
		to = up
	}
}

// TaskOf is the unfinished task of an agent, empty if it has none.
func TaskOf(ctx context.Context, log journal.Reader, ref journal.Ref, id string) (string, error) {
	state, err := log.Snapshot(ctx, ref)
	if err != nil {
		return "", fmt.Errorf("read what %s does: %w", id, err)
	}
	for _, t := range state.Tasks {
		if t.Agent == id && !t.Status.Terminal() {
			return t.ID, nil
		}
	}
	return "", nil
}

// ErrGone says that no agent is left to read mail.
var ErrGone = &chat.Error{Code: chat.CodeConflict, Message: "the agent has finished"}
