package toolbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/sandbox"
	"github.com/retinue-dev/retinue/internal/secret"
	"github.com/retinue-dev/retinue/internal/tool"
	"github.com/retinue-dev/retinue/internal/tool/builtin"
	"github.com/retinue-dev/retinue/internal/tool/shell"
	"github.com/retinue-dev/retinue/internal/worktree"
)

// Sets has the tools for each workspace of a node, and for the trees beside it. It fills
// host.Toolbox.
type Sets struct {
	folder    func(host.Workspace) string
	worktrees *Worktrees
	sandboxes *Sandboxes
	servers   *toolServers
	vault     *secret.Vault
	// pages are the tools for the web, the same in every workspace.
	pages []tool.Tool

	mu   sync.Mutex
	sets map[toolsetKey]toolset
	// trees are the folders that were opened for agents, the oldest first.
	trees []opened
}

// toolset is the tools under one key: our own, which stay, and a set of them and of what MCP
// servers offered at the time.
type toolset struct {
	own        []tool.Tool
	set        *tool.Set
	generation uint64
}

// toolsetKey is where tools work: in a workspace, or in a tree of it.
type toolsetKey struct {
	workspace host.Workspace
	tree      string
}

// opened is a folder that tools hold open.
type opened struct {
	toolsetKey
	*builtin.Workspace
}

// openTrees is how many trees are held open: more are at work at the same time only by chance, and
// then opened again.
const openTrees = 64

// Options say what tools are made of.
type Options struct {
	Loaded config.Loaded
	// Lookup finds environment variables.
	Lookup func(string) (string, bool)
	Logger *slog.Logger
	// Folder is where a workspace is on this machine, empty if it is not here.
	Folder    func(host.Workspace) string
	Worktrees *Worktrees
	Sandboxes *Sandboxes
	// Vault takes secrets out of what tools say.
	Vault *secret.Vault
}

// New makes the tools for the web, and all others when a workspace is first asked for. It starts no
// MCP server.
func New(o Options) (*Sets, error) {
	web, err := Pages(o.Loaded.Settings.Web, o.Lookup)
	if err != nil {
		return nil, err
	}
	w := newSets(o.Folder, o.Worktrees, o.Sandboxes, newToolServers(o.Loaded, o.Lookup, o.Logger, o.Sandboxes, o.Vault), o.Vault)
	w.pages = web
	return w, nil
}

// Close ends the MCP servers.
func (w *Sets) Close() error { return w.servers.close() }

func newSets(folder func(host.Workspace) string, g *Worktrees, e *Sandboxes, servers *toolServers, vault *secret.Vault) *Sets {
	return &Sets{folder: folder, worktrees: g, sandboxes: e, servers: servers, vault: vault, sets: map[toolsetKey]toolset{}}
}

// Tools implements host.Toolbox.
func (w *Sets) Tools(place host.Workspace, tree string) (*tool.Set, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := toolsetKey{place, tree}
	folder, err := w.worktrees.where(context.Background(), place, tree)
	if err != nil {
		w.forget(at)
		return nil, err
	}
	s, ok := w.sets[at]
	if !ok && folder != "" {
		if s.own, err = w.furnish(at, folder); err != nil {
			return nil, err
		}
	}
	own, generation := slices.Concat(s.own, w.pages), uint64(0)
	if folder != "" && tree == "" { // a server works on the workspace, so those with a tree of their own get none
		servers := w.servers.in(folder)
		if generation = servers.Generation(); s.set == nil || generation != s.generation {
			own = append(own, servers.Tools()...)
		}
	}
	if s.set != nil && s.generation == generation {
		return s.set, nil
	}
	if s.set, err = tool.NewSet(tool.Options{
		Redact: w.vault.Redact, Marked: w.vault.Marked, Leaks: w.servers.sieve(w.folder(place)).now,
	}, own...); err != nil {
		return nil, err
	}
	s.generation = generation
	w.sets[at] = s
	return s.set, nil
}

// furnish opens a folder and makes the tools on it.
func (w *Sets) furnish(at toolsetKey, folder string) ([]tool.Tool, error) {
	files, err := builtin.Open(folder)
	if err != nil {
		return nil, err
	}
	lock, err := w.lock(folder)
	if err != nil {
		return nil, err
	}
	files.LockWith(lock)
	if at.tree != "" {
		files.KnownAs(w.folder(at.workspace))
		if w.trees = append(w.trees, opened{at, files}); len(w.trees) > openTrees {
			w.forget(w.trees[0].toolsetKey)
		}
	}
	merge := worktree.Site{
		Store:  func(ctx context.Context) (*worktree.Store, error) { return w.worktrees.store(ctx, at.workspace) },
		Folder: files.Root(),
		Asked:  sandbox.IsAdvice,
		Write: func(ctx context.Context, list []worktree.Merged) ([]tool.Change, error) {
			var out []builtin.Replacement
			for _, f := range list {
				out = append(out, builtin.Replacement(f))
			}
			return files.Replace(ctx, out)
		},
	}
	commands, err := shell.New(shell.Options{
		Workspace: folder, Enter: w.sandboxes.Enter, Files: files.Files, Sandbox: w.sandboxes.Options, Hosts: w.sandboxes.hosts,
		Cache: func() (string, error) { return w.cache(at.workspace) },
		Marks: func() (string, error) { return w.marks(folder) },
	})
	if err != nil {
		return nil, err
	}
	return slices.Concat(files.Tools(), files.Images(), files.Writing(), []tool.Tool{merge.Tool(), commands}), nil
}

// cache is the folder that the commands of a workspace, and of the trees beside it, keep their
// caches in.
func (w *Sets) cache(at host.Workspace) (string, error) {
	sum := sha256.Sum256([]byte(w.folder(at)))
	dir := filepath.Join(w.worktrees.data, "caches", hex.EncodeToString(sum[:16]))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the folder for caches: %w", err)
	}
	return filepath.EvalSymlinks(dir)
}

// marks is the folder that says which commands run in a folder.
func (w *Sets) marks(folder string) (string, error) {
	sum := sha256.Sum256([]byte(folder))
	dir := filepath.Join(w.worktrees.data, "marks", hex.EncodeToString(sum[:16]))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the folder for marks: %w", err)
	}
	return dir, nil
}

// forget lets go of the tools on a tree. Calls that still run on it keep the folder open until they
// end.
func (w *Sets) forget(at toolsetKey) {
	delete(w.sets, at)
	w.trees = slices.DeleteFunc(w.trees, func(o opened) bool { return o.toolsetKey == at })
}

// lock is the file that the writers of a folder lock. It lies in the data folder: in the workspace,
// agents could reach it.
func (w *Sets) lock(folder string) (string, error) {
	dir := filepath.Join(w.worktrees.data, "locks")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the folder for locks: %w", err)
	}
	resolved, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return "", fmt.Errorf("open workspace: %w", err)
	}
	sum := sha256.Sum256([]byte(resolved))
	return filepath.Join(dir, hex.EncodeToString(sum[:16])), nil
}
