package durable

import (
	"errors"
	"slices"
	"testing"

	"go.temporal.io/api/serviceerror"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// lead is a leg of an orchestrator that has ordered a helper, on a host that carries no sub-agents.
func (s *stage) lead(engine Engine) *leg {
	s.Helper()
	options := s.host.Options
	options.Engine, options.Family = engine, -1
	return s.orchestrator(NewHost(options))
}

// TestARunIsOrderedOnce has a leg die when it is on record that a sub-agent has a run of its own, and before the engine has heard of it. The
// next leg orders the run, and does not carry the sub-agent, although it could.
func TestARunIsOrderedOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, fruit, nil)
	s.opened("compare")
	engine := &forgetfulEngine{refuse: errors.New("it does not answer")}
	first := s.lead(engine)
	first.Fault = func(p Point, _ journal.Place, _ string) {
		if p == PointStartChild {
			panic(errLost{})
		}
	}
	if err := first.carry(t.Context()); err == nil {
		t.Fatal("the leg was not lost")
	}
	engine.refuse = nil
	next := s.orchestrator(NewHost(s.host.Options)) // it carries sub-agents
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

// TestARunThatCannotBe has the engine refuse a sub-agent's run for good. Its books are closed, and its parent is told.
func TestARunThatCannotBe(t *testing.T) {
	t.Parallel()
	s := newStage(t, fruit, nil)
	s.opened("compare")
	engine := &forgetfulEngine{refuse: serviceerror.NewInvalidArgument("the id is too long")}
	s.must(s.lead(engine).carry(t.Context()))
	ended := rowsOf[journal.Finished](s)
	if len(ended) != 2 || ended[0].Status != chat.StatusFailed || ended[0].Reason != "lost" {
		t.Errorf("%+v ended, want both helpers", ended)
	}
	var told []string
	for _, p := range rowsOf[journal.Posted](s) {
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
