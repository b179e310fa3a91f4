//go:build services

package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/durable"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/measure"
)

// bounds are the largest costs of a shape, as multiples of the bare engine's. On a shared machine
// those of CI catch only a collapse. Zero is no bound.
type bounds struct {
	shape              Shape
	wall, cpu, ownRuns float64
}

// ownRuns is the bound of CPU with a workflow for each sub-agent.
var (
	fullBounds = []bounds{
		{Shape{Talks: 1, Agents: 64, Calls: 5}, 0.20, 0.15, 0.60},
		{Shape{Talks: 1, Agents: 256, Calls: 5}, 0.20, 0.15, 0.60},
		{Shape{Talks: 200, Agents: 3, Calls: 3}, 0, 0.30, 0},
		{Shape{Talks: 1, Agents: 64, Calls: 5, Slow: true}, 0, 0.20, 0},
		{Shape{Talks: 1, Agents: 256, Calls: 5, Slow: true}, 0, 0.20, 0},
	}
	smallBounds = []bounds{
		{Shape{Talks: 1, Agents: 16, Calls: 5}, 2, 2, 2},
		{Shape{Talks: 12, Agents: 3, Calls: 3}, 2, 2, 0},
		{Shape{Talks: 1, Agents: 16, Calls: 5, Slow: true}, 0, 2, 0},
	}
)

// mostEvents is how many events of the engine a sub-agent may cost that its parent's leg carries.
const mostEvents = 4

func shapesOf(all []bounds) (out []Shape) {
	for _, b := range all {
		out = append(out, b.shape)
	}
	return out
}

// model starts the scripted model and returns it with its address.
func model(t *testing.T, shapes []Shape) (*part, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bench.yaml")
	if err := os.WriteFile(file, []byte(script(shapes)), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, Setup{Part: "model", Journal: file})
	var address string
	p.do(Order{}, &address)
	return p, address
}

// setup is what a worker on a store starts with.
func (s *store) setup(t *testing.T, part, model string) Setup {
	t.Helper()
	folder := t.TempDir()
	if err := furnish(folder); err != nil {
		t.Fatal(err)
	}
	return Setup{
		Part: part, Engine: s.address, Credentials: s.credentials, Model: model, Journal: s.journal, NATS: s.nats, Folder: folder,
	}
}

// cost is what something took.
type cost struct {
	wall, worker, engine, database, model time.Duration
	statements                            int64
}

func (c cost) cpu() time.Duration { return c.worker + c.engine + c.database }

// measure carries out an order and returns its cost. Only runs count their statements.
func (s *store) measure(worker, model *part, o Order) cost {
	before := cost{worker: cpu(worker.pid), engine: cpu(s.pid), database: s.backends.total(), model: cpu(model.pid)}
	began := time.Now()
	var c cost
	if o.Do == "run" {
		worker.do(o, &c.statements)
	} else {
		worker.do(o, nil)
	}
	c.wall = time.Since(began)
	c.worker, c.engine = cpu(worker.pid)-before.worker, cpu(s.pid)-before.engine
	c.database, c.model = s.backends.total()-before.database, cpu(model.pid)-before.model
	return c
}

// middle is the median of each figure.
func middle(all []cost) cost {
	pick := func(of func(cost) time.Duration) time.Duration {
		var list []time.Duration
		for _, c := range all {
			list = append(list, of(c))
		}
		slices.Sort(list)
		return list[len(list)/2]
	}
	return cost{
		wall: pick(func(c cost) time.Duration { return c.wall }), worker: pick(func(c cost) time.Duration { return c.worker }),
		engine:   pick(func(c cost) time.Duration { return c.engine }),
		database: pick(func(c cost) time.Duration { return c.database }),
		model:    pick(func(c cost) time.Duration { return c.model }), statements: all[0].statements,
	}
}

// contestant is one of those that are measured side by side.
type contestant struct {
	name   string
	worker *part
	costs  []cost
	// id is that of an orchestrator's workflow, childID that of a sub-agent's.
	id      func(name string) string
	childID func(name string, i int) string
}

// talk names the conversations of a round.
func (c *contestant) talk(shape Shape, round int) string {
	return fmt.Sprintf("%d-%d-%d-%d-%v-%d", c.worker.pid, shape.Talks, shape.Agents, shape.Calls, shape.Slow, round)
}

// TestFigures prints the figures of make bench/engine.
func TestFigures(t *testing.T) {
	all := smallBounds
	if *full {
		all = fullBounds
	}
	eachStore(t, func(t *testing.T, s *store) {
		model, address := model(t, append(shapesOf(all), warmUp))
		apart := s.setup(t, "retinue", address)
		apart.Family = 1
		contestants := []*contestant{
			{name: "bare engine", worker: start(t, s.setup(t, "bare", address)), id: bareID, childID: bareChild},
			{name: "Retinue", worker: start(t, s.setup(t, "retinue", address)), id: agentID, childID: agentChild},
			{name: "Retinue, a run each", worker: start(t, apart), id: agentID, childID: agentChild},
		}
		for _, c := range contestants {
			s.measure(c.worker, model, Order{Do: "run", Shape: warmUp, Name: c.talk(warmUp, 0)})
		}
		for _, b := range all {
			t.Run(b.shape.String(), func(t *testing.T) {
				some := contestants
				if b.ownRuns == 0 {
					some = contestants[:2]
				}
				compare(t, s, model, some, b)
			})
		}
	})
}

// warmUp is made once before anything is measured.
var warmUp = Shape{Talks: 1, Agents: 8, Calls: 5}

func bareID(name string) string { return name + "-0" }

func bareChild(name string, i int) string { return fmt.Sprintf("%s/%d", bareID(name), i) }

func agentID(name string) string { return agentTask(name, host.Root) }

func agentChild(name string, i int) string {
	return agentTask(name, fmt.Sprintf("%s/1.0.%d", host.Root, i))
}

func agentTask(name, task string) string {
	return host.RunID(journal.Ref{Tenant: app.LocalTenant, Conversation: name + "-0"}, task)
}

// compare measures one shape on all, in turn, and prints a table.
func compare(t *testing.T, s *store, model *part, all []*contestant, b bounds) {
	for _, c := range all {
		c.costs = nil
	}
	for round := range *rounds {
		for _, c := range all {
			c.costs = append(c.costs, s.measure(c.worker, model, Order{Do: "run", Shape: b.shape, Name: c.talk(b.shape, round)}))
		}
	}
	bare := middle(all[0].costs)
	t.Logf("%s, %s: conversations x sub-agents x model calls, median of %d rounds\n%s", s.name, b.shape, *rounds,
		"                           wall    CPU =  worker+engine+database   model |  x wall  x CPU | events, bytes per sub-agent with its parent's share | journal statements per model call")
	for i, c := range all {
		m := middle(c.costs)
		events, bytes := kept(t, s.engine, c, b.shape)
		wall, load := ratio(m.wall, bare.wall), ratio(m.cpu(), bare.cpu())
		t.Logf("%-24s %6.2fs %6.2fs = %6.2f %6.2f %6.2f  %6.2f  | %6.2f %6.2f  | %5.1f %7.0f | %5.1f",
			c.name, m.wall.Seconds(), m.cpu().Seconds(), m.worker.Seconds(), m.engine.Seconds(), m.database.Seconds(),
			m.model.Seconds(), wall, load, events, bytes, float64(m.statements)/float64(b.shape.modelCalls()))
		what := fmt.Sprintf("bench/engine: %s, %s: %s next to the bare engine, ", s.name, b.shape, c.name)
		switch i {
		case 1:
			if b.wall > 0 {
				measure.Most(t, what+"time", wall, b.wall)
			}
			measure.Most(t, what+"CPU", load, b.cpu)
			if b.shape.Agents > 8 && events > mostEvents {
				t.Errorf("%s: a sub-agent has %.1f events in the engine; at most %d are allowed", c.name, events, mostEvents)
			}
		case 2:
			measure.Most(t, what+"CPU", load, b.ownRuns)
		}
	}
}

// sampled is how many sub-agents stand for all.
const sampled = 8

// kept is what the engine keeps of the first conversation of the first round, for each sub-agent:
// events and bytes.
func kept(t *testing.T, engine durable.Engine, c *contestant, shape Shape) (events, bytes float64) {
	t.Helper()
	name := c.talk(shape, 0)
	parent := read(t, engine, c.id(name), firstRun(t, engine, c.id(name)))
	events, bytes = float64(parent.events)/float64(shape.Agents), float64(parent.bytes)/float64(shape.Agents)
	runs, some := 0, min(sampled, shape.Agents)
	for i := range some {
		r, ok := tryRead(t, engine, c.childID(name, i))
		if !ok {
			continue // its parent's leg carried it
		}
		runs++
		events, bytes = events+float64(r.events)/float64(some), bytes+float64(r.bytes)/float64(some)
	}
	t.Logf("%s: %d of the first %d sub-agents had runs of their own", c.name, runs, some)
	return events, bytes
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }
