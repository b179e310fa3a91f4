package toolbox

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/worktree"
)

// Worktrees has the trees beside each workspace of a node. It fills host.Worktrees.
type Worktrees struct {
	folder func(host.Workspace) string
	// data is the data folder.
	data string

	mu     sync.Mutex
	stores map[host.Workspace]*worktree.Store
}

// NewWorktrees opens no store yet. Folder is where a workspace is on this machine, data the data
// folder.
func NewWorktrees(folder func(host.Workspace) string, data string) *Worktrees {
	return &Worktrees{folder: folder, data: data, stores: map[host.Workspace]*worktree.Store{}}
}

// store opens the store of a workspace's trees.
func (g *Worktrees) store(ctx context.Context, at host.Workspace) (*worktree.Store, error) {
	folder := g.folder(at)
	if folder == "" {
		return nil, &chat.Error{Code: chat.CodeNotFound, Message: "the workspace is not on this machine"}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if s, ok := g.stores[at]; ok {
		return s, nil
	}
	s, err := worktree.Open(ctx, filepath.Join(g.data, "worktrees"), folder)
	if err != nil {
		return nil, err
	}
	g.stores[at] = s
	return s, nil
}

// Ready implements host.Worktrees.
func (g *Worktrees) Ready(ctx context.Context, at host.Workspace) error {
	_, err := g.store(ctx, at)
	return err
}

// Create implements host.Worktrees.
func (g *Worktrees) Create(ctx context.Context, at host.Workspace, tree, from string) error {
	s, err := g.store(ctx, at)
	if err != nil {
		return err
	}
	return s.Create(ctx, tree, from)
}

// Patch implements host.Worktrees.
func (g *Worktrees) Patch(ctx context.Context, at host.Workspace, tree string) (string, []journal.PatchFile, error) {
	s, err := g.store(ctx, at)
	if err != nil {
		return "", nil, err
	}
	p, err := s.Patch(ctx, tree)
	var files []journal.PatchFile
	for _, f := range p.Files {
		files = append(files, journal.PatchFile(f))
	}
	return p.Text, files, err
}

// Remove implements host.Worktrees.
func (g *Worktrees) Remove(ctx context.Context, at host.Workspace, tree string) error {
	s, err := g.store(ctx, at)
	if err != nil {
		return err
	}
	return s.Remove(tree)
}

// where is the folder of a tree, or of the workspace if none is named.
func (g *Worktrees) where(ctx context.Context, at host.Workspace, tree string) (string, error) {
	if tree == "" {
		return g.folder(at), nil
	}
	s, err := g.store(ctx, at)
	if err != nil {
		return "", err
	}
	if !s.Has(tree) {
		return "", &chat.Error{Code: chat.CodeNotFound, Message: "the agent's own tree is not on this machine"}
	}
	return s.Folder(tree), nil
}

// Path is where a tree is or will be.
func (g *Worktrees) Path(at host.Workspace, tree string) (string, error) {
	s, err := g.store(context.Background(), at)
	if err != nil {
		return "", err
	}
	return s.Folder(tree), nil
}
