//go:build services

package crash

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/measure"
)

var effects = flag.Bool("ledger", false, "kill workers in the middle of calls, and hold the journal against what happened")

const (
	// onceRounds have calls that must not run twice, shortRounds are as many with -short, and
	// mendRounds have calls that can be reconciled. Each kind has at least one round for each of
	// onceEnds.
	onceRounds, shortRounds, mendRounds = 10, 3, 3
	// together is how many conversations a round has, and hands how many calls each: as many sub-agents
	// work at the same time.
	together, hands = 10, 4
	// roundWithin is how long a round may take until its worker is dead.
	roundWithin = 60 * time.Second
)

// onceEnds are the points at which calls are interrupted: before they ran, after that, and after
// their result was recorded.
var onceEnds = []host.Point{host.PointOnceStarted, host.PointOnceRan, host.PointOnceEnd}

// TestLedger kills the worker of every one of 400 calls that must not run twice, 120 with -short,
// and of 120 that can be reconciled, and checks the journal against a ledger in which each call
// leaves a line when it runs. No call runs twice; where the end of a call is unknown, the journal
// says so, and the model was told.
//
// Covers: P6.
func TestLedger(t *testing.T) {
	if !*effects {
		t.Skip("run make crash/ledger")
	}
	w := newWorld(t, worldOptions{Workers: 1, Gather: true})
	l := &load{world: w, ledger: newLedger()}
	l.startClients("client", 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go w.supervise(ctx, w.workers[0])
	began := time.Now()
	var rounds []round
	once := onceRounds
	if testing.Short() {
		once = shortRounds
	}
	for i := range once + mendRounds {
		shape := shapeStamps
		if i >= once {
			shape = shapeMends
		}
		r := round{Point: onceEnds[i%len(onceEnds)], Convs: fmt.Sprintf("%s%d-", shape, i), Calls: together * hands}
		l.interrupt(t, shape, r)
		rounds = append(rounds, r)
	}
	killed := time.Since(began)
	for _, what := range l.drain(t.Context(), drainWithin) {
		t.Error(what)
	}
	t.Logf("%d kills in %v, all over after %v", len(rounds), killed.Round(time.Second), time.Since(began).Round(time.Second))
	ran, calls, wrong := l.ran(t), int64(0), 0
	for _, r := range rounds {
		calls, wrong = calls+r.Calls, wrong+l.account(t, r, ran)
	}
	measure.Figure(t, "crash/ledger: %d kills in the middle of %d calls, %d of which ended otherwise than they must", len(rounds), calls, wrong)
	w.audited(t)
	if why := l.refusals(); len(why) > 0 {
		t.Errorf("the model refused %d requests: %v", len(why), why)
	}
}

// interrupt plays a round until its worker has died.
func (l *load) interrupt(t *testing.T, shape string, r round) {
	t.Helper()
	if err := l.part.announce(r); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range together {
		conv := fmt.Sprint(r.Convs, i)
		l.convs = append(l.convs, conv)
		wg.Go(func() {
			l.do(t.Context(), 0, job{ID: conv + "o", Do: "open", Conv: conv})
			l.do(t.Context(), 0, job{ID: conv + "m", Do: "say", Conv: conv, Text: fmt.Sprintf("%s %d %s", shape, hands, conv)})
		})
	}
	wg.Wait()
	for deadline := time.Now().Add(roundWithin); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(l.part.gathering()); err != nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not all calls of %s came to %s", r.Convs, r.Point)
		}
	}
}

// ran counts by call how often it happened.
func (l *load) ran(t *testing.T) map[string]int {
	t.Helper()
	text, err := os.ReadFile(l.part.ledger())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for line := range strings.Lines(string(text)) {
		_, call, _ := strings.Cut(strings.TrimSpace(line), " ")
		out[call]++
	}
	return out
}

// account compares the calls of a round with their effects, prints their outcomes and counts the
// faults.
func (l *load) account(t *testing.T, r round, ran map[string]int) (wrong int) {
	t.Helper()
	found := map[string]int{}
	for i := range together {
		for hand := range hands {
			conv, id := fmt.Sprint(r.Convs, i), fmt.Sprintf("main/1.0.%d", hand)
			times := ran[conv+"/"+id+"#1.0"]
			status := l.endOf(t, conv, id)
			found[fmt.Sprintf("ran %d times, %s", times, status)]++
			if want := r.want(); fmt.Sprintf("ran %d times, %s", times, status) != want {
				t.Errorf("%s of %s, killed at %s: ran %d times, %s; it should be %s", id, conv, r.Point, times, status, want)
				wrong++
			}
		}
	}
	t.Logf("%-12s killed at %-12s %v", strings.TrimSuffix(r.Convs, "-"), r.Point, found)
	return wrong
}

// want is what must have become of the calls of a round.
func (r round) want() string {
	switch {
	case strings.HasPrefix(r.Convs, shapeMends), r.Point == host.PointOnceEnd:
		return "ran 1 times, completed"
	case r.Point == host.PointOnceRan:
		return "ran 1 times, indeterminate"
	}
	return "ran 0 times, indeterminate"
}

// endOf is the end of a hand's one call in the journal. It counts only if the core and the model
// were told the same.
func (l *load) endOf(t *testing.T, conv, hand string) string {
	t.Helper()
	in := journal.In{Agent: hand, Task: hand}
	entries, err := l.node.Log.Find(t.Context(), placeOf(conv), journal.ToolReturned{In: in, Call: "1.0"}.Key())
	if err != nil || len(entries) != 1 {
		return fmt.Sprintf("%d results %v", len(entries), err)
	}
	row, _ := entries[0].Row.(journal.ToolReturned)
	told := l.told(t, conv, hand)
	if len(told) == 0 || told[0] != row.Text {
		return fmt.Sprintf("the model was told %q instead of %q", told, row.Text)
	}
	unknown := strings.HasPrefix(row.Text, lost)
	if core := l.core(t, conv, hand); unknown != (row.Status == journal.CallIndeterminate) || unknown && core != agent.ToolIndeterminate {
		return fmt.Sprintf("%s, the core was told %s, and the model %q", row.Status, core, row.Text)
	}
	return string(row.Status)
}

// core is how the core was told that the call ended.
func (l *load) core(t *testing.T, conv, hand string) agent.ToolResult {
	t.Helper()
	steps, err := l.node.Log.Steps(t.Context(), placeOf(conv), hand, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		event, err := agent.UnmarshalEvent(s.Event)
		if err != nil {
			t.Fatal(err)
		}
		if done, ok := event.(agent.ToolDone); ok && done.Call == "1.0" {
			return done.Result
		}
	}
	return agent.ToolResult(chat.StatusPending)
}
