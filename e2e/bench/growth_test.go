//go:build services

package bench

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/measure"
)

// flat is how far the cost of one may differ from the mean of all.
const flat = 0.15

// How far growth is followed, in full and in CI.
var (
	fullSiblings, smallSiblings = []int{8, 32, 128, 512, 1000, 2000}, []int{4, 16, 48}
	fullTurns, smallTurns       = []int{10, 50, 100, 200, 400, 800, 1600, 3200, 5000}, []int{10, 30, 50, 70, 90}
)

// window makes a transcript be shortened every few dozen turns.
const window = 4_000

// The most that the engine may keep of a long talk.
const (
	historyLimit = 4 << 20
	payloadLimit = 16 << 10
	// payloadShare is what each sub-agent of one reply adds to it: 16 KiB hold some 200, and a role may
	// ask for ten at once unless it says otherwise.
	payloadShare = 85
)

// alone is how many turns without a sub-agent tell what a conversation costs by itself.
const alone = 8

// TestSiblings measures the cost of a sub-agent by the number of its siblings: the cost of the
// conversation, less its cost without sub-agents.
func TestSiblings(t *testing.T) {
	counts := smallSiblings
	if *full {
		counts = fullSiblings
	}
	var curves []curve
	eachStore(t, func(t *testing.T, s *store) {
		var shapes []Shape
		for _, n := range counts {
			shapes = append(shapes, Shape{Talks: 1, Agents: n, Calls: 5})
		}
		model, address := model(t, append(shapes, warmUp))
		setup := s.setup(t, "retinue", address)
		setup.Family = counts[len(counts)-1] // sub-agents beyond that have runs of their own, which TestFigures measures
		worker := start(t, setup)
		s.measure(worker, model, Order{Do: "run", Shape: warmUp, Name: "warm"})
		var own time.Duration
		for i := range alone {
			own += s.measure(worker, model, Order{Do: "talk", Name: fmt.Sprintf("alone-%d-0", i), Turns: 1}).cpu() / alone
		}
		t.Logf("%-8s a conversation without sub-agents: %.1f ms of CPU", s.name, ms(own))
		load := curve{name: s.name}
		for _, shape := range shapes {
			// Few agents are measured several times over: the CPU count has a resolution of 10 ms.
			again := max(1, 64/shape.Agents)
			var c cost
			for i := range again {
				one := s.measure(worker, model, Order{Do: "run", Shape: shape, Name: fmt.Sprintf("%s-%d", shape, i)})
				c.wall, c.worker, c.engine = c.wall+one.wall, c.worker+one.worker, c.engine+one.engine
				c.database += one.database
			}
			each := time.Duration(shape.Agents * again)
			id := agentID(fmt.Sprintf("%s-0", shape))
			parent := read(t, s.engine, id, firstRun(t, s.engine, id))
			t.Logf("%-8s %4d siblings: each %5.1f ms of CPU (worker %.1f, engine %.1f, database %.1f), %5.1f ms wall; "+
				"parent: %d events, %d bytes, largest payload %d", s.name, shape.Agents, ms(c.cpu()/each), ms(c.worker/each),
				ms(c.engine/each), ms(c.database/each), ms(c.wall/each), parent.events, parent.bytes, parent.payload)
			load.add(float64(shape.Agents), ms((c.cpu()-time.Duration(again)*own)/each))
			if parent.bytes > historyLimit || parent.payload > max(payloadLimit, payloadShare*shape.Agents) {
				t.Errorf("the orchestrator of %d has a history of %d bytes and a payload of %d", shape.Agents, parent.bytes, parent.payload)
			}
		}
		curves = append(curves, load)
		load.judge(t, s.name+", CPU per sub-agent")
	})
	draw(t, "growth-siblings.svg", plot{
		title: "What a sub-agent costs, by the number of its siblings", x: "siblings", y: "CPU ms per sub-agent", log: true,
		curves: curves,
	})
}

// TestTurns measures the cost of a turn by the number of earlier ones, and reads the engine's data.
func TestTurns(t *testing.T) {
	marks := smallTurns
	if *full {
		marks = fullTurns
	}
	var curves []curve
	eachStore(t, func(t *testing.T, s *store) {
		model, address := model(t, nil)
		setup := s.setup(t, "retinue", address)
		setup.Window = window
		worker := start(t, setup)
		load, first, sent := curve{name: s.name}, []float64{}, []float64{}
		done := 0
		for _, mark := range marks {
			if done == 0 { // the beginning is not compared
				worker.do(Order{Do: "talk", Name: "long-0", Turns: mark}, new(Chunk))
				done = mark
				continue
			}
			before, was := cost{worker: cpu(worker.pid), engine: cpu(s.pid), database: s.backends.total()}, done
			var c Chunk
			worker.do(Order{Do: "talk", Name: "long-0", Turns: mark - done}, &c)
			done = mark
			after := cost{worker: cpu(worker.pid), engine: cpu(s.pid), database: s.backends.total()}
			used := after.cpu() - before.cpu()
			share := func(d time.Duration) float64 { return ms(d) / float64(mark-was) }
			load.add(float64(mark), share(used))
			first, sent = append(first, c.First...), append(sent, c.Sent...)
			t.Logf("%-8s turns %4d to %4d: %5.1f ms of CPU (worker %.1f, engine %.1f, database %.1f), %5.1f ms wall (median)", s.name, was+1, mark,
				share(used), share(after.worker-before.worker), share(after.engine-before.engine),
				share(after.database-before.database), median(c.Turns))
		}
		curves = append(curves, load)
		t.Logf("%s: a model is asked %.1f ms after a message (median); the first token is with a reader %.2f ms after the "+
			"provider sent it (median), %.2f ms (p95); model CPU %.1f s", s.name, median(sent), median(first), quantile(first, 0.95),
			cpu(model.pid).Seconds())
		measure.Most(t, "bench/engine: "+s.name+": ms from a message to its model call, median", median(sent), sentWithin)
		measure.Most(t, "bench/engine: "+s.name+": ms from the provider's first token to the reader's, median", median(first), 15.0)
		load.judge(t, s.name+", CPU per turn")
		keptOf(t, s, "long")
	})
	draw(t, "growth-turns.svg", plot{
		title: "What a turn costs, by the turns before it", x: "turn", y: "CPU ms per turn", curves: curves,
	})
}

// The times until a model is asked, in milliseconds: after a person's message, and after the reply
// that asks for a sub-agent.
const (
	sentWithin    = 10.0
	spawnedWithin = 5.0
)

// TestSpawn measures how soon a sub-agent calls its model.
func TestSpawn(t *testing.T) {
	turns, slack := 20, 20.0
	if *full {
		turns, slack = 200, 1
	}
	one := Shape{Talks: 1, Agents: 1, Calls: 1}
	eachStore(t, func(t *testing.T, s *store) {
		_, address := model(t, []Shape{one})
		setup := s.setup(t, "retinue", address)
		setup.Window = 50 * window // nothing is shortened: that is a request too
		var took []float64
		start(t, setup).do(Order{Do: "spawn", Name: "spawn-0", Turns: turns, Shape: one}, &took)
		measure.Figure(t, "bench/engine: %s: ms from the reply that asks for a sub-agent to its model call, p95: %.1f", s.name, quantile(took, 0.95))
		measure.Most(t, "bench/engine: "+s.name+": ms from the reply that asks for a sub-agent to its model call, median", median(took), slack*spawnedWithin)
	})
}

// keptOf reads every history of a talk from the engine and checks it against the limits.
func keptOf(t *testing.T, s *store, name string) {
	t.Helper()
	id, histories, events, bytes, payload := agentID(name), 0, 0, 0, 0
	for run := firstRun(t, s.engine, id); run != ""; {
		r := read(t, s.engine, id, run)
		histories++
		events, bytes, payload = max(events, r.events), max(bytes, r.bytes), max(payload, r.payload)
		run = r.next
	}
	t.Logf("%s: the talk has %d histories of at most %d events and %d bytes; the largest payload has %d bytes", s.name,
		histories, events, bytes, payload)
	if bytes > historyLimit || payload > payloadLimit {
		t.Errorf("a history has %d bytes and a payload %d; at most %d and %d are allowed", bytes, payload, historyLimit, payloadLimit)
	}
}

// judge checks that a curve is as flat as it must be: how far a point is from the mean of all, and
// how much higher than the beginning.
func (c curve) judge(t *testing.T, what string) {
	t.Helper()
	allowed := flat
	if !*full {
		allowed = 1
	}
	mean := 0.0
	for _, p := range c.points {
		mean += p.y / float64(len(c.points))
	}
	furthest := 0.0
	for _, p := range c.points {
		furthest = max(furthest, math.Abs(p.y-mean)/mean)
	}
	measure.Most(t, "bench/engine: "+what+": furthest from the mean", furthest, allowed)
	measure.Most(t, "bench/engine: "+what+": highest next to the beginning", c.growth(), mostGrowth)
}

// mostGrowth is how much higher than the beginning a curve may go. A few short measurements say no
// more than that about growth.
const mostGrowth = 2.0

// growth is the highest point next to the first.
func (c curve) growth() float64 {
	highest := 0.0
	for _, p := range c.points {
		highest = max(highest, p.y)
	}
	return highest / c.points[0].y
}

// TestGrowthIsSeen draws costs that grow and costs that do not, over the range that CI measures.
func TestGrowthIsSeen(t *testing.T) {
	for name, c := range map[string]struct {
		cost func(turn float64) float64
		want float64
	}{
		"as much as before": {func(float64) float64 { return 20 }, 1},
		"for all before":    {func(turn float64) float64 { return turn }, 3},
		"less than before":  {func(turn float64) float64 { return 20 - turn/10 }, 1},
	} {
		var load curve
		for _, mark := range smallTurns[1:] {
			load.add(float64(mark), c.cost(float64(mark)))
		}
		if got := load.growth(); got != c.want {
			t.Errorf("what costs %s grows to %.2f of the beginning, want %.2f", name, got, c.want)
		}
	}
}

func median(values []float64) float64 { return quantile(values, 0.5) }

func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

func draw(t *testing.T, file string, p plot) {
	t.Helper()
	if *plots == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(*plots, file), []byte(p.svg()), 0o600); err != nil {
		t.Error(err)
	}
}
