package durable

import (
	"context"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
)

const (
	// beat is the time between two signs of life of a leg or a call, where few run.
	beat = 500 * time.Millisecond
	// beatEach is how much longer that time is for each that runs: each sign of life is a write of the engine, and hundreds
	// of them in a second would take its whole time.
	beatEach = 40 * time.Millisecond
	// beatParts is how many signs of life fit into the silence after which the engine gives something up.
	beatParts = 3
)

// pulse spaces the signs of life of all that runs in one process.
type pulse struct {
	running atomic.Int64
}

// pause is the time until the next sign of life of what may be silent for so long.
func (p *pulse) pause(silence time.Duration) time.Duration {
	return min(max(beat, time.Duration(p.running.Load())*beatEach), silence/beatParts)
}

// keepAlive gives signs of life of an activity until ctx ends. The engine answers them with its request to cancel.
func (h *Host) keepAlive(ctx context.Context, silence time.Duration) {
	h.pulse.running.Add(1)
	defer h.pulse.running.Add(-1)
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(h.pulse.pause(silence)):
			activity.RecordHeartbeat(ctx)
		}
	}
}
