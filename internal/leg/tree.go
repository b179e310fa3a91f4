package leg

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/tool"
)

// clearTree takes the tree of a task away whose patch is on record.
func (l *leg) clearTree(ctx context.Context) {
	brief := l.position.State.Brief
	if l.position.State.Phase != agent.Done || !brief.Isolated() || l.Worktrees == nil {
		return
	}
	row, err := find[journal.PatchKept](ctx, l, journal.PatchKept{In: l.in.In()}.Key())
	if err == nil && row.Problem == "" {
		err = l.Worktrees.Remove(ctx, l.in.At(), host.TreeName(l.in.Ref, brief.Tree))
	}
	if err != nil {
		l.Logger.WarnContext(ctx, "a tree is left", "agent", l.in.Agent, "error", err)
	}
}

// mergeShown shows a person who is asked about a merge the files that it would change.
func mergeShown(part chat.Part, about tool.About) (json.RawMessage, error) {
	show := map[string]any{}
	if err := json.Unmarshal([]byte(part.Args), &show); err != nil {
		return nil, fmt.Errorf("read the arguments of call %s: %w", part.Call, err)
	}
	files := []string{}
	for _, m := range about.Matters {
		if !m.Hidden {
			files = append(files, m.Forms...)
		}
	}
	show["files"] = files
	return json.Marshal(show)
}

// patchOf is the patch of a task among rows, nil if it had no tree of its own.
func patchOf(a journal.TaskAssigned, rows map[string]journal.Row) (*agent.PatchReport, error) {
	if row, ok := rows[journal.PatchKept{In: journal.In{Task: a.Task}}.Key()].(journal.PatchKept); ok {
		return patchReport(&row), nil
	}
	var brief agent.Brief
	if len(a.Brief) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(a.Brief, &brief); err != nil {
		return nil, fmt.Errorf("read the brief of %s: %w", a.Task, err)
	}
	if !brief.Isolated() {
		return nil, nil
	}
	return patchReport(nil), nil
}

// patchReport tells a parent's model of the patch; the row is nil if the patch was not taken yet.
func patchReport(row *journal.PatchKept) *agent.PatchReport {
	if row == nil {
		return &agent.PatchReport{
			Files: []agent.PatchFile{}, Note: "the changes are still in the sub-agent's own tree: " + agent.ToolMerge + " with its task_id takes them from there",
		}
	}
	out := &agent.PatchReport{Files: []agent.PatchFile{}, Bytes: row.Bytes, Partial: row.Partial, Note: row.Problem}
	for _, f := range row.Files {
		out.Files = append(out.Files, agent.PatchFile(f))
	}
	return out
}
