//go:build services

package crash

import (
	"context"
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/durable"
)

// stumbles is how often taskFails tries to have a task fail at the right moment, and unstumbled what it says
// when it could not: then nothing is shown. That it can is shown by its mutant.
const (
	stumbles   = 3
	unstumbled = "no workflow task failed between two pieces of mail"
)

// taskFails has a workflow task fail that told a leg of its mail, and somebody speak before it is done
// again: then their words come before what the first try took for the first that had arrived.
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

// runEnded has somebody end the orchestrator's run between two turns: what is said after that begins
// another, and is heard.
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
		run := durable.WorkflowID(placeOf(conversation), durable.Root)
		if err := l.node.Client.Engine.TerminateWorkflow(ctx, run, "", "somebody ends it"); err != nil {
			t.Fatal(err)
		}
	}
}

// livesOn is how often legLivesOn tries to have a lost leg record something else than its successor knows of,
// and unrecorded what it says when none did: then nothing is shown. That one can is shown by its mutant.
const (
	livesOn    = 4
	unrecorded = "no lost leg recorded a step while its successor waited"
)

// legLivesOn puts the worker of an orchestrator's leg to sleep until the engine has given the leg to another,
// and wakes it when that one has handed over to a third without having recorded anything: whatever the
// first then records, nothing that was said meanwhile is lost.
func legLivesOn(t *testing.T, l *load) {
	t.Helper()
	for i := range livesOn {
		conv := fmt.Sprint(conversation, i)
		l.do(t.Context(), 0, job{ID: conv + "o", Do: "open", Conv: conv})
		l.convs = append(l.convs, conv)
		l.do(t.Context(), 0, job{ID: conv + "m", Do: "say", Conv: conv, Text: "nurse 1 " + conv})
		if l.outlive(t, conv) {
			return
		}
	}
	t.Log(unrecorded)
}

// outlive plays legLivesOn once, and reports whether the lost leg recorded something.
func (l *load) outlive(t *testing.T, conv string) bool {
	t.Helper()
	child := durable.Root + "/1.0.0"
	until(nursing, func() bool { return slices.Contains(l.steps(conv, durable.Root), "ChildStarted") })
	// The child's cancel is work for the engine: with it on its list a leg begins nothing.
	l.do(t.Context(), 0, job{ID: conv + "x", Do: "cancel", Conv: conv, Of: child})
	until(nursing, func() bool { return slices.Contains(l.steps(conv, durable.Root), "ChildCancelRequested") })
	over := time.Now().Add(nursing + time.Second)
	first := slices.IndexFunc(l.workers, func(w *process) bool {
		return slices.Contains(l.part.carriedBy(w.pid()), conv+" "+durable.Root)
	})
	if first < 0 {
		return false
	}
	sleeper, before := l.workers[first], len(l.steps(conv, durable.Root))
	hold := func(point durable.Point) {
		if err := putFile(l.part.holding(point, conv), ""); err != nil {
			t.Fatal(err)
		}
	}
	isHeld := func(point durable.Point) bool {
		return until(overWithin, func() bool { _, err := os.Stat(l.part.held(point, conv)); return err == nil })
	}
	hold(durable.PointLegEnd)
	sleeper.signal(syscall.SIGSTOP)
	defer sleeper.signal(syscall.SIGCONT)
	second := isHeld(durable.PointLegEnd)
	hold(durable.PointLegBegin)
	l.do(t.Context(), 0, job{ID: conv + "n", Do: "say", Conv: conv, Text: "plain " + conv})
	time.Sleep(300 * time.Millisecond) // the workflow has the message
	_ = os.Remove(l.part.held(durable.PointLegEnd, conv))
	third := isHeld(durable.PointLegBegin)
	time.Sleep(time.Until(over))
	sleeper.signal(syscall.SIGCONT)
	landed := until(2*time.Second, func() bool {
		steps := l.steps(conv, durable.Root)
		return len(steps) > before && steps[before] != "Said" // that is what the third leg knows of
	})
	for _, point := range []durable.Point{durable.PointLegEnd, durable.PointLegBegin} {
		_, _ = os.Remove(l.part.holding(point, conv)), os.Remove(l.part.held(point, conv))
	}
	return second && third && landed
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
