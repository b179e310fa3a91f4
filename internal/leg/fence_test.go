package leg

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
)

// short is an orchestrator who answers at once.
const short = `
name: short
rules:
  - {name: answer, reply: {text: 'Here.'}}
`

// orchestrator is a leg of the orchestrator on some host, for which no engine stands in.
func (s *stage) orchestrator(h *Carrier) *leg {
	s.Helper()
	l := h.newLeg(Input{RunRef: host.RunRef{Ref: s.ref, Agent: host.Root, Task: host.Root}})
	l.family = newFamily(s.now(), Watch{Called: s.Context(), Gone: s.Context()}, false)
	return l
}

// TestTheLegThatIsBehindBeginsNothing has two workers continue one task from the same step. The
// second to record its step leaves, and calls no model.
func TestTheLegThatIsBehindBeginsNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t, short, nil)
	s.opened("hello")
	other := New(s.carrier.Options)
	calls := 0
	other.Fault = func(p host.Point, _ journal.Ref, _ string) {
		if p == host.PointLegFolded {
			s.must(s.orchestrator(s.carrier).carry(t.Context()))
			calls = s.model.Meter().Requests
		}
	}
	if err := s.orchestrator(other).carry(t.Context()); !errors.Is(err, errBehind) {
		t.Errorf("the leg that is behind ended with %v, want %v", err, errBehind)
	}
	s.says("Here.")
	if n := s.model.Meter().Requests; calls != 1 || n != calls {
		t.Errorf("%d model calls until the first leg ended and %d in all, want 1 and 1", calls, n)
	}
}

// doubtful is a journal that writes rows once and says that it failed.
type doubtful struct {
	journal.Log
	failed bool
	// before is done before that; it may be nil.
	before func()
}

func (d *doubtful) Append(ctx context.Context, ref journal.Ref, at time.Time, rows ...journal.Row) ([]journal.Written, error) {
	if d.failed {
		return d.Log.Append(ctx, ref, at, rows...)
	}
	d.failed = true
	if d.before != nil {
		d.before()
	}
	if _, err := d.Log.Append(ctx, ref, at, rows...); err != nil {
		return nil, err
	}
	return nil, errors.New("the connection broke")
}

// TestAStepThatMayBeWritten has the journal lose its answer to a leg's first step. If the retry
// finds the step and it is the leg's own, the leg continues. If it is another's, the leg leaves.
func TestAStepThatMayBeWritten(t *testing.T) {
	t.Parallel()
	for name, overtaken := range map[string]bool{"its own": false, "another's": true} {
		s := newStage(t, short, nil)
		s.opened("hello")
		log := &doubtful{Log: s.log}
		if overtaken {
			log.before = func() {
				body, err := agent.MarshalEvent(agent.CloseRequested{By: "somebody"})
				s.must(err)
				s.record(journal.Stepped{In: journal.In{Agent: host.Root, Task: host.Root}, N: 1, Event: body})
			}
		}
		options := s.carrier.Options
		options.Host.Log = log
		err := s.orchestrator(New(options)).carry(t.Context())
		if errors.Is(err, errBehind) != overtaken || !overtaken && err != nil {
			t.Errorf("%s: the leg ended with %v", name, err)
		}
		want := 1
		if overtaken {
			want = 0
		}
		if n := s.model.Meter().Requests; n != want {
			t.Errorf("%s: %d model calls, want %d", name, n, want)
		}
	}
}

// TestACallThatMayBeMade has a leg in doubt reach a model call that another leg left to it. If that
// leg has recorded the request, the call gets another name. If it has not, the call was never made.
// If it records the request at the same moment, one of the two leaves.
func TestACallThatMayBeMade(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		recorded, meanwhile, unheard bool
		// calls are the names of the requests, and end is how the leg in doubt ends.
		calls []string
		end   error
	}{
		"not recorded":          {calls: []string{"1.1"}},
		"recorded":              {recorded: true, calls: []string{"1.1", "1.1~leg.2"}},
		"recorded meanwhile":    {meanwhile: true, calls: []string{"1.1"}, end: errBehind},
		"recorded, answer lost": {unheard: true, calls: []string{"1.1"}, end: errBehind},
	} {
		s := newStage(t, short, nil)
		s.opened("hello")
		detour := s.orchestrator(s.carrier)
		detour.yield = true
		s.must(detour.carry(t.Context()))
		other := func() {
			s.record(journal.ModelCalled{In: journal.In{Agent: host.Root, Task: host.Root}, Call: "1.1", Turn: 1, Attempt: 1})
		}
		if c.recorded {
			other()
		}
		options := s.carrier.Options
		switch {
		case c.meanwhile:
			options.Host.Fault = func(p host.Point, _ journal.Ref, _ string) {
				if p == host.PointLegAppend && len(rowsOf[journal.ModelCalled](s)) == 0 {
					other()
				}
			}
		case c.unheard:
			options.Host.Log = &doubtful{Log: s.log}
		}
		l := s.orchestrator(New(options))
		l.family.again, l.family.watch.Name = true, "leg.2"
		if err := l.carry(t.Context()); !errors.Is(err, c.end) {
			t.Errorf("%s: the leg ended with %v, want %v", name, err, c.end)
		}
		var calls []string
		for _, row := range rowsOf[journal.ModelCalled](s) {
			calls = append(calls, row.Call)
		}
		want := 1
		if c.end != nil {
			want = 0
		}
		if n := s.model.Meter().Requests; !slices.Equal(calls, c.calls) || n != want {
			t.Errorf("%s: the requests %q are on record and %d were made, want %q and %d", name, calls, n, c.calls, want)
		}
	}
}

// TestASavedStateHasWhatIsLeftToDo has a leg save its state while a model call remains to be made,
// and another leg take it over. A child that is known to run is in the state itself, and is not
// ordered again.
func TestASavedStateHasWhatIsLeftToDo(t *testing.T) {
	t.Parallel()
	s := newStage(t, short, nil)
	l := s.orchestrator(s.carrier)
	l.position.N, l.todo = saveEvery, []agent.Effect{agent.CallModel{Turn: 7, Attempt: 1}}
	l.position.State.Brief.Agent = host.Root
	l.position.State.Children = []*agent.Child{{ID: "7.1.0", State: agent.ChildRunning}, {ID: "7.1.1", State: agent.ChildStarting}}
	starting := agent.StartChild{Task: host.Root + "/7.1.1"}
	for _, e := range []agent.Effect{agent.RunTool{Call: "7.0"}, agent.StartChild{Task: host.Root + "/7.1.0"}, starting} {
		l.running[e.Key()] = &effectRun{effect: e}
	}
	state, err := l.save()
	s.must(err)
	next := s.orchestrator(s.carrier)
	s.must(next.restore(journal.Stepped{N: saveEvery, State: state}))
	var keys []string
	for _, e := range next.todo {
		keys = append(keys, e.Key())
	}
	slices.Sort(keys)
	want := []string{l.todo[0].Key(), agent.RunTool{Call: "7.0"}.Key(), starting.Key()}
	if slices.Sort(want); !slices.Equal(keys, want) || next.position.N != saveEvery || next.base != saveEvery {
		t.Errorf("step %d with %q to do, want %q", next.position.N, keys, want)
	}
}
