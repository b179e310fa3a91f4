package durable

import (
	"context"
	"errors"
	"time"
)

// standstill is how long a worker may stand still, because its machine slept or somebody paused it.
// The engine takes a worker for lost after as long.
const standstill = silence + grace

// errStoodStill says that a leg stood still for so long that another worker may have its work.
var errStoodStill = errors.New("the worker stood still: its machine slept, or somebody paused it")

// watchStandstill gives up all legs of this process when it stood still for too long. The engine
// alone would not do: where this worker is the only one, nobody else releases its legs, and its
// commands, which ran on meanwhile, would not be reported.
func (b *heartbeats) watchStandstill(ctx context.Context, longest time.Duration) {
	// The wall's clock, since the other one stops while a machine sleeps. If somebody sets it ahead,
	// the legs are given up for nothing and begin again.
	for before := time.Now().Round(0); wait(ctx, presentBeat); before = time.Now().Round(0) {
		if time.Since(before) > longest {
			b.giveUp()
		}
	}
}

// giveUp ends all activities that run in this process.
func (b *heartbeats) giveUp() {
	b.standstills.Add(1)
	b.atOnce()
}
