package durable

import (
	"context"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
)

const (
	// silence is how long a worker may be silent before the engine takes it for lost. It is long enough that an engine which is slow
	// for a while gives nothing up: a leg's model calls would be paid twice, and nobody would know how a tool call ended. It is short
	// enough that the work of a dead worker goes on within ten seconds.
	silence = 5 * time.Second
	// beat is the time between two heartbeats of a leg or a call, where few run.
	beat = 500 * time.Millisecond
	// beatEach is how much longer that time is for each that runs: each heartbeat is a write of the engine, and hundreds of
	// them in a second would take its whole time.
	beatEach = 40 * time.Millisecond
	// beatParts is how many heartbeats fit into the silence.
	beatParts = 4
)

// heartbeats spaces the heartbeats of all that runs in one process.
type heartbeats struct {
	running atomic.Int64
}

// pause is the time until the next heartbeat.
func (b *heartbeats) pause() time.Duration {
	return min(max(beat, time.Duration(b.running.Load())*beatEach), silence/beatParts)
}

// keepAlive sends heartbeats of an activity until ctx ends. The engine answers them with its request to cancel.
func (h *Host) keepAlive(ctx context.Context) {
	h.heartbeats.running.Add(1)
	defer h.heartbeats.running.Add(-1)
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(h.heartbeats.pause()):
			activity.RecordHeartbeat(ctx)
		}
	}
}
