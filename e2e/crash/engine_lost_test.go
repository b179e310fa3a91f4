//go:build services

package crash

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/durable/history"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/measure"
)

var lose = flag.Int("lose", 0, "how many runs the engine loses in each of three ways; zero skips the test")

const (
	// onWithin is how long the runs that the engine lost may take to finish.
	onWithin = 90 * time.Second
	// patienceLost is how long the test waits for that.
	patienceLost = 5 * time.Minute
	// spread is the time over which runs are begun, and lost.
	spread = 4 * time.Second
)

// TestLost has the engine lose runs in the middle of turns: they are terminated, they are deleted
// with their histories, and the engine's whole database is emptied. Each turn finishes without
// another message of a person.
//
// Covers: P7, P8.
func TestLost(t *testing.T) {
	if *lose == 0 {
		t.Skip("run make crash/lost")
	}
	w := newWorld(t, worldOptions{Workers: 3, Servers: 1})
	w.proxies[0].calm.Store(true)
	l := newCrowd(w)
	l.startClients("caller", 2)
	ends := map[string]int{}
	for _, way := range []struct {
		name string
		each func(context.Context, string) error
		all  func(context.Context)
	}{
		{name: "terminated", each: l.terminate},
		{name: "deleted", each: l.deleteRun},
		{name: "emptied", all: l.emptyEngine},
	} {
		convs := l.beginAll(t, way.name, way.each)
		lost := time.Now()
		if way.all != nil {
			way.all(t.Context())
		}
		slowest := l.waitAll(t, convs, lost)
		measure.Most(t, fmt.Sprintf("crash/lost: %d runs %s under load, the last has gone on to its end after", len(convs), way.name), slowest, onWithin)
	}
	v := l.judge(t, nil)
	for end, n := range v.Ends {
		ends[end] += n
	}
	open := l.drain(t.Context(), overWithin)
	l.explain(t, open)
	for _, what := range append(v.Broken, open...) {
		t.Error(what)
	}
	measure.Figure(t, "crash/lost: %d turns, %d messages lost; %d sub-agents, %d without exactly one outcome: %v", v.Conversations, v.Lost, v.Agents, v.Missing, ends)
	if v.Agents < 3**lose {
		t.Errorf("only %d sub-agents ran", v.Agents)
	}
}

// beginAll begins turns, and has the engine lose each of them a while later, if each says how.
func (c *crowd) beginAll(t *testing.T, name string, each func(context.Context, string) error) []string {
	t.Helper()
	var (
		mu    sync.Mutex
		convs []string
		all   sync.WaitGroup
	)
	for i := range *lose {
		all.Go(func() {
			chance := rand.New(rand.NewPCG(c.seed, uint64(i)))
			wait(t.Context(), time.Duration(chance.Int64N(int64(spread))))
			id := fmt.Sprint("lost-", name, i)
			c.do(t.Context(), i, job{ID: id + "o", Do: "open", Text: id})
			conv := c.ledger.makes(id + "o")
			c.do(t.Context(), i, job{ID: id + "m", Do: "say", Conv: conv, Text: "linger 2 " + id})
			mu.Lock()
			convs = append(convs, conv)
			mu.Unlock()
			if each == nil {
				return
			}
			wait(t.Context(), time.Duration(chance.Int64N(int64(spread))))
			if err := each(t.Context(), conv); err != nil {
				t.Errorf("lose %s: %v", conv, err)
			}
		})
	}
	all.Wait()
	c.load.mu.Lock()
	defer c.load.mu.Unlock()
	c.convs = append(c.convs, convs...)
	return convs
}

// waitAll waits until nothing is under way in any of these conversations, and returns how long that
// took since a time.
func (c *crowd) waitAll(t *testing.T, convs []string, since time.Time) time.Duration {
	t.Helper()
	for deadline := since.Add(patienceLost); time.Now().Before(deadline); wait(t.Context(), 200*time.Millisecond) {
		convs = slices.DeleteFunc(slices.Clone(convs), func(conv string) bool { return len(c.unrest(t.Context(), conv)) == 0 })
		if len(convs) == 0 {
			break
		}
	}
	return time.Since(since)
}

func (c *crowd) terminate(ctx context.Context, conv string) error {
	return c.node.Client.Engine.TerminateWorkflow(ctx, host.RunID(placeOf(conv), host.Root), "", "somebody ends it")
}

// deleteRun deletes a run with its history.
func (c *crowd) deleteRun(ctx context.Context, conv string) error {
	return history.Delete(ctx, c.node.Client.Engine, c.node.Client.Namespace, host.RunID(placeOf(conv), host.Root))
}

// emptyEngine restarts the engine with empty databases.
func (c *crowd) emptyEngine(context.Context) {
	c.engine.kill()
	for _, name := range []string{"engine", "engine_visibility"} {
		c.psql("drop database " + name + " with (force)")
		c.psql("create database " + name)
	}
	c.revive(c.engine)
}
