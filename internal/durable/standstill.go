package durable

import (
	"context"
	"errors"
	"time"
)

// standstill is how long a worker may stand still, because its machine slept or somebody paused it.
// After the same time the engine takes a worker for lost.
const standstill = silence + grace

// errStoodStill says that a leg stood still for so long that another worker may have its work.
var errStoodStill = errors.New("the worker stood still: its machine slept, or somebody paused it")

// watchStandstill gives up all legs of this process when it stood still for too long. The engine
// alone is not enough: where this worker is the only one, nobody else releases its legs, and its
// commands, which kept running meanwhile, would not be reported.
func (b *heartbeats) watchStandstill(ctx context.Context, longest time.Duration) {
	for before := sinceBoot(); wait(ctx, presentBeat); before = sinceBoot() {
		if sinceBoot()-before > longest {
			b.giveUp()
		}
	}
}

// wallClock is the time of day.
func wallClock() time.Duration { return time.Duration(time.Now().UnixNano()) }

// giveUp ends all activities that run in this process.
func (b *heartbeats) giveUp() {
	b.standstills.Add(1)
	b.atOnce()
}
