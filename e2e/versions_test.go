//go:build services

package e2e

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/durable/history"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
)

// The builds of one deployment.
const (
	deployment = "shop"
	buildA     = "A"
	buildB     = "B"
)

// thinFor is how long a build has workers, but none for the workspace: longer than a promotion
// takes that nothing is in the way of.
const thinFor = 3 * time.Second

const versionsModel = `
name: versions
rules:
  - {name: greet, when: {role: main, turn: 0, text: 'Hello'}, reply: {text: 'Good day.'}}
  - name: send
    when: {role: main, turn: 0, text: 'Look'}
    reply: {calls: [{tool: spawn_agents, args: {tasks: [{role: researcher, task: 'Read the file.'}]}}]}
  - {name: read, when: {role: researcher, turn: 0}, reply: {calls: [{tool: read_file, args: {path: a.md}}]}}
  - {name: report, when: {role: researcher, turn: 1, result: 'canary'}, reply: {calls: [{tool: submit_result, args: {summary: 'A bird.'}}]}}
  - {name: answer, when: {role: main, turn: 1, result: 'A bird'}, reply: {text: 'It is a bird.'}}
  - {name: part, when: {role: main, text: 'Goodbye'}, reply: {text: 'Farewell.'}}
`

// TestVersions deploys a build of the workers beside another. Runs stay with the build they began
// on, even while it has no worker, new ones begin on the new one, idle orchestrators go over to it,
// and when the old workers are stopped nothing is missing.
func TestVersions(t *testing.T) {
	t.Parallel()
	on := newStack(t, sqliteStack)
	on.connect(t)
	s := newScenario(t, "versions", versionsModel)
	s.settings, s.work["a.md"] = "permissions: {ask: [read_file]}\n", "canary\n"
	a, b := newBuild(t, s, on, buildA), newBuild(t, s, on, buildB)
	a.start(t)
	promote(t, a)
	idle, busy, fresh := a.talk("idle"), a.talk("busy"), a.talk("fresh")
	for _, line := range []string{"open", "say m1: Hello there", "wait turn 1"} {
		idle.do(t, line)
	}
	for _, line := range []string{"open", "say m1: Look at it", "wait row approval/main/1.0.0#1.0"} {
		busy.do(t, line)
	}

	promoteLate(t, b)
	for _, line := range []string{"open", "say m1: Hello again", "wait turn 1"} {
		fresh.do(t, line)
	}
	a.stop(t)
	busy.do(t, "allow main/1.0.0 1.0")
	busy.do(t, "wait no rows 1s")
	a.start(t)
	busy.do(t, "wait turn 1")
	a.served(t, map[string]int{"greet": 1, "send": 1, "read": 1, "report": 1, "answer": 1})
	b.served(t, map[string]int{"greet": 1})
	fresh.builds(t, host.Root, []string{buildB})
	idle.builds(t, host.Root, []string{buildA})

	goOver(t, on, idle)
	for _, st := range []*stage{idle, busy} {
		st.builds(t, host.Root, []string{buildA}, []string{buildB})
	}
	a.stop(t)
	for _, st := range []*stage{idle, busy, fresh} {
		st.do(t, "say m2: Goodbye")
		st.do(t, "wait turn 2")
		st.check(t, st.settle(t))
	}
	b.served(t, map[string]int{"greet": 1, "part": 3})
	a.served(t, map[string]int{"greet": 1, "send": 1, "read": 1, "report": 1, "answer": 1})
}

// build is a worker of a build, with a model of its own, which tells who asked.
type build struct {
	*stage
	name string
}

func newBuild(t *testing.T, s *scenario, on *stack, name string) *build {
	t.Helper()
	st := &stage{scenario: s, stack: on, provider: newProvider(t, s.script), logs: &logs{}, spec: on.spec(), node: on.control}
	st.spec.Home = t.TempDir()
	st.spec.Folder, st.spec.Workspace, st.spec.Model = filepath.Join(st.spec.Home, "work"), "w-versions", st.provider.url
	st.spec.adjust = func(o *app.NodeOptions) { o.LegsOnly, o.Deployment, o.Build = false, deployment, name }
	st.furnish(t)
	return &build{stage: st, name: name}
}

func (b *build) start(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		b.stop(t)
		if t.Failed() {
			t.Logf("log of build %s:\n%s", b.name, b.logs)
		}
	})
	b.startWorker(t)
}

func (b *build) stop(t *testing.T) {
	t.Helper()
	b.stopWorker(t)
}

// talk is a conversation. The person who talks does not choose a build.
func (b *build) talk(id string) *stage {
	st := *b.stage
	st.ref = journal.Ref{Tenant: app.LocalTenant, Conversation: id}
	return &st
}

// served checks the requests to the build's model, and their number.
func (b *build) served(t *testing.T, want map[string]int) {
	t.Helper()
	if diff := cmp.Diff(want, asked(b.provider.Meter())); diff != "" {
		t.Errorf("what build %s should ask its model (-) and what it asked (+):\n%s", b.name, diff)
	}
}

// builds compares the builds that answered for an agent with those that should have, for each of
// its histories. One that has just begun is answered for a little later.
func (st *stage) builds(t *testing.T, agent string, want ...[]string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	diff := ""
	err := st.until(ctx, func() (bool, error) {
		runs, err := history.Chain(ctx, st.node.Client.Engine, host.RunID(st.ref, agent))
		var found [][]string
		for _, r := range runs {
			found = append(found, r.Builds())
		}
		diff = cmp.Diff(want, found)
		return diff == "", err
	})
	if err != nil {
		t.Errorf("the builds of %s in %s should be (-) and are (+): %v\n%s", agent, st.ref.Conversation, err, diff)
	}
}

// promoteLate promotes a build whose workers serve no workspace at first. That is waited for.
func promoteLate(t *testing.T, b *build) {
	t.Helper()
	thin := newBuild(t, b.scenario, b.stack, b.name)
	adjust := thin.spec.adjust
	thin.spec.adjust = func(o *app.NodeOptions) { adjust(o); o.Workspaces = nil }
	thin.start(t)
	defer thin.stop(t)
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- b.node.Client.Promote(ctx, deployment, b.name) }()
	select {
	case err := <-done:
		t.Errorf("a build was promoted whose workers serve no workspace: %v", err)
		done <- err
	case <-time.After(thinFor):
	}
	b.start(t)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func promote(t *testing.T, b *build) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	if err := b.node.Client.Promote(ctx, deployment, b.name); err != nil {
		t.Fatal(err)
	}
}

// goOver waits until nothing is kept to an older build. Only one that is idle has to be told.
func goOver(t *testing.T, on *stack, idle *stage) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	var behind []string
	err := idle.until(ctx, func() (bool, error) {
		var err error
		behind, err = on.control.Client.OnOtherBuilds(ctx, deployment, buildB)
		return slices.Equal(behind, []string{host.RunID(idle.ref, host.Root)}), err
	})
	if err != nil {
		t.Fatalf("kept to the build before are %v: %v", behind, err)
	}
	if err := on.control.Promote(ctx, deployment, buildB, func(int) {}); err != nil {
		t.Fatal(err)
	}
}
