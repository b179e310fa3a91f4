//go:build services

package toolbox

import (
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/secret"
	"github.com/retinue-dev/retinue/internal/tool"
)

var visits = flag.Int("visits", 2000, "how often one tenant's tools look for what another one has in the same worker")

// birds is in everything that the other tenant has.
const birds = "kanarienvogel"

// neighbour is what one tenant has in a worker: a workspace, a tree beside it, an MCP server, and
// folders for caches.
type neighbour struct {
	at            host.Workspace
	folder        string
	tree, cache   string
	marks, locked string
	patch         string
}

// shared is a worker that two tenants use. Their workspaces and trees have the same names.
type shared struct {
	t          *testing.T
	shop       *Sets
	worktrees  *Worktrees
	ours, them neighbour
}

// treeOf is the name of a tree, which both tenants have.
const treeOf = "c1-main-1.0"

// TestTenantsShareNoWorker has the tools of one tenant look for what another one has in the same
// worker: its files, the trees and patches of its agents, the tools of its MCP server, its caches,
// marks and locks. Both have the same names for everything.
//
// Covers: P21, P22.
func TestTenantsShareNoWorker(t *testing.T) {
	s := newShared(t)
	// The other tenant comes first: what the worker remembers is its.
	if theirs := strings.Join(s.offered(s.them.at), " "); !strings.Contains(theirs, birds) {
		t.Errorf("the other tenant has no tool of its MCP server, so this shows nothing: %s", theirs)
	}
	if said := s.ask(s.them.at, treeOf, "read_file", map[string]any{"path": "theirs.txt"}); !strings.Contains(said, birds) {
		t.Errorf("the other tenant's tree has no bird, so this shows nothing: %s", said)
	}
	chance := rand.New(rand.NewPCG(1, 1))
	found := 0
	for range *visits {
		tree := []string{"", treeOf}[chance.IntN(2)]
		name, args := s.attempt(chance)
		if said := s.ask(s.ours.at, tree, name, args); strings.Contains(said, birds) {
			found++
			t.Errorf("%s %v, in the tree %q, shows what another tenant has: %.300s", name, args, tree, said)
		}
	}
	for _, what := range s.offered(s.ours.at) {
		if strings.Contains(what, birds) {
			found++
			t.Errorf("a tool of another tenant's MCP server is offered: %.200s", what)
		}
	}
	if patch, files, err := s.worktrees.Patch(t.Context(), s.ours.at, treeOf); err != nil || strings.Contains(patch+fmt.Sprint(files), birds) {
		found++
		t.Errorf("the patch of one tenant's tree is %q, %v", patch, err)
	}
	if !strings.Contains(s.them.patch, birds) {
		t.Errorf("the patch of the other's tree is %q, so this shows nothing", s.them.patch)
	}
	for what, pair := range map[string][2]string{
		"cache": {s.ours.cache, s.them.cache}, "marks": {s.ours.marks, s.them.marks}, "lock": {s.ours.locked, s.them.locked}, "tree": {s.ours.tree, s.them.tree},
	} {
		if pair[0] == pair[1] || strings.HasPrefix(pair[0]+"/", pair[1]+"/") {
			found++
			t.Errorf("both tenants have the same %s, %s", what, pair[0])
		}
	}
	measure.Figure(t, "a worker of two tenants: %d requests for files, trees, patches, MCP tools and caches of the other, %d leaks", *visits, found)
}

// newShared fills both tenants. Everything of the other one holds the bird.
func newShared(t *testing.T) *shared {
	t.Helper()
	base := t.TempDir()
	s := &shared{t: t, ours: neighbour{at: host.Workspace{Tenant: "t1", Name: "shop"}, folder: filepath.Join(base, "ours")}, them: neighbour{at: host.Workspace{Tenant: "t2", Name: "shop"}, folder: filepath.Join(base, "theirs")}}
	where := func(at host.Workspace) string {
		return map[host.Workspace]string{s.ours.at: s.ours.folder, s.them.at: s.them.folder}[at]
	}
	loaded, err := config.LoadSettings(config.Inputs{Home: t.TempDir(), Flags: []config.Flag{
		{Key: "data_dir", Value: filepath.Join(base, "data")}, {Key: "trust", Value: s.ours.folder + "," + s.them.folder},
	}})
	if err != nil {
		t.Fatal(err)
	}
	room := NewSandboxes(loaded.Settings.Sandbox)
	servers := newToolServers(loaded, os.LookupEnv, slog.New(slog.DiscardHandler), room, secret.New(nil))
	t.Cleanup(func() { _ = servers.close() })
	s.worktrees = NewWorktrees(where, filepath.Join(base, "data"))
	s.shop = newSets(where, s.worktrees, room, servers, secret.New(nil))
	for _, n := range []*neighbour{&s.ours, &s.them} {
		word := "ours"
		if n == &s.them {
			word = birds
		}
		s.settle(n, word, servers)
	}
	return s
}

// settle gives a tenant what it has.
func (s *shared) settle(n *neighbour, word string, servers *toolServers) {
	t := s.t
	t.Helper()
	lay := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lay(filepath.Join(n.folder, "a.txt"), word+" file\n")
	lay(filepath.Join(n.folder, word+".txt"), word+"\n")
	lay(filepath.Join(n.folder, ".mcp.json"), `{"mcpServers":{"notes":{"type":"http","url":"`+notesServer(t, word)+`"}}}`)
	if word == birds { // only this one has said yes to its server
		report, err := servers.in(n.folder).Look(t.Context(), "notes")
		if err != nil {
			t.Fatal(err)
		}
		if err := servers.in(n.folder).Approve(report); err != nil {
			t.Fatal(err)
		}
	}
	store, err := s.worktrees.store(t.Context(), n.at)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Create(t.Context(), treeOf, ""); err != nil {
		t.Fatal(err)
	}
	n.tree = store.Folder(treeOf)
	name := "ours.txt"
	if word == birds {
		name = "theirs.txt"
	}
	lay(filepath.Join(n.tree, name), word+" of an agent\n")
	if n.patch, _, err = s.worktrees.Patch(t.Context(), n.at, treeOf); err != nil {
		t.Fatal(err)
	}
	if n.cache, err = s.shop.cache(n.at); err != nil {
		t.Fatal(err)
	}
	lay(filepath.Join(n.cache, "object"), word+" object\n")
	if n.marks, err = s.shop.marks(n.folder); err != nil {
		t.Fatal(err)
	}
	if n.locked, err = s.shop.lock(n.folder); err != nil {
		t.Fatal(err)
	}
}

// attempt is a call that looks for something of the other tenant.
func (s *shared) attempt(chance *rand.Rand) (string, map[string]any) {
	them := s.them
	places := []string{
		them.folder, them.tree, them.cache, them.marks, filepath.Dir(them.tree), "../theirs", "..", ".", filepath.Dir(them.folder),
		"../" + filepath.Base(them.tree), "../../theirs", filepath.Join(s.ours.folder, "../theirs"), "",
	}
	place := places[chance.IntN(len(places))]
	file := []string{"a.txt", birds + ".txt", "theirs.txt", "object", ".mcp.json"}[chance.IntN(5)]
	switch chance.IntN(6) {
	case 0:
		return "list_dir", map[string]any{"path": place}
	case 1:
		return "glob", map[string]any{"pattern": "**/" + file, "path": place}
	case 2:
		return "grep", map[string]any{"pattern": "[k]anarienvogel", "path": place}
	case 3:
		return "mcp__notes__say", map[string]any{}
	default:
		return "read_file", map[string]any{"path": filepath.Join(place, file)}
	}
}

// ask runs a tool and returns all that it says. A call that asks for the bird by name gets its own
// words back, without it.
func (s *shared) ask(at host.Workspace, tree, name string, args map[string]any) string {
	s.t.Helper()
	set, err := s.shop.Tools(at, tree)
	if err != nil {
		s.t.Fatal(err)
	}
	body, err := json.Marshal(args)
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := set.Run(s.t.Context(), tool.Call{ID: "1.0", Tool: name, Args: body})
	said := r.Text
	if err != nil {
		said += err.Error()
	}
	if path, ok := args["path"].(string); ok && strings.Contains(path, birds) && at == s.ours.at {
		said = strings.ReplaceAll(said, birds+".txt", "")
	}
	if pattern, ok := args["pattern"].(string); ok && at == s.ours.at {
		said = strings.ReplaceAll(said, pattern, "")
	}
	return said
}

// offered is what a tenant's agents are told of their tools.
func (s *shared) offered(at host.Workspace) (out []string) {
	s.t.Helper()
	set, err := s.shop.Tools(at, "")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, d := range set.Definitions([]string{"*"}) {
		out = append(out, d.Name+": "+d.Description)
	}
	return out
}
