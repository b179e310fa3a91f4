//go:build services

package bench

import (
	"testing"

	common "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	history "go.temporal.io/api/history/v1"
	"go.temporal.io/api/proxy"

	"github.com/retinue-dev/retinue/internal/durable"
)

// recorded is what the engine keeps of one run.
type recorded struct {
	events, bytes int
	// payload is the largest single payload, and the run that followed this one, if any.
	payload int
	next    string
	// children are the ids of the runs that this one started.
	children []string
	kinds    map[enums.EventType]int
}

// read reads a run's history back from the engine.
func read(t *testing.T, engine durable.Engine, id, run string) recorded {
	t.Helper()
	r := recorded{kinds: map[enums.EventType]int{}}
	for it := engine.GetWorkflowHistory(t.Context(), id, run, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
		e, err := it.Next()
		if err != nil {
			t.Fatalf("read the history of %s: %v", id, err)
		}
		r.events++
		r.bytes += e.Size()
		r.kinds[e.GetEventType()]++
		r.payload = max(r.payload, largest(t, e))
		if c := e.GetStartChildWorkflowExecutionInitiatedEventAttributes(); c != nil {
			r.children = append(r.children, c.GetWorkflowId())
		}
		if c := e.GetWorkflowExecutionContinuedAsNewEventAttributes(); c != nil {
			r.next = c.GetNewExecutionRunId()
		}
	}
	return r
}

// largest is the size of the largest payload of an event.
func largest(t *testing.T, e *history.HistoryEvent) int {
	t.Helper()
	most := 0
	err := proxy.VisitPayloads(t.Context(), e, proxy.VisitPayloadsOptions{
		Visitor: func(_ *proxy.VisitPayloadsContext, payloads []*common.Payload) ([]*common.Payload, error) {
			for _, p := range payloads {
				most = max(most, len(p.GetData()))
			}
			return payloads, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return most
}

// sampled is how many children stand for all.
const sampled = 8

// tree reads the first history of an agent and the mean of its children's.
func tree(t *testing.T, engine durable.Engine, id string) (parent, child recorded) {
	t.Helper()
	parent = read(t, engine, id, firstRun(t, engine, id))
	some := parent.children[:min(sampled, len(parent.children))]
	for _, id := range some {
		c := read(t, engine, id, "")
		child.events += c.events
		child.bytes += c.bytes
		child.payload = max(child.payload, c.payload)
		child.kinds = c.kinds
	}
	child.events, child.bytes = child.events/max(1, len(some)), child.bytes/max(1, len(some))
	return parent, child
}

// firstRun is the run with which a chain of histories begins.
func firstRun(t *testing.T, engine durable.Engine, id string) string {
	t.Helper()
	it := engine.GetWorkflowHistory(t.Context(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	e, err := it.Next()
	if err != nil {
		t.Fatal(err)
	}
	return e.GetWorkflowExecutionStartedEventAttributes().GetFirstExecutionRunId()
}
