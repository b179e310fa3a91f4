//go:build services

package bench

import (
	"errors"
	"testing"

	common "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	history "go.temporal.io/api/history/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/api/serviceerror"

	"github.com/retinue-dev/retinue/internal/durable"
)

// recorded is what the engine keeps of one run.
type recorded struct {
	events, bytes int
	// payload is the largest single payload, and the run that followed this one, if any.
	payload int
	next    string
}

// read reads a run's history back from the engine.
func read(t *testing.T, engine durable.Engine, id, run string) recorded {
	t.Helper()
	r, err := readBack(t, engine, id, run)
	if err != nil {
		t.Fatalf("read the history of %s: %v", id, err)
	}
	return r
}

// tryRead reads the history of a run that may never have been.
func tryRead(t *testing.T, engine durable.Engine, id string) (recorded, bool) {
	t.Helper()
	r, err := readBack(t, engine, id, "")
	var none *serviceerror.NotFound
	if err != nil && !errors.As(err, &none) {
		t.Fatalf("read the history of %s: %v", id, err)
	}
	return r, err == nil
}

func readBack(t *testing.T, engine durable.Engine, id, run string) (recorded, error) {
	t.Helper()
	var r recorded
	for it := engine.GetWorkflowHistory(t.Context(), id, run, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
		e, err := it.Next()
		if err != nil {
			return r, err
		}
		r.events++
		r.bytes += e.Size()
		r.payload = max(r.payload, largest(t, e))
		if c := e.GetWorkflowExecutionContinuedAsNewEventAttributes(); c != nil {
			r.next = c.GetNewExecutionRunId()
		}
	}
	return r, nil
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
