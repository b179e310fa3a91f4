package leg

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
)

// register is an engine that notes its orders.
type register struct {
	refuse error

	mu  sync.Mutex
	did []string
}

func (r *register) Start(_ context.Context, in Begin, _ string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refuse == nil {
		r.did = append(r.did, "start "+host.RunID(in.Ref, in.Task))
	}
	return r.refuse
}

func (*register) Signal(context.Context, journal.Ref, string, Signal) error { return ErrNoRun }
func (*register) End(context.Context, journal.Ref, string) error            { return ErrNoRun }

// lead is a leg of an orchestrator that has ordered a helper, on a host that carries no sub-agents.
func (s *stage) lead(engine Engine) *leg {
	s.Helper()
	options := s.carrier.Options
	options.Engine, options.Family = engine, -1
	return s.orchestrator(New(options))
}

// TestARunIsOrderedOnce has a leg die after it recorded that a sub-agent has a run of its own, and
// before it told the engine. The next leg orders the run, and does not run the sub-agent itself,
// although it could.
func TestARunIsOrderedOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, fruit, nil)
	s.opened("compare")
	engine := &register{refuse: errors.New("it does not answer")}
	first := s.lead(engine)
	first.Fault = func(p host.Point, _ journal.Ref, _ string) {
		if p == host.PointStartChild {
			panic(errLost{})
		}
	}
	if err := first.carry(t.Context()); err == nil {
		t.Fatal("the leg was not lost")
	}
	engine.refuse = nil
	next := s.orchestrator(New(s.carrier.Options)) // it carries sub-agents
	next.Engine = engine
	s.must(next.carry(t.Context()))
	slices.Sort(engine.did)
	if want := []string{"start t/c/main/1.0.0", "start t/c/main/1.0.1"}; !slices.Equal(engine.did, want) {
		t.Errorf("the engine was told %q, want %q", engine.did, want)
	}
	if result := next.result(); result.Await != 2 || result.Next != NextWait {
		t.Errorf("the leg ended with %+v, want to wait for two", result)
	}
}

// TestARunThatCannotBe has the engine refuse a sub-agent's run for good. Its books are closed, and
// its parent is told.
func TestARunThatCannotBe(t *testing.T) {
	t.Parallel()
	s := newStage(t, fruit, nil)
	s.opened("compare")
	engine := &register{refuse: fmt.Errorf("%w: the id is too long", ErrInvalidRun)}
	s.must(s.lead(engine).carry(t.Context()))
	ended := rowsOf[journal.TaskEnded](s)
	if len(ended) != 2 || ended[0].Status != chat.StatusFailed || ended[0].Reason != "lost" {
		t.Errorf("%+v ended, want both helpers", ended)
	}
	var told []string
	for _, p := range rowsOf[journal.MailPosted](s) {
		if e, err := agent.UnmarshalEvent(p.Event); err == nil {
			if end, ok := e.(agent.ChildEnded); ok {
				told = append(told, p.To+" "+end.Task)
			}
		}
	}
	slices.Sort(told)
	if want := []string{"main main/1.0.0", "main main/1.0.1"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// TestChildrenApart tells a leg that children may be lost. The leg has the engine run only the
// unfinished ones with runs of their own.
func TestChildrenApart(t *testing.T) {
	t.Parallel()
	engine := &register{}
	l := New(Options{Engine: engine}).newLeg(Input{
		RunRef: host.RunRef{Ref: journal.Ref{Tenant: "t", Conversation: "c"}, Agent: host.Root, Task: host.Root}, Check: true,
	})
	l.position.State = agent.State{Brief: agent.Brief{Agent: host.Root, Task: host.Root}, Children: []*agent.Child{
		{ID: "1.0.0", State: agent.ChildRunning, Apart: true, Background: true},
		{ID: "1.0.1", State: agent.ChildRunning},
		{ID: "1.0.2", State: agent.ChildQueued},
		{ID: "2.0.0", State: agent.ChildRunning, Apart: true, Agent: "main/0.9.9"},
	}}
	var carried []string
	for _, e := range l.carried() {
		carried = append(carried, e.Task)
	}
	if !slices.Equal(carried, []string{"main/1.0.1"}) {
		t.Errorf("the leg carries %q, want main/1.0.1", carried)
	}
	l.ensureApart(t.Context())
	for range len(l.running) {
		if end := <-l.landed; end.err != nil {
			t.Error(end.err)
		}
	}
	slices.Sort(engine.did)
	if want := []string{"start t/c/main/1.0.0", "start t/c/main/2.0.0"}; !slices.Equal(engine.did, want) {
		t.Errorf("it did %q, want %q", engine.did, want)
	}
}
