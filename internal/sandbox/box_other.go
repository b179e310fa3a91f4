//go:build !linux

package sandbox

import (
	"context"
	"io"

	"github.com/retinue-dev/retinue/internal/chat"
)

// Box runs programs in one tier.
type Box struct{}

// Process is a program that runs, started by Box.Start.
type Process struct {
	Stdin  io.WriteCloser
	Stdout io.ReadCloser
}

func unavailable() error {
	return &chat.Error{Code: chat.CodeUnavailable, Message: "programs can be run on Linux only: start the worker there"}
}

// Check reports that no box can be opened here.
func Check(Options) error { return unavailable() }

// Open fails: every tier is made of parts of Linux.
func Open(context.Context, Options) (*Box, error) { return nil, unavailable() }

// Close releases what the box holds.
func (b *Box) Close() error { return nil }

// Warning is a warning for people about the tier.
func (b *Box) Warning() string { return "" }

// Run runs a program to its end.
func (b *Box) Run(context.Context, Command) (Outcome, error) { return Outcome{}, unavailable() }

// Start starts a program.
func (b *Box) Start(context.Context, Command) (*Process, error) { return nil, unavailable() }

// Wait waits for the end of the process.
func (p *Process) Wait() (Outcome, error) { return Outcome{}, unavailable() }

// Init is what the program does as the first process of a sandbox.
func Init([]string) int { return 1 }
