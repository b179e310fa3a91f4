package sim

import (
	"flag"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/measure"
)

var (
	seeds = flag.Uint64("seeds", 2000, "how many histories to play")
	seed  = flag.Uint64("seed", 0, "the history that TestReplay plays")
)

// TestHistories plays histories until so many have been played in which something could go wrong.
//
// Covers: P4, P5, P7, P8, P10, P24, P25, R-150, R-151, R-152, R-153, R-154, R-156, E-40.
func TestHistories(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1600)) // histories are small and short-lived
	start := time.Now()
	var next, counted, dull atomic.Uint64
	var mu sync.Mutex
	var total Stats
	var failure error
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			var sum Stats
			var buffer []uint64
			for counted.Load() < *seeds {
				n := next.Add(1)
				s := draw(n, buffer)
				buffer = s.actions
				stats, err := play(s, nil)
				if err != nil {
					_, err = Replay(n)
					mu.Lock()
					failure = err
					mu.Unlock()
					counted.Store(*seeds)
					break
				}
				if !stats.interesting() {
					dull.Add(1)
					continue
				}
				counted.Add(1)
				sum.add(stats)
			}
			mu.Lock()
			total.add(sum)
			mu.Unlock()
		})
	}
	wg.Wait()
	took := time.Since(start)
	t.Logf("%d histories in %.1f s, %.0f a second (%d more were dull and not counted)\n%s",
		total.Histories, took.Seconds(), float64(total.Histories)/took.Seconds(), dull.Load(), total)
	if failure != nil {
		t.Fatal(failure)
	}
	measure.Figure(t, "sim: %d histories, 0 violations, %.0f a second", total.Histories, float64(total.Histories)/took.Seconds())
}

// TestReplay plays one history again and, if it breaks a law, shows the smallest schedule that
// does.
func TestReplay(t *testing.T) {
	stats, err := Replay(*seed)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("seed %d breaks no law\n%s", *seed, stats)
}
