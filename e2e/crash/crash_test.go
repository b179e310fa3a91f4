//go:build services

package crash

import (
	"context"
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/measure"
)

var (
	seed    = flag.Uint64("seed", 0, "draws load and faults; zero means the time")
	minutes = flag.Float64("minutes", 0, "how long faults go on; zero skips the test")
	resume  = flag.Duration("resume", 5*time.Second, "how long a killed worker's tasks may stand still, for 95 of 100")
)

const (
	// people talk at the same time.
	people = 14
	// agentsPerMinute is the least load that a run must have carried.
	agentsPerMinute = 225
	// ambiguousPerMinute is how many requests must have been sent and not answered.
	ambiguousPerMinute = 75
	// moreFor is how long one more round of faults lasts while the load is not reached yet.
	moreFor = 30 * time.Second
	// moreWithin is the most time for all such rounds.
	moreWithin = 15 * time.Minute
	// drainWithin is how long open work may take to end when the faults have stopped.
	drainWithin = 60 * time.Second
)

// faultsPerRun are those of a run of four minutes; longer ones have more.
var faultsPerRun = map[fault]int{
	killWorker: 52, killClient: 10, killServer: 24, killEngine: 8, killPostgres: 8, pauseWorker: 6, pauseEngine: 2,
}

// TestCrash kills everything under load.
//
// Covers: P1, P2, P4, P5, P6, P7, P13.
func TestCrash(t *testing.T) {
	if *minutes == 0 {
		t.Skip("run make crash")
	}
	*seed = measure.Seed(t, *seed)
	over := time.Duration(*minutes * float64(time.Minute))
	w := newWorld(t, worldOptions{Workers: 3, Servers: 2})
	l := newCrowd(w)
	l.seed = *seed
	l.startClients("caller", 2)
	n := &nemesis{load: l.load, chance: rand.New(rand.NewPCG(*seed, 1<<32))}
	v := l.endure(t, n, people, func(ctx context.Context) {
		began := time.Now()
		n.strike(ctx, n.plan(faultsIn(over)), over)
		l.strikeOn(ctx, t, n, began.Add(over+max(over, moreWithin)))
	})
	report(t, "crash", v, n.done)
	reportResumed(t, v)
	l.reportAnswers(t)
	w.audited(t)
	if least := int(agentsPerMinute * *minutes); v.Agents < least {
		t.Errorf("only %d sub-agents ran under the faults, at least %d are needed to say anything", v.Agents, least)
	}
	if least := int(ambiguousPerMinute * *minutes); v.Ambiguous < least {
		t.Errorf("only %d requests were sent and not answered, at least %d are needed to say anything", v.Ambiguous, least)
	}
}

// endure has people work during faults, waits until the open work has ended, and judges.
func (c *crowd) endure(t *testing.T, n *nemesis, people int, strike func(context.Context)) verdict {
	t.Helper()
	stop := n.mind()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.run(ctx, people)
	}()
	began := time.Now()
	strike(ctx)
	c.over.Store(true)
	stopped := time.Now()
	select {
	case <-ended:
	case <-time.After(drainWithin):
		cancel()
		<-ended
	}
	open := c.drain(t.Context(), time.Until(stopped.Add(drainWithin)))
	drained := time.Since(stopped)
	c.explain(t, open)
	stop()
	v := c.judge(t, n.done)
	v.Open, v.Drained = open, drained
	c.judgeWatched(t, &v)
	c.judgeList(t, &v)
	v.TailOK, v.TailErrors = c.ledger.tail(stopped.Add(-stopped.Sub(began) / 5))
	return v
}

// faultsIn are the faults of a time.
func faultsIn(over time.Duration) map[fault]int {
	counts := map[fault]int{}
	for f, count := range faultsPerRun {
		counts[f] = max(int(float64(count)*over.Minutes()/4+0.5), 1)
	}
	return counts
}

// strikeOn repeats faults until the run has carried enough load to prove anything: a busy machine
// needs longer.
func (c *crowd) strikeOn(ctx context.Context, t *testing.T, n *nemesis, until time.Time) {
	t.Helper()
	for {
		agents, ambiguous := c.carried(ctx)
		enough := agents >= int(agentsPerMinute**minutes) && ambiguous >= int(ambiguousPerMinute**minutes)
		left := min(time.Until(until), moreFor)
		if enough || left <= 0 || ctx.Err() != nil {
			return
		}
		t.Logf("%d sub-agents and %d requests without an answer so far, so it goes on", agents, ambiguous)
		n.strike(ctx, n.plan(faultsIn(left)), left)
	}
}

// report prints a verdict and fails on what must not be.
func report(t *testing.T, name string, v verdict, done []struck) {
	t.Helper()
	away := map[fault][]time.Duration{}
	for _, s := range done {
		away[s.Fault] = append(away[s.Fault], s.Back.Sub(s.At))
	}
	for f, times := range away {
		slices.Sort(times)
		t.Logf("%-18s %d times, away for %v in the middle, %v at most", f, len(times),
			percentile(times, 0.5).Round(time.Millisecond), percentile(times, 1).Round(time.Millisecond))
	}
	measure.Figure(t, "%s: %d faults; %d messages acknowledged: %d lost, %d doubled, %d out of order", name, len(done), v.Acked, v.Lost, v.Doubled, v.Inverted)
	measure.Figure(t, "%s: %d sub-agents, %d without exactly one outcome; %d runs of tools that must not run twice, %d repeated",
		name, v.Agents, v.Missing, v.Once, v.Repeats)
	t.Logf("conversations      %d, turns %v", v.Conversations, v.Turns)
	t.Logf("commands over HTTP %d answered, %d requests were sent and not answered", v.Commands, v.Ambiguous)
	t.Logf("watched            %d events through %d streams", v.Events, v.Streams)
	t.Logf("sub-agents         %v", v.Ends)
	t.Logf("once tools         %d indeterminate", v.Indeterminate)
	t.Logf("idempotent tools   %d runs: %d again", v.Idempotent, v.Rerun)
	t.Logf("model              %d requests, %d refused", v.Requests, v.Refused)
	t.Logf("drained            after %v, %d open", v.Drained.Round(100*time.Millisecond), len(v.Open))
	t.Logf("last fifth         %d calls returned, %d failed", v.TailOK, v.TailErrors)
	if v.TailErrors > v.TailOK {
		t.Error("the run is invalid: its last fifth is mostly errors")
	}
	for _, list := range [][]string{v.Broken, v.Open} {
		for i, what := range list {
			if i == 40 {
				t.Errorf("and %d more", len(list)-i)
				break
			}
			t.Error(what)
		}
	}
	if v.Refused > 0 {
		t.Errorf("the model refused %d requests", v.Refused)
	}
}

// reportResumed prints how long the tasks of killed workers stood still.
func reportResumed(t *testing.T, v verdict) {
	t.Helper()
	t.Logf("resume             %d tasks: median %v, p95 %v, most %v", len(v.Resume),
		percentile(v.Resume, 0.5), percentile(v.Resume, 0.95), percentile(v.Resume, 1))
	t.Logf("resume, no other   %d tasks: median %v, p95 %v, most %v", len(v.ResumeAlone),
		percentile(v.ResumeAlone, 0.5), percentile(v.ResumeAlone, 0.95), percentile(v.ResumeAlone, 1))
	for _, slow := range v.Slow {
		t.Logf("  %s", slow)
	}
	measure.Met(t, len(v.ResumeAlone) > 0, "crash: a task of a killed worker that no other fault delays")
	measure.Most(t, "crash: tasks of a killed worker stand still, p95", percentile(v.ResumeAlone, 0.95), *resume)
}
