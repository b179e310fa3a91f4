//go:build services

package crash

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/host"
)

// stumbles is how often taskFails tries to fail a task at the right moment, and unstumbled its
// message when it could not: then the test shows nothing. Its mutant shows that it can.
const (
	stumbles   = 3
	unstumbled = "no workflow task failed between two pieces of mail"
)

// taskFails fails a workflow task that told a leg of its mail. Before the task is repeated, a
// person sends a message, which then comes before the mail that the first try saw as first.
func taskFails(t *testing.T, l *load) {
	t.Helper()
	for i := range stumbles {
		conv := fmt.Sprint(conversation, i)
		l.do(t.Context(), 0, job{ID: conv + "o", Do: "open", Conv: conv})
		l.convs = append(l.convs, conv)
		if err := putFile(l.part.stumbling(), conv); err != nil {
			t.Fatal(err)
		}
		l.do(t.Context(), 0, job{ID: conv + "m", Do: "say", Conv: conv, Text: "attend 8 " + conv})
		until(overWithin/stumbles, func() bool { _, err := os.Stat(l.part.stumbling()); return err != nil })
		_ = os.Remove(l.part.stumbling())
		l.do(t.Context(), 0, job{ID: conv + "n", Do: "say", Conv: conv, Text: "plain " + conv})
		if err := putFile(l.part.spoken(conv), ""); err != nil {
			t.Fatal(err)
		}
		if until(2*stumbleAfter, func() bool { _, err := os.Stat(l.part.stumbled(conv)); return err == nil }) {
			return
		}
	}
	t.Log(unstumbled)
}

// runEnded ends the orchestrator's run between two turns. The next message begins another run,
// which answers it.
func runEnded(t *testing.T, l *load) {
	t.Helper()
	l.begin(t)
	ctx, cancel := context.WithTimeout(t.Context(), overWithin)
	defer cancel()
	for i := range 3 {
		id := fmt.Sprint("m", i)
		l.do(ctx, 0, job{ID: id, Do: "say", Conv: conversation, Text: "plain " + id})
		l.quiet(ctx, conversation)
		if i > 0 {
			continue
		}
		run := host.RunID(placeOf(conversation), host.Root)
		if err := l.node.Client.Engine.TerminateWorkflow(ctx, run, "", "somebody ends it"); err != nil {
			t.Fatal(err)
		}
	}
}

// steps are the names of the events that a task was given, as far as they are recorded.
func (l *load) steps(conv, task string) []string {
	steps, err := l.node.Log.Steps(context.Background(), placeOf(conv), task, 0)
	if err != nil {
		return nil
	}
	var out []string
	for _, s := range steps {
		if e, err := agent.UnmarshalEvent(s.Event); err == nil {
			out = append(out, agent.EventName(e))
		}
	}
	return out
}

// until waits for something, for as long as it may take.
func until(most time.Duration, come func() bool) bool {
	for deadline := time.Now().Add(most); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if come() {
			return true
		}
	}
	return false
}
