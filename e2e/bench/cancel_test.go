//go:build services

package bench

import (
	"fmt"
	"testing"

	"github.com/retinue-dev/retinue/internal/measure"
)

// The times in which a tree of agents that are all at work is stopped, in milliseconds.
const (
	acceptedWithin = 300
	closedWithin   = 300
)

// TestCancel stops trees of agents that wait for their models.
func TestCancel(t *testing.T) {
	trees, slack := 3, 5.0
	if *full {
		trees, slack = 20, 1
	}
	eachStore(t, func(t *testing.T, s *store) {
		_, address := model(t, nil)
		worker := start(t, s.setup(t, "retinue", address))
		var accepted, closed []float64
		for i := range trees {
			var stop Stop
			worker.do(Order{Do: "cancel", Name: fmt.Sprintf("stop-%d", i)}, &stop)
			accepted, closed = append(accepted, stop.Accepted), append(closed, stop.Closed)
		}
		t.Logf("%s: %d trees of %d agents stopped: accepted after %.0f ms (median), %.0f ms (p95); all closed after %.0f ms "+
			"(median), %.0f ms (p99)", s.name, trees, slowAgents, median(accepted), quantile(accepted, 0.95), median(closed),
			quantile(closed, 0.99))
		measure.Most(t, "bench/engine: "+s.name+": ms until a cancel is accepted, p95", quantile(accepted, 0.95), slack*acceptedWithin)
		measure.Most(t, "bench/engine: "+s.name+": ms until a tree is closed, p99", quantile(closed, 0.99), slack*closedWithin)
	})
}
