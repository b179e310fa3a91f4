//go:build services

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/measure"
)

// lostModel delegates, in the foreground or not, and answers.
const lostModel = `
name: lost
rules:
  - {name: again, when: {role: main, text: 'Once more', turn: 1}, reply: {text: 'Still here.'}}
  - {name: fetch, when: {role: main, turn: 0, text: 'Fetch'}, reply: {calls: [{tool: spawn_agents, args: {tasks: [{role: general, task: 'Fetch it.'}]}}]}}
  - {name: send, when: {role: main, turn: 0, text: 'Send'}, reply: {calls: [{tool: spawn_agents, args: {tasks: [{role: general, task: 'Fetch it.', background: true}]}}]}}
  - {name: crowd, when: {role: main, turn: 0, text: 'Crowd'}, reply: {calls: [{tool: spawn_agents, args: {tasks: [{role: general, task: a}, {role: general, task: b}, {role: general, task: c}, {role: general, task: d}, {role: general, task: e}]}}]}}
  - {name: look, when: {role: main, turn: 0, text: 'Look'}, reply: {calls: [{tool: read_file, args: {path: a.md}}]}}
  - {name: work, when: {role: general}, reply: {calls: [{tool: submit_result, args: {summary: 'Fetched.'}}]}}
  - {name: answer, when: {role: main}, reply: {text: 'Done.'}}
`

// TestLostRuns has the engine lose runs at every named moment. Without a person's help each lost
// run resumes or its books are closed.
//
// Covers: P7, P8.
func TestLostRuns(t *testing.T) {
	t.Parallel()
	wall := measure.NewWall(t, "1.11")
	var mu sync.Mutex
	on := newStack(t, sqliteStack)
	on.adjust = func(o *app.NodeOptions) { o.ReconcileEvery = 2 * time.Second }
	on.serve(t)
	for name, play := range map[string]string{
		"the orchestrator, while a model answers": "open; say m1: Hello; wait rule answer; lose main; wait found main; release answer; wait turn 1",
		"the orchestrator, with its sub-agent":    "open; say m1: Fetch; wait rule work; lose main; wait found main; release work; wait turn 1",
		"a background task":                       "open; say m1: Send; wait rule work; lose main/1.0.0; wait found main/1.0.0; release work; wait row end/main/1.0.0; wait turn 2",
		"the orchestrator, while a person is asked": "open; say m1: Look; wait row approval/main#1.0; lose main; wait found main; " +
			"allow main 1.0; wait turn 1",
		"the orchestrator, beside a background task": "open; say m1: Send; wait turn 1; lose main; wait found main; release work; " +
			"wait row end/main/1.0.0; wait turn 2",
		"a background task, and nobody remembers its start": "open; say m1: Send; wait turn 1; roll; lose main/1.0.0; " +
			"wait found main/1.0.0; release work; wait row end/main/1.0.0",
		"nothing: the fifth sub-agent waits until one of four has ended": "open; say m1: Crowd; wait rule work; suspect; release work; wait turn 1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScenario(t, strings.ReplaceAll(strings.ReplaceAll(name, " ", "-"), ",", ""), lostModel)
			s.settings, s.work["a.md"] = "permissions: {ask: [read_file]}\n", "canary\n"
			lines := strings.Split(play, "; ")
			for _, line := range lines {
				if c, err := readCommand(0, line); err == nil && c.verb == "release" {
					s.play = append(s.play, c)
				}
			}
			st := newStage(t, s, on, 0)
			for _, line := range lines {
				switch verb, rest, _ := strings.Cut(line, " "); {
				case verb == "lose":
					st.lose(t, rest)
				case verb == "suspect":
					st.suspect(t)
				case verb == "roll":
					st.roll(t)
				case strings.HasPrefix(line, "wait found "):
					st.waitFound(t, strings.TrimPrefix(line, "wait found "))
				default:
					st.do(t, line)
				}
			}
			for _, e := range st.settle(t) {
				if end, ok := e.Row.(journal.TaskEnded); ok && end.Reason == "lost" {
					t.Errorf("the books of %s were closed, and it could go on", end.Agent)
				}
			}
			stuck := st.stuck(t)
			mu.Lock()
			defer mu.Unlock()
			wall.Try(stuck != "", "%s: nobody continues%s", name, stuck)
		})
	}
}

// stuck are the tasks that nobody continues.
func (st *stage) stuck(t *testing.T) (tasks string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	_ = st.until(ctx, func() (bool, error) {
		tasks = ""
		left, err := st.node.Log.Working(ctx, time.Now().Add(time.Hour), journal.WorkingTask{}, journal.PageMaxLimit)
		for _, w := range left {
			if w.Ref == st.ref {
				tasks += " " + w.Task
			}
		}
		return tasks == "", err
	})
	return tasks
}

// lose has the engine end a run without telling it.
func (st *stage) lose(t *testing.T, agent string) {
	t.Helper()
	if err := st.node.Client.Engine.TerminateWorkflow(t.Context(), host.RunID(st.ref, agent), "", "the engine lost it"); err != nil {
		t.Fatal(err)
	}
}

// suspect tells the orchestrator that the engine may not run all of its sub-agents.
func (st *stage) suspect(t *testing.T) {
	t.Helper()
	err := st.node.Client.Engine.SignalWorkflow(t.Context(), host.RunID(st.ref, host.Root), "", "check", nil)
	if err != nil {
		t.Fatal(err)
	}
}

// waitFound waits until the engine runs an agent again.
func (st *stage) waitFound(t *testing.T, agent string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	err := st.until(ctx, func() (bool, error) { return st.node.Client.Runs(ctx, st.ref, agent) })
	if err != nil {
		t.Fatal(err)
	}
}

// roll talks until the orchestrator has begun a new history, in which the engine knows nothing of
// earlier sub-agents.
func (st *stage) roll(t *testing.T) {
	t.Helper()
	for i := range 1000 {
		run, err := st.node.Client.Engine.DescribeWorkflowExecution(t.Context(), host.RunID(st.ref, host.Root), "")
		if err != nil {
			t.Fatal(err)
		}
		if run.GetWorkflowExecutionInfo().GetFirstRunId() != run.GetWorkflowExecutionInfo().GetExecution().GetRunId() {
			return
		}
		st.do(t, fmt.Sprintf("say r%d: Once more", i))
		st.do(t, fmt.Sprintf("wait turn %d", i+2))
	}
	t.Fatal("the orchestrator keeps its history")
}

// TestNewerEvents leaves an agent mail that this build cannot read, as a newer part of the
// installation does while it is being upgraded. The run waits for a worker of the newer build, and
// continues there.
func TestNewerEvents(t *testing.T) {
	t.Parallel()
	wall := measure.NewWall(t, "1.12")
	on := newStack(t, sqliteStack)
	on.connect(t)
	upgraded := &upgrade{Log: on.control.Log}
	on.control.Log = upgraded
	older, newer := on.builder(t), on.builder(t)
	serveAs(t, older)
	s := newScenario(t, "newer", lostModel)
	s.settings, s.work["a.md"] = "permissions: {ask: [read_file]}\n", "canary\n"
	st := newStage(t, s, on, 0)
	for _, line := range []string{"open", "say m1: Look", "wait row approval/main#1.0"} {
		st.do(t, line)
	}
	event := fmt.Sprintf(`{"name":"CancelRequestedAnew","event":{"at":%d,"id":"c","reason":"user","by":%q}}`, time.Now().UnixMilli(), person)
	post := journal.MailPosted{ID: "anew", Topic: "agent", To: host.Root, Event: json.RawMessage(event)}
	if _, err := on.control.Log.Append(t.Context(), st.ref, time.Now(), post); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	workflow := host.RunID(st.ref, host.Root)
	if err := st.node.Client.Wake(ctx, workflow); err != nil {
		t.Fatal(err)
	}
	err := st.until(ctx, func() (bool, error) {
		run, err := st.node.Client.Engine.DescribeWorkflowExecution(ctx, workflow, "")
		for _, leg := range run.GetPendingActivities() {
			if leg.GetAttempt() > 2 {
				return true, nil
			}
		}
		return false, err
	})
	if err != nil {
		t.Fatalf("no leg failed: %v", err)
	}
	closeNode(t, older)
	upgraded.done.Store(true)
	serveAs(t, newer)
	st.do(t, "wait turn 1")
	for _, e := range st.settle(t) {
		if end, ok := e.Row.(journal.TurnEnded); ok {
			wall.Try(end.Status != chat.StatusCancelled || end.Reason == "broken", "the turn ended %s, %s", end.Status, end.Reason)
		}
	}
}

// builder is a node that can serve workflows.
func (s *stack) builder(t *testing.T) *app.Node {
	t.Helper()
	spec := s.spec()
	spec.Home, spec.Model = s.dir, "http://127.0.0.1:1"
	node, err := spec.open(t.Context(), &logs{}, s.control.Log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeNode(t, node) })
	return node
}

func serveAs(t *testing.T, node *app.Node) {
	t.Helper()
	if err := node.Work(); err != nil {
		t.Fatal(err)
	}
}

// upgrade is a journal as a build reads it that knows one event more, once the upgrade is done.
type upgrade struct {
	journal.Log
	done atomic.Bool
}

// Mail implements journal.Reader.
func (u *upgrade) Mail(ctx context.Context, ref journal.Ref, agent string) ([]journal.Entry, error) {
	entries, err := u.Log.Mail(ctx, ref, agent)
	for i, e := range entries {
		if p, ok := e.Row.(journal.MailPosted); ok && u.done.Load() {
			p.Event = bytes.ReplaceAll(p.Event, []byte(`"CancelRequestedAnew"`), []byte(`"CancelRequested"`))
			entries[i].Row = p
		}
	}
	return entries, err
}
