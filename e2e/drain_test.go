//go:build services

package e2e

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/durable/history"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/model/scripted"
)

const (
	// drainMost is how long a worker that drains may take, as docs/operating.md says.
	drainMost = 20 * time.Second
	// resumeMost is how soon its agents must resume after that.
	resumeMost = 5 * time.Second
)

// drainModel has a call that ends while a worker drains, and one that does not.
const drainModel = `
name: drain
rules:
  - name: send
    when: {role: main, turn: 0}
    reply: {calls: [{tool: spawn_agents, args: {tasks: [{role: general, task: 'The short one.'}, {role: general, task: 'The long one.'}]}}]}
  - {name: short, when: {role: general, text: 'short'}, reply: {delay: 4s, calls: [{tool: submit_result, args: {summary: 'Soon done.'}}]}}
  - {name: long, when: {role: general, text: 'long', attempt: 0}, reply: {delay: 40s, text: 'Never said.'}}
  - {name: long again, when: {role: general, text: 'long'}, reply: {calls: [{tool: submit_result, args: {summary: 'Done by another.'}}]}}
  - {name: answer, when: {role: main, turn: 1, result: 'Soon done'}, reply: {text: 'Both are done.'}}
`

// TestDrain ends a worker with SIGTERM. The model call that ends in time is recorded by it and not
// made again; the other is handed over, and made again by another worker soon after.
func TestDrain(t *testing.T) {
	t.Parallel()
	s := newScenario(t, "drain", drainModel)
	s.processes = true
	st := newStage(t, s, stacks(t, sqliteStack)[0], 0)
	for _, line := range []string{"open", "say m1: Do both", "wait rule short", "wait rule long"} {
		st.do(t, line)
	}
	first, told := st.process, time.Now()
	if err := first.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	st.startWorker(t)
	ended := awaitEnd(t, first, told.Add(patience))
	st.do(t, "wait turn 1")
	entries := st.settle(t)
	st.check(t, entries)

	again := st.attempt(t, "long again")
	measure.Most(t, "drain: a worker's end after it was told", ended.Sub(told), drainMost)
	measure.Most(t, "drain: what was handed over is made again after that", again.At.Sub(ended), resumeMost)
	if again.At.Before(told.Add(resumeMost)) {
		t.Errorf("the call was given up %v after the worker was told to stop: it had no chance", again.At.Sub(told))
	}
	want := map[string]int{"send": 1, "short": 1, "long": 1, "long again": 1, "answer": 1}
	if diff := cmp.Diff(want, asked(st.provider.Meter())); diff != "" {
		t.Errorf("what the model should be asked (-) and what it was (+):\n%s", diff)
	}
	checkDrained(t, entries, ended)
	st.checkHandedOver(t)
}

// awaitEnd waits until a process has ended well, by itself.
func awaitEnd(t *testing.T, cmd *exec.Cmd, deadline time.Time) time.Time {
	t.Helper()
	timer := time.AfterFunc(time.Until(deadline), func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v did not end well by itself: %v", cmd.Args, err)
	}
	return time.Now()
}

// attempt is the one request that a rule answered.
func (st *stage) attempt(t *testing.T, rule string) scripted.Attempt {
	t.Helper()
	for _, a := range st.provider.Meter().Attempts {
		if a.Rule == rule {
			return a
		}
	}
	t.Fatalf("the model was never asked by rule %s", rule)
	return scripted.Attempt{}
}

// checkDrained compares what was recorded with what each worker had to record: the reply to the
// first call before the worker ended that asked for it, and for the second call two requests and
// one reply.
func checkDrained(t *testing.T, entries []journal.Entry, ended time.Time) {
	t.Helper()
	type count struct{ Requests, Responses, Replies int }
	found := map[string]count{}
	for _, e := range entries {
		switch r := e.Row.(type) {
		case journal.ModelCalled:
			c := found[r.Agent]
			c.Requests++
			found[r.Agent] = c
		case journal.ModelReplied:
			c := found[r.Agent]
			c.Responses++
			found[r.Agent] = c
			if r.Agent == "main/1.0.0" && e.At.After(ended) {
				t.Errorf("the reply to the first call was recorded %v after the worker's end", e.At.Sub(ended))
			}
		case journal.MessageAdded:
			if r.Message.Speaker == chat.Assistant {
				c := found[r.Agent]
				c.Replies++
				found[r.Agent] = c
			}
		default:
		}
	}
	want := map[string]count{"main": {2, 2, 2}, "main/1.0.0": {1, 1, 1}, "main/1.0.1": {2, 1, 1}}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("what should be recorded of model calls (-) and what was (+):\n%s", diff)
	}
}

// checkHandedOver reports legs that were lost instead of handed over: the engine keeps a failure of
// each.
func (st *stage) checkHandedOver(t *testing.T) {
	t.Helper()
	runs, err := history.Read(t.Context(), st.node.Client.Engine, st.node.Log, st.ref)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		for _, f := range r.Failures() {
			t.Errorf("a leg of %s was not handed over: %s", r.Workflow, f.GetMessage())
		}
	}
}
