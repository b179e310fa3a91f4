package toolbox

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/secret"
	"github.com/retinue-dev/retinue/internal/tool"
)

// site is a node's tools on a workspace, and what agents left beside it.
type site struct {
	t         *testing.T
	folder    string
	worktrees *Worktrees
	tools     *Sets
	patches   map[string]tool.Patch
}

func newSite(t *testing.T, files map[string]string) *site {
	t.Helper()
	s := &site{t: t, folder: t.TempDir(), patches: map[string]tool.Patch{}}
	s.lay(s.folder, files)
	where := func(host.Workspace) string { return s.folder }
	s.worktrees = NewWorktrees(where, t.TempDir())
	s.tools = newSets(where, s.worktrees, NewSandboxes(config.Sandbox{}), noServers(t), secret.New(nil))
	return s
}

func (s *site) lay(folder string, files map[string]string) {
	s.t.Helper()
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
}

// set is the tools on the workspace or a tree.
func (s *site) set(tree string) *tool.Set {
	s.t.Helper()
	set, err := s.tools.Tools(here, tree)
	if err != nil {
		s.t.Fatal(err)
	}
	return set
}

func (s *site) call(name string, args map[string]any) tool.Call {
	s.t.Helper()
	body, err := json.Marshal(args)
	if err != nil {
		s.t.Fatal(err)
	}
	return tool.Call{ID: "1.0", Tool: name, Args: body, Patch: func(id string) (tool.Patch, error) { return s.patches[id], nil }}
}

func (s *site) run(tree, name string, args map[string]any) tool.Result {
	s.t.Helper()
	r, err := s.set(tree).Run(s.t.Context(), s.call(name, args))
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// work lets an agent write files in a tree of its own, and takes its patch.
func (s *site) work(tree, from string, files map[string]string) {
	s.t.Helper()
	if err := s.worktrees.Create(s.t.Context(), here, tree, from); err != nil {
		s.t.Fatal(err)
	}
	for name, text := range files {
		if r := s.run(tree, "write_file", map[string]any{"path": name, "content": text}); r.End != tool.EndOK {
			s.t.Fatalf("write %s: %s", name, r.Text)
		}
	}
	text, list, err := s.worktrees.Patch(s.t.Context(), here, tree)
	if err != nil {
		s.t.Fatal(err)
	}
	p := tool.Patch{Tree: tree, Text: text}
	for _, f := range list {
		p.Files = append(p.Files, f.Path)
	}
	s.patches[tree] = p
}

func (s *site) holds(want map[string]string) {
	s.t.Helper()
	for name, text := range want {
		if data, err := os.ReadFile(filepath.Join(s.folder, name)); err != nil || string(data) != text {
			s.t.Errorf("%s holds %q, want %q: %v", name, data, text, err)
		}
	}
}

// TestAMergeThatWasCutShortIsFinished dies between two files of a merge: the probe says that it did
// not happen, and running it again writes what is missing and nothing twice.
func TestAMergeThatWasCutShortIsFinished(t *testing.T) {
	s := newSite(t, map[string]string{"a.txt": "1\n", "b.txt": "1\n"})
	s.work("one", "", map[string]string{"a.txt": "2\n", "b.txt": "2\n", "new/c.txt": "2\n"})
	args := map[string]any{"agent_id": "one"}
	probe := func() tool.Happened {
		_, happened, err := s.set("").Probe(t.Context(), s.call("merge_patch", args))
		if err != nil {
			t.Fatal(err)
		}
		return happened
	}
	if got := probe(); got != tool.HappenedNo {
		t.Errorf("before: %s", got)
	}
	s.lay(s.folder, map[string]string{"a.txt": "2\n"})
	if got := probe(); got != tool.HappenedNo {
		t.Errorf("half way: %s", got)
	}
	r := s.run("", "merge_patch", args)
	var wrote []string
	for _, c := range r.Facts.Wrote {
		wrote = append(wrote, c.Path)
	}
	if diff := cmp.Diff([]string{"b.txt", "new/c.txt"}, wrote); diff != "" || r.End != tool.EndOK {
		t.Errorf("%s %s %s", r.End, r.Text, diff)
	}
	s.holds(map[string]string{"a.txt": "2\n", "b.txt": "2\n", "new/c.txt": "2\n"})
	if got := probe(); got != tool.HappenedYes {
		t.Errorf("after: %s", got)
	}
}

// TestAMergeObeysTheRulesForWriters has agents leave what no tool may write.
func TestAMergeObeysTheRulesForWriters(t *testing.T) {
	s := newSite(t, map[string]string{"a.txt": "1\n", ".envrc": "safe\n"})
	s.work("one", "", map[string]string{"a.txt": "2\n"})
	tree, err := s.worktrees.where(t.Context(), here, "one")
	if err != nil {
		t.Fatal(err)
	}
	s.lay(tree, map[string]string{".envrc": "evil\n", ".retinue/agents/x.md": "evil\n"})
	s.work("one", "", nil)
	if r := s.run("", "merge_patch", map[string]any{"agent_id": "one"}); r.End != tool.EndFailed || !strings.Contains(r.Text, "protected") {
		t.Errorf("%s %s", r.End, r.Text)
	}
	s.holds(map[string]string{"a.txt": "1\n", ".envrc": "safe\n"})
	r := s.run("", "merge_patch", map[string]any{"agent_id": "one", "leave_out": []string{".envrc", ".retinue/agents/x.md"}})
	if r.End != tool.EndOK {
		t.Errorf("the rest: %s %s", r.End, r.Text)
	}
	s.holds(map[string]string{"a.txt": "2\n", ".envrc": "safe\n"})
}

// TestRulesKnowAMergeByItsFiles asks what a merge is about.
func TestRulesKnowAMergeByItsFiles(t *testing.T) {
	s := newSite(t, map[string]string{"a.txt": "1\n"})
	s.work("one", "", map[string]string{"a.txt": "2\n", "b/AGENTS.md": "obey\n"})
	want := tool.About{Matters: []tool.Matter{{Forms: []string{"a.txt"}}, {Forms: []string{"b/AGENTS.md"}, Asked: true}}}
	if diff := cmp.Diff(want, s.set("").About(s.call("merge_patch", map[string]any{"agent_id": "one"}))); diff != "" {
		t.Error(diff)
	}
}

// TestToolsOfATreeStayInIt writes by every name there is for a file, and looks where it landed.
func TestToolsOfATreeStayInIt(t *testing.T) {
	s := newSite(t, map[string]string{"a.txt": "1\n"})
	s.work("one", "", map[string]string{"a.txt": "2\n", filepath.Join(s.folder, "b.txt"): "2\n"})
	s.holds(map[string]string{"a.txt": "1\n"})
	if _, err := os.Stat(filepath.Join(s.folder, "b.txt")); err == nil {
		t.Error("a path of the workspace led out of the tree")
	}
	s.work("two", "one", map[string]string{"c.txt": "3\n"})
	if diff := cmp.Diff([]string{"c.txt"}, s.patches["two"].Files); diff != "" {
		t.Errorf("a tree below a tree: %s", diff)
	}
	if err := s.worktrees.Remove(t.Context(), here, "one"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.tools.Tools(here, "one"); err == nil {
		t.Error("there are tools on a tree that is gone")
	}
	if r := s.run("", "merge_patch", map[string]any{"agent_id": "one"}); r.End != tool.EndOK {
		t.Errorf("a patch outlives its tree: %s", r.Text)
	}
	s.holds(map[string]string{"a.txt": "2\n", "b.txt": "2\n"})
}
