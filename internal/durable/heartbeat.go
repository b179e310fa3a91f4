package durable

import (
	"cmp"
	"context"
	"errors"
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
	// unheard is how long a worker goes on without an answer of the engine. One that has lost it alone has long had its work given to
	// another by then, and what it runs would run beside that. One whose engine is only being restarted loses nothing.
	unheard = 30 * time.Second
)

// errUnheard says that the engine has not answered for so long that it must have given the activity up.
var errUnheard = errors.New("the engine has not answered heartbeats for too long")

// heartbeats spaces the heartbeats of all that runs in one process.
type heartbeats struct {
	running atomic.Int64
	// unheard is for tests that do not wait so long; zero means the constant.
	unheard time.Duration
}

// pause is the time until the next heartbeat.
func (b *heartbeats) pause() time.Duration {
	return min(max(beat, time.Duration(b.running.Load())*beatEach), silence/beatParts)
}

// wish is what the engine wants of an activity, as it answers heartbeats. Each context ends with the answer as its cause.
type wish struct {
	// called ends when the engine calls the activity back, and whenever gone does.
	called context.Context
	// gone ends when the engine no longer waits for the activity.
	gone context.Context
}

// keepAlive sends heartbeats of an activity until ctx ends or an answer makes it gone. The SDK's own would not do: when the engine takes longer than a second
// to answer one, the SDK ends the activity's context, as if the engine had called it back, and hears of nothing after that. Here a
// heartbeat that the engine was slow to take is followed by the next.
func (a *activities) keepAlive(ctx, activityCtx context.Context) wish {
	token := activity.GetInfo(activityCtx).TaskToken
	gone, giveUp := context.WithCancelCause(ctx)
	called, callBack := context.WithCancelCause(gone)
	go func() {
		a.heartbeats.running.Add(1)
		defer a.heartbeats.running.Add(-1)
		patience := cmp.Or(a.heartbeats.unheard, unheard)
		heard := time.Now()
		for gone.Err() == nil {
			select {
			case <-ctx.Done():
				return
			case <-time.After(a.heartbeats.pause()):
			}
			switch answer := a.heartbeat(ctx, token); {
			case givenUp(answer):
				giveUp(answer)
			case isCalled(answer):
				callBack(answer)
				heard = time.Now()
			case answer == nil, errors.Is(answer, activity.ErrActivityPaused):
				heard = time.Now()
			case time.Since(heard) > patience:
				giveUp(errors.Join(errUnheard, answer))
			}
		}
	}()
	return wish{called: called, gone: gone}
}

// heartbeat sends one, and returns what the engine answers. After so long a silence the engine has given the activity up.
func (a *activities) heartbeat(ctx context.Context, token []byte) error {
	sending, stop := context.WithTimeout(ctx, silence)
	defer stop()
	return a.engine.RecordActivityHeartbeat(sending, token)
}
