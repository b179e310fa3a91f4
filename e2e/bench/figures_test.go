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
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/measure"
)

// The shapes of the full run and of the one in CI.
var (
	fullShapes  = []Shape{{1, 64, 5}, {1, 256, 5}, {200, 3, 3}}
	smallShapes = []Shape{{1, 16, 5}, {12, 3, 3}}
)

// The targets, as parts of what the bare engine takes, and those of CI: on a machine that is shared
// they catch a collapse and nothing less.
type targets struct {
	plainWall, wall, cpu, events float64
}

var (
	fullTargets  = targets{plainWall: 1.30, wall: 0.40, cpu: 0.40, events: 25}
	smallTargets = targets{plainWall: 4, wall: 2, cpu: 2, events: 25}
)

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

// measure carries out an order and says what it took.
func (s *store) measure(worker, model *part, o Order) cost {
	before := cost{worker: cpu(worker.pid), engine: cpu(s.pid), database: s.backends.total(), model: cpu(model.pid)}
	began := time.Now()
	var c cost
	worker.do(o, &c.statements)
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
	name    string
	worker  *part
	effects int
	// calls replaces the shape's.
	calls int
	costs []cost
	// id is that of an orchestrator's workflow.
	id func(name string) string
}

// talk names the conversations of a round.
func (c *contestant) talk(shape Shape, round int) string {
	return fmt.Sprintf("%d-%d-%s-%d", c.worker.pid, c.effects, c.shape(shape), round)
}

func (c *contestant) shape(s Shape) Shape {
	if c.calls > 0 {
		s.Calls = c.calls
	}
	return s
}

// TestFigures prints the figures of make bench/engine.
func TestFigures(t *testing.T) {
	shapes, want := smallShapes, smallTargets
	if *full {
		shapes, want = fullShapes, fullTargets
	}
	eachStore(t, func(t *testing.T, s *store) {
		model, address := model(t, append(shapes, warmUp))
		bare, retinue := start(t, s.setup(t, "bare", address)), start(t, s.setup(t, "retinue", address))
		all := []*contestant{
			{name: "bare engine", worker: bare, id: bareID},
			{name: "Retinue, 1 effect a leg", worker: retinue, effects: 1, id: agentID},
			{name: "Retinue, unlimited", worker: retinue, id: agentID},
			// One activity is the least that a sub-agent of its own workflow can have.
			{name: "bare, 1 call a child", worker: bare, calls: 1, id: bareID},
		}
		for _, c := range all {
			s.measure(c.worker, model, Order{Do: "run", Shape: warmUp, LegEffects: c.effects, Name: c.talk(warmUp, 0)})
		}
		for _, shape := range shapes {
			t.Run(shape.String(), func(t *testing.T) { compare(t, s, model, all, shape, want) })
		}
	})
}

// warmUp is made once before anything is measured.
var warmUp = Shape{Talks: 1, Agents: 8, Calls: 5}

func bareID(name string) string { return name + "-0" }

func agentID(name string) string {
	return durable.WorkflowID(journal.Place{Tenant: app.LocalTenant, Conversation: name + "-0"}, durable.Root)
}

// compare measures one shape on all, in turn, and prints a table.
func compare(t *testing.T, s *store, model *part, all []*contestant, shape Shape, want targets) {
	for round := range *rounds {
		for _, c := range all {
			if round == 0 {
				c.costs = nil
			}
			c.costs = append(c.costs, s.measure(c.worker, model, Order{
				Do: "run", Shape: c.shape(shape), LegEffects: c.effects, Name: c.talk(shape, round),
			}))
		}
	}
	bare := middle(all[0].costs)
	t.Logf("%s, %s: conversations x sub-agents x model calls, median of %d rounds\n%s", s.name, shape, *rounds,
		"                           wall    CPU =  worker+engine+database   model |  x wall  x CPU | per sub-agent: events, bytes; with its parent's share | journal statements per model call")
	for i, c := range all {
		m := middle(c.costs)
		parent, child := tree(t, s.engine, c.id(c.talk(shape, 0)))
		if len(parent.children) != shape.Agents {
			t.Fatalf("%s made %d sub-agents of %d", c.name, len(parent.children), shape.Agents)
		}
		share := func(n int) float64 { return float64(n) / float64(shape.Agents) }
		wall, load := ratio(m.wall, bare.wall), ratio(m.cpu(), bare.cpu())
		t.Logf("%-24s %6.2fs %6.2fs = %6.2f %6.2f %6.2f  %6.2f  | %6.2f %6.2f  | %3d %6d; %5.1f %7.0f | %5.1f",
			c.name, m.wall.Seconds(), m.cpu().Seconds(), m.worker.Seconds(), m.engine.Seconds(), m.database.Seconds(),
			m.model.Seconds(), wall, load, child.events, child.bytes, float64(child.events)+share(parent.events),
			float64(child.bytes)+share(parent.bytes), float64(m.statements)/float64(shape.modelCalls()))
		what := fmt.Sprintf("bench/engine: %s, %s: %s next to the bare engine, ", s.name, shape, c.name)
		switch i {
		case 1:
			measure.Most(t, what+"time", wall, want.plainWall)
		case 2:
			measure.Most(t, what+"time", wall, want.wall)
			measure.Most(t, what+"CPU", load, want.cpu)
		}
		if i == 2 && float64(child.events) > want.events {
			t.Errorf("%s: a sub-agent has %d events in the engine; at most %.0f are allowed", c.name, child.events, want.events)
		}
	}
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }
