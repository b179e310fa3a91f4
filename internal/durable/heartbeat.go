package durable

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
)

const (
	// legSilence is how long a leg may be silent before the engine gives it to another worker. It
	// is long: a worker that dies is noticed by its own silence (presence.go), and an engine that
	// is away for a while gives nothing up. Work waits for so long only where nobody notices that
	// its worker is lost.
	legSilence = time.Minute
	// beat is the time between two heartbeats of a leg, where few run.
	beat = 500 * time.Millisecond
	// beatEach is how much longer that time is for each that runs: each heartbeat is a write of the
	// engine, and hundreds of them in a second would take its whole time.
	beatEach = 40 * time.Millisecond
	// beatParts is how many heartbeats fit into the silence.
	beatParts = 4
	// beatAgain is the longest time until a heartbeat that the engine did not take is sent again.
	beatAgain = 5 * time.Second
	// unheard is how long a leg runs without an answer from the engine. It is well below
	// legSilence: a worker that is cut off from the engine kills its programs before another worker
	// is given the same legs. A worker whose engine only restarts loses nothing.
	unheard = 30 * time.Second
)

// errUnheard says that the engine has not answered for so long that it must have given the activity
// up.
var errUnheard = errors.New("the engine has not answered heartbeats for too long")

// heartbeats spaces the heartbeats of all that runs in one process.
type heartbeats struct {
	running atomic.Int64
	// unheard is for tests that do not wait so long; zero means the constant.
	unheard time.Duration
	// standstills counts how often this process stood still for too long.
	standstills atomic.Int64

	mu sync.Mutex
	// now is closed when each activity is to send one at once; nil until somebody waits.
	now chan struct{}
}

// pause is the time until the next heartbeat of an activity.
func (b *heartbeats) pause() time.Duration {
	return min(max(beat, time.Duration(b.running.Load())*beatEach), legSilence/beatParts)
}

// hurry is closed when each activity is to send a heartbeat at once.
func (b *heartbeats) hurry() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.now == nil {
		b.now = make(chan struct{})
	}
	return b.now
}

// atOnce has each activity send a heartbeat at once, to learn whether the engine still waits for
// it.
func (b *heartbeats) atOnce() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.now != nil {
		close(b.now)
		b.now = nil
	}
}

// wish is what the engine wants of an activity, as it answers heartbeats. Each context ends with
// the answer as its cause.
type wish struct {
	// called ends when the engine calls the activity back, and whenever gone does.
	called context.Context
	// gone ends when the engine no longer waits for the activity, or when this process stood still
	// for too long.
	gone context.Context
}

// keepAlive sends heartbeats of an activity until ctx ends or an answer makes it gone. The SDK's
// own would not do: when the engine takes longer than a second to answer one, the SDK ends the
// activity's context, as if the engine had called it back, and hears of nothing after that. Here a
// heartbeat that the engine was slow to take is followed by the next.
func (a *activities) keepAlive(ctx, activityCtx context.Context) wish {
	token := activity.GetInfo(activityCtx).TaskToken
	gone, giveUp := context.WithCancelCause(ctx)
	called, callBack := context.WithCancelCause(gone)
	stood := a.heartbeats.standstills.Load()
	go func() {
		a.heartbeats.running.Add(1)
		defer a.heartbeats.running.Add(-1)
		patience := cmp.Or(a.heartbeats.unheard, unheard)
		heard, pause, hurry := time.Now(), a.heartbeats.pause(), a.heartbeats.hurry()
		for gone.Err() == nil {
			timer := time.NewTimer(pause)
			select {
			case <-ctx.Done():
			case <-hurry:
			case <-timer.C:
			}
			timer.Stop()
			if ctx.Err() != nil {
				return
			}
			if a.heartbeats.standstills.Load() != stood {
				giveUp(errStoodStill)
				return
			}
			pause, hurry = a.heartbeats.pause(), a.heartbeats.hurry()
			switch answer := heartbeat(ctx, a.engine, token); {
			case givenUp(answer):
				giveUp(answer)
			case isCalled(answer):
				callBack(answer)
				heard = time.Now()
			case answer == nil, errors.Is(answer, activity.ErrActivityPaused):
				heard = time.Now()
			case time.Since(heard) > patience:
				giveUp(errors.Join(errUnheard, answer))
			default:
				pause = min(pause, beatAgain)
			}
		}
	}()
	return wish{called: called, gone: gone}
}

// heartbeatTimeout is how long the engine may take to answer a heartbeat.
const heartbeatTimeout = 5 * time.Second

// heartbeat sends one, and returns what the engine answers.
func heartbeat(ctx context.Context, engine Engine, token []byte) error {
	sending, stop := context.WithTimeout(ctx, heartbeatTimeout)
	defer stop()
	return engine.RecordActivityHeartbeat(sending, token)
}
