package host

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/tool"
)

// Known refuses work in a workspace that this worker does not have for the tenant. The queue brings
// it no such work: a program that put it there has no business with these files.
func (h *Host) Known(w RunRef) error {
	if w.Workspace == "" || h.Serves == nil || h.Serves(w.At()) {
		return nil
	}
	return &chat.Error{Code: chat.CodeDenied, Message: fmt.Sprintf("this worker does not serve the workspace %s", w.At())}
}

// Worktrees gives agents folders of their own beside a workspace, and merges their changes.
type Worktrees interface {
	// Ready says why no trees of a workspace can be made here, if so.
	Ready(ctx context.Context, at Workspace) error
	// Create makes a tree as a copy of another, or of the workspace. An existing one stays.
	Create(ctx context.Context, at Workspace, tree, from string) error
	// Patch is the changes of a tree; not_found if the tree is not on this machine.
	Patch(ctx context.Context, at Workspace, tree string) (text string, files []journal.PatchFile, err error)
	// Remove takes a tree away.
	Remove(ctx context.Context, at Workspace, tree string) error
}

// TreeName is a tree's name among those of all conversations; the empty id is the workspace itself.
func TreeName(ref journal.Ref, id string) string {
	if id == "" {
		return ""
	}
	return RunID(ref, id)
}

// Within says where the files are that an agent works on. A tree of the agent's own is made before
// its first call.
func (w RunRef) Within(s *agent.State) RunRef {
	w.Tree, w.From = TreeName(w.Ref, s.Brief.Tree), ""
	if w.NewTree = s.Brief.Isolated() && s.Progress.ToolCalls == 0; w.NewTree {
		w.From = TreeName(w.Ref, s.Brief.From)
	}
	return w
}

// Set is the tools that work on an agent's files.
func (h *Host) Set(ctx context.Context, run RunRef) (*tool.Set, error) {
	if run.NewTree {
		if err := h.Worktrees.Create(ctx, run.At(), run.Tree, run.From); err != nil {
			return nil, fmt.Errorf("make a tree of its own for the agent: %w", err)
		}
	}
	return h.Tools.Tools(run.At(), run.Tree)
}

// Describing is the tools by which calls are described before they run. A missing tree is described
// by the workspace that it will be a copy of.
func (h *Host) Describing(run RunRef) (*tool.Set, error) {
	set, err := h.Tools.Tools(run.At(), run.Tree)
	if err != nil && run.Tree != "" {
		return h.Tools.Tools(run.At(), "")
	}
	return set, err
}

// Ready returns the obstacle for a task that is to have a tree of its own, if any.
func (h *Host) Ready(ctx context.Context, at Workspace) string {
	if h.Worktrees == nil || at.Name == "" {
		return "there is no workspace here of which a tree could be made; leave isolation out"
	}
	if err := h.Worktrees.Ready(ctx, at); err != nil {
		return Said(err)
	}
	return ""
}

// PatchRows are the changes that a task made in its own tree. A task without a tree has no row. If
// the tree is on another machine, the worker that merges it takes the patch there.
func (h *Host) PatchRows(ctx context.Context, run RunRef, brief agent.Brief, failed bool) ([]journal.Row, error) {
	if !brief.Isolated() || h.Worktrees == nil {
		return nil, nil
	}
	text, files, err := h.Worktrees.Patch(ctx, run.At(), TreeName(run.Ref, brief.Tree))
	row := journal.PatchKept{In: run.In(), Files: files, Bytes: len(text), Partial: failed}
	switch {
	case chat.CodeOf(err) == chat.CodeInvalid:
		row.Problem = Said(err)
	case err != nil:
		h.Logger.WarnContext(ctx, "no patch", "agent", run.Agent, "error", err)
		return nil, nil
	case text != "":
		if err := h.Log.Keep(ctx, run.Ref, text); err != nil {
			return nil, err
		}
		row.Text = journal.HashOf(text)
	}
	return []journal.Row{row}, nil
}

// LatePatches are the patches of tasks whose runs ended before they reported them.
func (h *Host) LatePatches(ctx context.Context, run RunRef) []journal.Row {
	entries, err := h.Log.Find(ctx, run.Ref, journal.TaskAssigned{In: run.In()}.Key())
	if err != nil || len(entries) == 0 {
		return nil
	}
	row, _ := entries[0].Row.(journal.TaskAssigned) // nothing else has this key
	var brief agent.Brief
	if json.Unmarshal(row.Brief, &brief) != nil {
		return nil
	}
	rows, err := h.PatchRows(ctx, run, brief, true)
	if err != nil {
		h.Logger.WarnContext(ctx, "no patch", "agent", run.Agent, "error", err)
	}
	return rows
}

// patch finds the patch of an agent below this one, and takes it if nobody has.
func (h *Host) patch(ctx context.Context, run RunRef, task string) (tool.Patch, error) {
	none := tool.Patch{}
	if !chat.AgentPath(task).IsBelow(chat.AgentPath(run.Agent)) {
		return none, tool.Refuse("agent_id must name an agent that you started, as its report does")
	}
	in := journal.In{Task: task}
	entries, err := h.Log.Find(ctx, run.Ref, journal.TaskAssigned{In: in}.Key(), journal.TaskEnded{In: in}.Key(), journal.PatchKept{In: in}.Key())
	if err != nil {
		return none, fmt.Errorf("look for the patch of %s: %w", task, err)
	}
	var brief agent.Brief
	var patched *journal.PatchKept
	finished := false
	for _, e := range entries {
		switch r := e.Row.(type) {
		case journal.TaskAssigned:
			in = r.In
			if err := json.Unmarshal(r.Brief, &brief); err != nil {
				return none, fmt.Errorf("read the brief of %s: %w", task, err)
			}
		case journal.TaskEnded:
			finished = true
		case journal.PatchKept:
			patched = &r
		default:
		}
	}
	switch {
	case len(entries) == 0:
		return none, tool.Refuse("there is no agent %s of yours", task)
	case !brief.Isolated():
		return none, tool.Refuse("agent %s had no tree of its own: its changes are in your files", task)
	case !finished:
		return none, tool.Refuse("agent %s has not finished", task)
	case patched == nil:
		if patched, err = h.takeLate(ctx, run, in, brief); err != nil {
			return none, err
		}
	}
	if patched.Problem != "" {
		return none, tool.Refuse("there is no patch: %s", patched.Problem)
	}
	// A patch on record needs no tree any more; the worker that ended the task may not have had the
	// tree.
	if err := h.Worktrees.Remove(ctx, run.At(), TreeName(run.Ref, task)); err != nil {
		h.Logger.WarnContext(ctx, "a tree is left", "agent", in.Agent, "error", err)
	}
	return h.patchText(ctx, run, task, *patched)
}

// takeLate records the patch of a task that has ended elsewhere.
func (h *Host) takeLate(ctx context.Context, run RunRef, in journal.In, brief agent.Brief) (*journal.PatchKept, error) {
	run.Agent, run.Task = in.Agent, in.Task
	rows, err := h.PatchRows(ctx, run, brief, true)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, tool.Refuse("the tree of agent %s is not on this machine, and its patch was not taken", in.Agent)
	}
	if _, err := h.Log.Append(ctx, run.Ref, h.Now(), rows...); err != nil {
		return nil, err
	}
	row, _ := rows[0].(journal.PatchKept) // taken makes nothing else
	return &row, nil
}

func (h *Host) patchText(ctx context.Context, run RunRef, task string, row journal.PatchKept) (tool.Patch, error) {
	p := tool.Patch{Tree: TreeName(run.Ref, task)}
	for _, f := range row.Files {
		p.Files = append(p.Files, f.Path)
	}
	if row.Text == "" {
		return p, nil
	}
	var err error
	if p.Text, err = h.Log.Text(ctx, run.Ref, row.Text); err != nil {
		return p, fmt.Errorf("read the patch of %s: %w", task, err)
	}
	return p, nil
}
