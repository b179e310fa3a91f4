package durable

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
)

// stuckEngine answers for one conversation only when it was told of another.
type stuckEngine struct {
	client.Client
	stuck, other string
	told         chan struct{}

	mu    sync.Mutex
	looks []string
}

func (e *stuckEngine) SignalWithStartWorkflow(
	ctx context.Context, id, _ string, _ any, _ client.StartWorkflowOptions, _ any, _ ...any,
) (client.WorkflowRun, error) {
	switch {
	case strings.Contains(id, e.stuck):
		select {
		case <-e.told:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	case strings.Contains(id, e.other):
		defer close(e.told)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.looks = append(e.looks, id)
	return nil, nil //nolint:nilnil // nobody looks at it
}

// TestASweepServesOthersMeanwhile has three posts of one conversation wait for an engine that does not answer, until another
// conversation of another tenant is served. Each orchestrator is told once to look.
func TestASweepServesOthersMeanwhile(t *testing.T) {
	t.Parallel()
	log, engine := journaltest.NewMemory(), &stuckEngine{stuck: "first", other: "second", told: make(chan struct{})}
	c := &Client{Log: log, Engine: engine}
	for i, id := range []string{"first", "second"} {
		place := journal.Place{Tenant: fmt.Sprint("t", i), Conversation: id}
		rows := []journal.Row{journal.Opened{By: "ann"}, journal.Assigned{In: journal.In{Agent: Root, Task: Root}, Role: "main"}}
		for n := range 3 - 2*i {
			m := fmt.Sprint("m", n)
			rows = append(rows, journal.Said{ID: m, By: "ann"}, journal.Posted{ID: "said:" + m, Topic: topicSaid, To: Root})
		}
		if _, err := log.Append(t.Context(), place, time.UnixMilli(int64(1+i)), rows...); err != nil {
			t.Fatal(err)
		}
	}
	if done, err := c.Sweep(t.Context(), 0); done != 4 || err != nil {
		t.Fatalf("%d of 4 posts were looked at: %v", done, err)
	}
	if slices.Sort(engine.looks); !slices.Equal(engine.looks, []string{"t0/first/main", "t1/second/main"}) {
		t.Errorf("the engine has %q look, want each orchestrator once", engine.looks)
	}
}
