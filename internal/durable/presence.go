package durable

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
)

// A worker with legs has one activity that says for all of them that the process lives: its
// presence. It is heard of often, so that the legs need not be. When it falls silent, the engine
// gives the legs of that worker to others.
const (
	// silence is how long a worker may be silent, and grace how long it then has to say that it is
	// alive after all: an engine that was away, or slow, takes a worker for lost that is not.
	silence = 1250 * time.Millisecond
	grace   = 1500 * time.Millisecond
	// presentBeat is the time between two heartbeats of a worker, and presentMost how many of them
	// may wait for an answer: a slow engine has still received them.
	presentBeat, presentMost = 300 * time.Millisecond, 8
	// presentWithin is how soon a live worker is present. One that is not says again that it is alive,
	// and the engine takes one that does not say so for lost.
	presentWithin = 2 * time.Second
	// releasePause is the time between two releases of the legs of a lost worker, and releaseRetry the
	// longest until one that failed is tried again.
	releasePause, releaseRetry = time.Second, 4 * time.Second
	// presenceIdle is how long a worker without legs stays present: an idle program on a laptop writes
	// nothing.
	presenceIdle = 10 * time.Minute
	// presenceSpan is how long one presence activity lasts. The workflow then starts the next one.
	presenceSpan = 12 * time.Hour
)

// Presence is the workflow of one worker, for as long as it is present. It releases the legs of a
// lost worker. A worker that was taken for lost and comes back is present again once all its legs
// were released, so that it is told about each.
func Presence(ctx workflow.Context, worker string) error {
	here := workflow.GetSignalChannel(ctx, signalHere)
	for {
		for here.ReceiveAsync(nil) {
			continue // one answer is enough for all of them
		}
		present := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			TaskQueue: presenceQueue(worker), ScheduleToStartTimeout: presentWithin,
			StartToCloseTimeout: presenceSpan + choreTimeout, HeartbeatTimeout: silence,
			RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
		})
		var again bool
		err := workflow.ExecuteActivity(present, activityPresent).Get(ctx, &again)
		switch {
		case again:
			continue
		case err != nil && !isHere(ctx, here, grace):
			if err := release(ctx, worker, here); err != nil {
				return err
			}
		}
		if here.Len() == 0 {
			return nil
		}
	}
}

// isHere waits until a worker says that it is alive after all, but not for long.
func isHere(ctx workflow.Context, here workflow.ReceiveChannel, patience time.Duration) bool {
	ok, err := workflow.AwaitWithTimeout(ctx, patience, func() bool { return here.Len() > 0 })
	return ok && err == nil
}

// release gives the legs of a lost worker to others, until it has none left or is back. A paused
// worker may have asked for work before its pause, and the engine may have given it some since.
func release(ctx workflow.Context, worker string, here workflow.ReceiveChannel) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: choreTimeout, HeartbeatTimeout: silence + grace, RetryPolicy: &temporal.RetryPolicy{MaximumInterval: releaseRetry},
	})
	for {
		released := 0
		if err := workflow.ExecuteActivity(ctx, activityRelease, worker).Get(ctx, &released); err != nil {
			return err
		}
		if released == 0 || isHere(ctx, here, releasePause) {
			return nil
		}
	}
}

// presence is that of this process.
type presence struct {
	engine            Engine
	namespace, worker string
	beats             *heartbeats

	mu sync.Mutex
	// on means that the engine has been told that this worker is alive, and showing is closed when it
	// is known whether it could be; nil while nobody tells it.
	on      bool
	showing chan struct{}
	// begun counts the activities that say so, and told is when the engine was told, or the last of
	// them ended.
	begun int
	told  time.Time
	// idle is since when no leg runs.
	idle time.Time
}

// show tells the engine that this worker is alive, before a leg begins.
func (p *presence) show(ctx context.Context) error {
	for {
		p.mu.Lock()
		p.idle = time.Time{} // a leg is about to begin: its worker must not end its presence now
		on, showing := p.on, p.showing
		if !on && showing == nil {
			p.showing = make(chan struct{})
		}
		p.mu.Unlock()
		switch {
		case on:
			return nil
		case showing == nil:
			err := p.tell(ctx)
			p.mu.Lock()
			defer p.mu.Unlock()
			close(p.showing)
			p.on, p.showing, p.told = err == nil, nil, time.Now()
			return err
		}
		select {
		case <-showing:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// keep says again that this worker is alive when it should be present and is not: the engine may
// have taken it for lost before it had begun.
func (p *presence) keep(ctx context.Context, now time.Time) {
	p.mu.Lock()
	missing := p.on && p.begun == 0 && now.Sub(p.told) > presentWithin
	if missing {
		p.told = now
	}
	p.mu.Unlock()
	if missing {
		_ = p.tell(ctx) // or it says so later
	}
}

// start and stop count the activities that say that this worker is alive.
func (p *presence) start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun++
}

func (p *presence) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun--
	p.told = time.Now()
}

// tell tells the engine that this worker is alive.
func (p *presence) tell(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, heartbeatTimeout)
	defer cancel()
	_, err := p.engine.SignalWithStartWorkflow(ctx, presenceID(p.worker), signalHere, nil, client.StartWorkflowOptions{
		TaskQueue: presencesQueue, WorkflowTaskTimeout: taskTimeout, WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}, workflowPresence, p.worker)
	return err
}

// over reports whether this worker need not be present any more. The next leg shows it again.
func (p *presence) over(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.beats.running.Load() > 0:
		p.idle = time.Time{}
	case p.idle.IsZero():
		p.idle = now
	case now.Sub(p.idle) > presenceIdle:
		p.on, p.idle = false, time.Time{}
	}
	return !p.on
}

// present reports that this worker is alive, for as long as it is, and returns whether another
// presence must follow. The worker may have been taken for lost before, so at the start all legs
// check whether they are still theirs.
func (p *presence) present(ctx context.Context) (again bool, err error) {
	p.start()
	defer p.stop()
	p.beats.atOnce()
	info, stopped := activity.GetInfo(ctx), activity.GetWorkerStopChannel(ctx)
	forgetCache(ctx, p.engine, p.namespace, &common.WorkflowExecution{WorkflowId: info.WorkflowExecution.ID, RunId: info.WorkflowExecution.RunID})
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	ticker, lost, sent := time.NewTicker(presentBeat), make(chan struct{}, 1), make(chan struct{}, presentMost)
	defer ticker.Stop()
	for began := time.Now(); time.Since(began) < presenceSpan; {
		select {
		case <-stopped:
			return false, nil
		case <-lost:
			p.beats.atOnce()
			p.back(ctx, stopped)
			return false, nil
		case <-ticker.C:
		}
		if p.over(time.Now()) {
			return false, nil
		}
		select {
		case sent <- struct{}{}:
			go func() {
				defer func() { <-sent }()
				if givenUp(heartbeat(ctx, p.engine, info.TaskToken)) {
					select {
					case lost <- struct{}{}:
					default: // it is known
					}
				}
			}()
		default: // none of them is answered
		}
	}
	return true, nil
}

// back says that this worker is alive after all, until the engine has heard it.
func (p *presence) back(ctx context.Context, stopped <-chan struct{}) {
	for {
		if p.tell(ctx) == nil {
			return
		}
		select {
		case <-stopped:
			return
		case <-time.After(presentBeat):
		}
	}
}
