package agent_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
)

// spawnFrom lets an agent with this brief spawn one task, and returns the child's brief or why
// there is none.
func spawnFrom(t *testing.T, tree string, item agent.Item, role agent.Isolation) (agent.Brief, string) {
	t.Helper()
	brief := agent.Orchestrator(agent.RoleSpec{
		Name: "main", CanDelegate: true, Delegates: []string{"coder"},
		Authority: agent.Authority{Tools: []string{"write_file"}, Write: true}, Tools: []string{"write_file"},
	})
	brief.Conversation, brief.Agent, brief.Task, brief.Tree = "c", "c", "c", tree
	item.Role, item.Hash = "coder", "h"
	spec := agent.RoleSpec{
		Name: "coder", Isolation: role, Authority: agent.Authority{Tools: []string{"write_file"}, Write: true}, Tools: []string{"write_file"},
	}
	call := agent.Call{
		Tool: agent.ToolSpawn, Kind: agent.CallSpawn, Hash: "s", Known: true, Class: chat.ClassPure, Items: []agent.Item{item},
	}
	var s agent.State
	var effects []agent.Effect
	for _, e := range []agent.Event{
		agent.Begun{Brief: brief},
		agent.Said{Seq: 1},
		agent.Replied{Turn: 1, Attempt: 1, Calls: []agent.Call{call}, Roles: []agent.RoleSpec{spec}},
	} {
		var err error
		if s, effects, err = agent.Step(s, e); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range effects {
		switch e := e.(type) {
		case agent.Enlist:
			return e.Brief, ""
		case agent.Settle:
			return agent.Brief{}, e.Text
		default:
		}
	}
	t.Fatal("nothing came of the call")
	return agent.Brief{}, ""
}

// TestWhereAChildWorks compares the tree in a child's brief with what its role and the call say.
func TestWhereAChildWorks(t *testing.T) {
	const own = "c/1.0.0"
	for _, c := range []struct {
		name      string
		tree      string
		item      agent.Item
		role      agent.Isolation
		wantTree  string
		wantFrom  string
		isolated  bool
		wantIssue string
	}{
		{name: "as its parent does"},
		{name: "in the parent's tree", tree: "c/0", wantTree: "c/0"},
		{name: "asked for by name", item: agent.Item{Isolation: agent.IsolationShared}, tree: "c/0", wantTree: "c/0"},
		{name: "the call says so", item: agent.Item{Isolation: agent.IsolationWorktree}, wantTree: own, isolated: true},
		{name: "the role says so", role: agent.IsolationWorktree, wantTree: own, isolated: true},
		{name: "from the parent's tree", role: agent.IsolationWorktree, tree: "c/0", wantTree: own, wantFrom: "c/0", isolated: true},
		{name: "a resumed agent has a new one", role: agent.IsolationWorktree, item: agent.Item{Agent: "c/0.0.0"}, wantTree: own, isolated: true},
		{name: "a role is not let out", role: agent.IsolationWorktree, item: agent.Item{Isolation: agent.IsolationShared}, wantIssue: "a tree of its own"},
		{name: "no such word", item: agent.Item{Isolation: "container"}, wantIssue: "isolation must be worktree or shared"},
	} {
		brief, issue := spawnFrom(t, c.tree, c.item, c.role)
		if !strings.Contains(issue, c.wantIssue) || (c.wantIssue == "") != (issue == "") {
			t.Errorf("%s: refused with %q", c.name, issue)
		}
		got := []any{brief.Tree, brief.From, brief.Isolated()}
		if diff := cmp.Diff([]any{c.wantTree, c.wantFrom, c.isolated}, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestMergingIsForThoseWhoWrite(t *testing.T) {
	for _, write := range []bool{true, false} {
		s := agent.State{Brief: agent.Brief{
			CanDelegate: true, Limits: agent.Limits{Depth: 2}, Authority: agent.Authority{Write: write},
		}}
		if got := slices.Contains(agent.Offer(s, agent.TurnNormal), agent.ToolMerge); got != write {
			t.Errorf("may write %v, is offered %s %v", write, agent.ToolMerge, got)
		}
	}
}

func TestIsolationIsPartOfATask(t *testing.T) {
	plain := agent.Digest(agent.ToolSpawn, `{"tasks":[{"role":"coder","task":"x"}]}`).Items[0]
	apart := agent.Digest(agent.ToolSpawn, `{"tasks":[{"role":"coder","task":"x","isolation":"worktree"}]}`).Items[0]
	if apart.Isolation != agent.IsolationWorktree || apart.Hash == plain.Hash {
		t.Errorf("%+v and %+v", plain, apart)
	}
}

func TestAReportShowsThePatchBesideTheChildsOwnWords(t *testing.T) {
	patch := agent.PatchReport{Bytes: 9, Partial: true}
	for range 50 {
		patch.Files = append(patch.Files, agent.PatchFile{Path: "a.go", Change: "modified", Added: 1, Removed: 2})
	}
	for files, want := range map[int]string{
		0:  `"patch":{"files":[],"bytes":9,"partial":true,"note":"nothing was changed in the sub-agent's own tree"}`,
		1:  `"patch":{"files":[{"path":"a.go","change":"modified","added":1,"removed":2}],"bytes":9,"partial":true,"note":"the changes are in a tree`,
		50: `"more_files":10`,
	} {
		p := patch
		p.Files = p.Files[:files]
		text, err := agent.RenderReports([]agent.Report{{Task: "c/1.0.0", Outcome: &agent.Outcome{Status: chat.StatusCompleted}, Patch: &p}}, 1000)
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("%d files: %v\n%s", files, err, text)
		}
	}
}
