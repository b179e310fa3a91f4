//go:build services

package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/measure"
)

const (
	// manyWaiting is how many sub-agents wait for their models.
	manyWaiting = 1000
	// settled is how long nothing is measured after the last has begun to wait, and watched how long is
	// measured.
	settled, watchedFor = 5 * time.Second, 20 * time.Second
	// beside is how many turns another conversation makes meanwhile.
	beside = 40
	// The bounds: cores that all processes use together, another's turn next to one alone, and the time
	// until all are stopped.
	coresOfOne, coresOfMany, turnBeside, stoppedWithin = 0.10, 0.50, 1.5, 2000
)

// TestWaiting has 1,000 sub-agents wait for their models, in one conversation and in 1,000, and
// says what that costs others.
func TestWaiting(t *testing.T) {
	many, slack := 100, 20.0
	if *full {
		many, slack = manyWaiting, 1
	}
	for _, c := range []struct {
		name  string
		shape Shape
		cores float64
	}{
		{"in one conversation", Shape{Talks: 1, Agents: manyWaiting}, coresOfOne},
		{"in as many conversations", Shape{Talks: many, Agents: 1}, coresOfMany},
	} {
		eachStore(t, func(t *testing.T, s *store) {
			model, address := model(t, nil)
			worker := start(t, s.setup(t, "retinue", address))
			var alone, crowded Chunk
			worker.do(Order{Do: "talk", Name: "other", Turns: beside}, new(Chunk)) // the beginning is not compared
			worker.do(Order{Do: "talk", Name: "other", Turns: beside}, &alone)
			began := time.Now()
			worker.do(Order{Do: "wait", Name: "waiting", Shape: c.shape}, nil)
			begun := time.Since(began)
			time.Sleep(settled)
			used := func() time.Duration { return cpu(worker.pid) + cpu(s.pid) + s.backends.total() + cpu(model.pid) }
			before, from := used(), time.Now()
			time.Sleep(watchedFor)
			cores := float64(used()-before) / float64(time.Since(from))
			worker.do(Order{Do: "talk", Name: "other", Turns: beside}, &crowded)
			what := fmt.Sprintf("bench/engine: %s: %d sub-agents wait %s", s.name, c.shape.agents(), c.name)
			measure.Figure(t, "%s: all begun after %.1f s; memory: worker %d MB, engine %d MB; another's turn %.1f ms, alone %.1f ms (medians)",
				what, begun.Seconds(), resident(t, worker.pid), resident(t, s.pid), median(crowded.Turns), median(alone.Turns))
			measure.Most(t, what+": cores", cores, slack*c.cores)
			measure.Most(t, what+": another's turn next to one alone, median", median(crowded.Turns)/median(alone.Turns), slack*turnBeside)
			if c.shape.Talks == 1 {
				var stop Stop
				worker.do(Order{Do: "stop", Name: "waiting-0", Shape: c.shape}, &stop)
				measure.Most(t, what+": ms until all are stopped", stop.Closed, slack*stoppedWithin)
			}
		})
	}
}

// resident is the memory of a process, in MB.
func resident(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if kb, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, _ := strconv.Atoi(strings.Fields(kb)[0]) // the kernel writes numbers
			return n >> 10
		}
	}
	return 0
}
