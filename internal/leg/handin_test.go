package leg

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/config/role"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/tool"
	"github.com/retinue-dev/retinue/internal/tool/builtin"
	"github.com/retinue-dev/retinue/internal/worktree"
)

// TestAContradictedClaimComesBack has a helper claim a file that it has not changed. The helper is
// told, and submits again.
func TestAContradictedClaimComesBack(t *testing.T) {
	t.Parallel()
	s := newStage(t, strings.ReplaceAll(one, "MORE", "")+`
  - {name: read, when: {tools: [submit_result], turn: 0}, reply: {calls: [{tool: read_file, args: {path: plums.md}}]}}
  - {name: claim, when: {tools: [submit_result], turn: 1}, reply: {calls: [{tool: submit_result, args: {summary: 'changed', files_modified: [plums.md]}}]}}
  - {name: told, when: {tools: [submit_result], turn: 2, result: 'plums\.md'}, reply: {calls: [{tool: submit_result, args: {summary: 'read only'}}]}}
`, nil)
	s.change = func(_ string, r *role.Role) { r.Evidence = true }
	s.play("look", nil)
	s.says("It says: read only")
}

// TestResultsFitTheSchemaOfTheRole has a helper submit a result that does not fit its role's
// schema, and then one that does.
func TestResultsFitTheSchemaOfTheRole(t *testing.T) {
	t.Parallel()
	s := newStage(t, strings.Replace(strings.ReplaceAll(one, "MORE", ""), `'"result":"(?P<what>[^"]+)"'`, `'n\\":(?P<what>\d+)'`, 1)+`
  - {name: words, when: {tools: [submit_result], turn: 0}, reply: {calls: [{tool: submit_result, args: {n: 'many'}}]}}
  - {name: number, when: {tools: [submit_result], turn: 1, result: 'n'}, reply: {calls: [{tool: submit_result, args: {n: 7}}]}}
`, nil)
	s.change = func(name string, r *role.Role) {
		if name == "helper" {
			r.Result = json.RawMessage(`{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": false}`)
		}
	}
	s.play("count", nil)
	s.says("It says: 7")
}

// TestAPatchIsMerged has a helper write in a worktree of its own, and the lead merge its patch. The
// lead's files change with the merge and not before, and no worktree is left.
func TestAPatchIsMerged(t *testing.T) {
	t.Parallel()
	s := newStage(t, `
name: merge
rules:
  - {name: send, when: {tools: [spawn_agents], no_tools: [submit_result], turn: 0}, reply: {calls: [{tool: spawn_agents, args: {tasks: [{role: helper, task: 'Go'}]}}]}}
  - {name: merge, when: {tools: [spawn_agents], no_tools: [submit_result], turn: 1}, reply: {calls: [{tool: merge_patch, args: {agent_id: 'main/1.0.0'}}]}}
  - {name: done, when: {tools: [spawn_agents], no_tools: [submit_result], turn: 2}, reply: {text: 'It is merged.'}}
  - {name: write, when: {tools: [submit_result], turn: 0}, reply: {calls: [{tool: write_file, args: {path: new.md, content: 'new'}}]}}
  - {name: written, when: {tools: [submit_result], turn: 1}, reply: {calls: [{tool: submit_result, args: {summary: 'written', files_created: [new.md]}}]}}
`, nil)
	store := s.isolate()
	tree := host.TreeName(s.ref, "main/1.0.0")
	there := func() bool {
		_, err := os.Stat(filepath.Join(s.folder, "new.md"))
		return err == nil
	}
	s.play("write", map[time.Duration]func(){
		time.Minute: func() {
			if !store.Has(tree) {
				t.Error("the helper has no worktree")
			}
			s.allow("") // the helper's file
		},
		2 * time.Minute: func() {
			if there() {
				t.Error("the file is in the workspace before the merge")
			}
			s.allow("") // the merge
		},
	})
	s.says("It is merged.")
	if !there() || store.Has(tree) {
		t.Errorf("after the merge the file is in the workspace: %v; a worktree is left: %v", there(), store.Has(tree))
	}
	var files []string
	for _, p := range rowsOf[journal.PatchKept](s) {
		for _, f := range p.Files {
			files = append(files, p.Task+" "+f.Path)
		}
	}
	if want := []string{"main/1.0.0 new.md"}; !slices.Equal(files, want) {
		t.Errorf("patches have %q, want %q", files, want)
	}
}

// isolate has helpers work in worktrees of their own, which the lead can merge.
func (s *stage) isolate() *worktree.Store {
	s.Helper()
	store, err := worktree.Open(s.Context(), s.TempDir(), s.folder)
	s.must(err)
	s.workspace = "w"
	s.carrier.Host.Tools, s.carrier.Host.Worktrees = &shelves{stage: s, store: store, sets: map[string]*tool.Set{}}, copies{store}
	s.change = func(name string, r *role.Role) {
		if name == "helper" {
			r.Isolation = agent.IsolationWorktree
		} else {
			r.Tools = append([]string{"merge_patch"}, r.Tools...)
			r.Authority.Tools = r.Tools
		}
	}
	return store
}

// shelves have tools for a workspace and its worktrees.
type shelves struct {
	stage *stage
	store *worktree.Store
	sets  map[string]*tool.Set
}

func (s *shelves) Tools(_ host.Workspace, tree string) (*tool.Set, error) {
	if set, ok := s.sets[tree]; ok {
		return set, nil
	}
	folder := s.stage.folder
	if tree != "" {
		if !s.store.Has(tree) {
			return nil, &chat.Error{Code: chat.CodeNotFound, Message: "no such worktree"}
		}
		folder = s.store.Folder(tree)
	}
	files, err := builtin.Open(folder)
	if err != nil {
		return nil, err
	}
	s.stage.Cleanup(func() { _ = files.Close() })
	merge := worktree.Site{
		Store: func(context.Context) (*worktree.Store, error) { return s.store, nil }, Folder: files.Root(),
		Asked: func(string) bool { return false },
		Write: func(ctx context.Context, list []worktree.Merged) ([]tool.Change, error) {
			var out []builtin.Replacement
			for _, f := range list {
				out = append(out, builtin.Replacement(f))
			}
			return files.Replace(ctx, out)
		},
	}
	s.sets[tree], err = tool.NewSet(tool.Options{}, slices.Concat(files.Tools(), files.Writing(), []tool.Tool{merge.Tool(), bell{s.stage}})...)
	return s.sets[tree], err
}

// copies are the worktrees of one workspace.
type copies struct{ *worktree.Store }

func (copies) Ready(context.Context, host.Workspace) error { return nil }

func (c copies) Create(ctx context.Context, _ host.Workspace, tree, from string) error {
	return c.Store.Create(ctx, tree, from)
}

func (c copies) Patch(ctx context.Context, _ host.Workspace, tree string) (string, []journal.PatchFile, error) {
	p, err := c.Store.Patch(ctx, tree)
	var files []journal.PatchFile
	for _, f := range p.Files {
		files = append(files, journal.PatchFile(f))
	}
	return p.Text, files, err
}

func (c copies) Remove(_ context.Context, _ host.Workspace, tree string) error {
	return c.Store.Remove(tree)
}
