package engine

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

const (
	taskQueue = "counting"
	runs      = 8
	steps     = 10
	killAfter = 25 // of the 80 activities

	scenarioTimeout = 2 * time.Minute
)

func TestAKilledEngineOnSQLiteLosesNothing(t *testing.T) {
	survive(t, Options{SQLite: t.TempDir() + "/engine.db"})
}

// survive kills an engine while workflows run, starts it again at the same place, and wants them
// all to end as if nothing had happened.
func survive(t *testing.T, o Options) {
	ctx, cancel := context.WithTimeout(t.Context(), scenarioTimeout)
	defer cancel()
	begun := time.Now()
	o.Listen = keptAddress(t)
	credentials := t.TempDir()
	first := launch(t, o, credentials)
	o.Listen = first.address
	shown, err := known(o, credentials)
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, first.address, shown)
	count := &counter{reached: make(chan struct{})}
	serve(t, c, count)

	var started []client.WorkflowRun
	for i := range runs {
		started = append(started, start(t, c, i))
		if i == 0 {
			if diff := cmp.Diff(sequence(0), result(t, ctx, started[0])); diff != "" {
				t.Fatalf("the first workflow (-want +got):\n%s", diff)
			}
			t.Logf("the first workflow is done %v after the start", time.Since(begun).Round(time.Millisecond))
		}
	}
	select {
	case <-count.reached:
	case <-ctx.Done():
		t.Fatal("the workflows do not run")
	}
	first.kill()
	killed := time.Now()
	launch(t, o, credentials)

	var got, want [][]int
	for i, run := range started {
		got = append(got, result(t, ctx, run))
		want = append(want, sequence(i))
	}
	t.Logf("all is done %v after the kill; %d activities, at least %d", time.Since(killed), count.calls.Load(), runs*steps)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

// TestAnEngineCanBeStoppedAndStartedAgain restarts an engine inside one program.
func TestAnEngineCanBeStoppedAndStartedAgain(t *testing.T) {
	o := knownTo(t, Options{SQLite: t.TempDir() + "/engine.db", Listen: keptAddress(t)})
	for i := range 2 {
		e, err := Start(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		o.Listen = e.Address
		c := dial(t, e.Address, o)
		stop := serve(t, c, &counter{reached: make(chan struct{})})
		if diff := cmp.Diff(sequence(i), result(t, t.Context(), start(t, c, i))); diff != "" {
			t.Errorf("result (-want +got):\n%s", diff)
		}
		stop()
		if err := e.Stop(); err != nil {
			t.Error(err)
		}
	}
}

// keptAddress is one that nobody else gets while the engine is down.
func keptAddress(t *testing.T) string {
	t.Helper()
	if !heldWhileListening {
		return "127.0.0.1:0"
	}
	local := netip.MustParseAddr("127.0.0.1")
	port, free, err := hold(netip.AddrPortFrom(local, 0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(free)
	return netip.AddrPortFrom(local, port).String()
}

func start(t *testing.T, c client.Client, i int) client.WorkflowRun {
	t.Helper()
	options := client.StartWorkflowOptions{ID: fmt.Sprint("run-", i), TaskQueue: taskQueue}
	run, err := c.ExecuteWorkflow(t.Context(), options, "Count", i)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func result(t *testing.T, ctx context.Context, run client.WorkflowRun) (list []int) {
	t.Helper()
	if err := run.Get(ctx, &list); err != nil {
		t.Fatalf("%s: %v", run.GetID(), err)
	}
	return list
}

func sequence(from int) []int {
	var list []int
	for i := range steps {
		list = append(list, from*100+i)
	}
	return list
}

// counter counts how often its activity runs, and says when that is often enough for a kill.
type counter struct {
	calls   atomic.Int64
	reached chan struct{}
}

func (c *counter) next(_ context.Context, last int) (int, error) {
	if c.calls.Add(1) == killAfter {
		close(c.reached)
	}
	return last + 1, nil
}

func countWorkflow(ctx workflow.Context, from int) ([]int, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 5 * time.Second})
	last := from*100 - 1
	var list []int
	for range steps {
		if err := workflow.ExecuteActivity(ctx, "Next", last).Get(ctx, &last); err != nil {
			return nil, err
		}
		list = append(list, last)
	}
	return list, nil
}

func dial(t *testing.T, address string, o Options) client.Client {
	t.Helper()
	c, err := client.Dial(client.Options{
		HostPort: address, Namespace: DefaultNamespace,
		Logger:            slog.New(slog.NewTextHandler(io.Discard, nil)),
		ConnectionOptions: client.ConnectionOptions{TLS: o.Client},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func serve(t *testing.T, c client.Client, count *counter) (stop func()) {
	t.Helper()
	w := worker.New(c, taskQueue, worker.Options{})
	w.RegisterWorkflowWithOptions(countWorkflow, workflow.RegisterOptions{Name: "Count"})
	w.RegisterActivityWithOptions(count.next, activity.RegisterOptions{Name: "Next"})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(w.Stop)
	t.Cleanup(stop)
	return stop
}
