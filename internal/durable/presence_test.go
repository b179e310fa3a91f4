package durable

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

// TestPresence has a worker fall silent. Its legs are released, unless it says in time that it is
// alive. One that comes back later is present again when all of its legs were released.
func TestPresence(t *testing.T) {
	t.Parallel()
	silent := temporal.NewTimeoutError(enums.TIMEOUT_TYPE_HEARTBEAT, errors.New("silent"))
	for name, c := range map[string]struct {
		// ends are how one activity of the worker after another ends; nil is a worker that is done.
		ends []error
		// here is the activity during which the worker says that it is alive, or "grace".
		here                     string
		present, release, passes int
	}{
		"done":                         {ends: []error{nil}, present: 1},
		"killed":                       {ends: []error{silent}, present: 1, release: 1, passes: 2},
		"slow":                         {ends: []error{silent, nil}, here: "grace", present: 2},
		"late":                         {ends: []error{silent, nil}, here: activityRelease, present: 2, release: 1, passes: 1},
		"late, and then killed":        {ends: []error{silent, silent}, here: activityRelease, present: 2, release: 2, passes: 3},
		"a leg begins when it is done": {ends: []error{nil, nil}, here: activityPresent, present: 2},
	} {
		env := new(testsuite.WorkflowTestSuite).NewTestWorkflowEnvironment()
		present, release, passes := 0, 0, 0
		say := func(during string) {
			if during == c.here && present == 1 {
				env.SignalWorkflow(signalHere, nil)
			}
		}
		env.RegisterActivityWithOptions(func(context.Context) (bool, error) {
			present++
			say(activityPresent)
			return false, c.ends[present-1]
		}, activity.RegisterOptions{Name: activityPresent})
		env.RegisterActivityWithOptions(func(_ context.Context, worker string) (int, error) {
			if passes++; worker != "w" || present < release {
				t.Errorf("%s: the legs of %q are released when it was present %d times", name, worker, present)
			}
			if present > release { // the first time there are some
				release++
				say(activityRelease)
				return 3, nil
			}
			return 0, nil
		}, activity.RegisterOptions{Name: activityRelease})
		env.RegisterWorkflowWithOptions(Presence, workflow.RegisterOptions{Name: workflowPresence})
		env.RegisterDelayedCallback(func() { say("grace") }, grace/2)
		env.ExecuteWorkflow(workflowPresence, "w")
		if err := env.GetWorkflowError(); err != nil || present != c.present || release != c.release || passes != c.passes {
			t.Errorf("%s: present %d times, want %d; released after %d, want %d, in %d passes, want %d: %v",
				name, present, c.present, release, c.release, passes, c.passes, err)
		}
	}
}

// presenceEngine answers heartbeats of a worker, and counts them.
type presenceEngine struct {
	client.Client
	alive, deaf int

	mu    sync.Mutex
	beats int
	told  int
}

func (e *presenceEngine) RecordActivityHeartbeat(context.Context, []byte, ...any) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.beats++; e.beats > e.alive {
		return serviceerror.NewNotFound("it was silent")
	}
	return nil
}

func (*presenceEngine) WorkflowService() workflowservice.WorkflowServiceClient { return cacheless{} }

func (e *presenceEngine) SignalWithStartWorkflow(
	context.Context, string, string, any, client.StartWorkflowOptions, any, ...any,
) (client.WorkflowRun, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.told++; e.told <= e.deaf {
		return nil, context.DeadlineExceeded
	}
	return nil, nil //nolint:nilnil // nobody looks at it
}

// TestAWorkerThatWasThoughtLost has the engine take a living worker for lost. The worker reports
// until the engine hears it. Its legs check at once whether they are still theirs: when it learns
// of the loss, and when it is present again.
func TestAWorkerThatWasThoughtLost(t *testing.T) {
	t.Parallel()
	engine := &presenceEngine{alive: 2, deaf: 2}
	beats := &heartbeats{}
	beats.running.Store(1)
	p := &presence{engine: engine, worker: "w", beats: beats, on: true}
	asked := make(chan struct{}, 2)
	go func() {
		for range 2 {
			<-beats.hurry()
			asked <- struct{}{}
		}
	}()
	inActivity(t, func(ctx context.Context) {
		for { // the legs listen
			beats.mu.Lock()
			listens := beats.now != nil
			beats.mu.Unlock()
			if listens {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if again, err := p.present(ctx); again || err != nil {
			t.Errorf("it goes on: %t, %v", again, err)
		}
	})
	for range 2 {
		<-asked
	}
	if engine.beats != 3 || engine.told != 3 {
		t.Errorf("%d heartbeats, want 3; told %d times that it is alive, want 3", engine.beats, engine.told)
	}
}

// TestAnIdleWorkerIsNotPresent has a worker wait for work. After a while nothing is sent for it,
// and its next leg shows it again.
func TestAnIdleWorkerIsNotPresent(t *testing.T) {
	t.Parallel()
	engine := &presenceEngine{}
	p := &presence{engine: engine, worker: "w", beats: &heartbeats{}}
	show := func(want int) {
		t.Helper()
		for range 2 {
			if err := p.show(t.Context()); err != nil || engine.told != want {
				t.Errorf("the engine was told %d times, want %d: %v", engine.told, want, err)
			}
		}
	}
	show(1)
	now := time.Now()
	for after, over := range map[time.Duration]bool{0: false, presenceIdle: false} {
		if p.over(now.Add(after)) != over {
			t.Errorf("after %v without legs it is present: %t", after, over)
		}
	}
	show(1)
	if p.over(now.Add(2 * presenceIdle)) {
		t.Error("it is not present when a leg is about to begin")
	}
	p.beats.running.Store(1)
	if p.over(now.Add(2*presenceIdle)) || p.over(now.Add(3*presenceIdle)) {
		t.Error("it is not present while a leg runs")
	}
	p.beats.running.Store(0)
	if p.over(now.Add(4 * presenceIdle)) {
		t.Error("it is not present when its leg has just ended")
	}
	if !p.over(now.Add(5*presenceIdle + time.Second)) {
		t.Error("it is present although nothing runs")
	}
	show(2)
}

// TestAWorkerWhosePresenceDoesNotBegin has the engine give a worker up before its presence has
// begun. The worker announces itself again until it is present, and not while it is.
func TestAWorkerWhosePresenceDoesNotBegin(t *testing.T) {
	t.Parallel()
	engine := &presenceEngine{}
	p := &presence{engine: engine, worker: "w", beats: &heartbeats{}}
	now := time.Now()
	keep := func(after time.Duration, want int) {
		t.Helper()
		if p.keep(t.Context(), now.Add(after)); engine.told != want {
			t.Errorf("after %v the engine was told %d times, want %d", after, engine.told, want)
		}
	}
	keep(time.Hour, 0) // no leg has begun
	if err := p.show(t.Context()); err != nil {
		t.Fatal(err)
	}
	keep(presentWithin/2, 1)
	keep(2*presentWithin, 2)
	keep(2*presentWithin+presentWithin/2, 2)
	keep(4*presentWithin, 3)
	p.start()
	keep(time.Hour, 3)
	p.stop()
	keep(presentWithin/2, 3)
	keep(time.Hour, 4)
}
