package worktree

import (
	"context"
	"crypto/sha256"
	_ "embed" // descriptions
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/tool"
)

//go:embed merge_patch.md
var mergePatchText string

// mergeTimeout is how long a merge may take.
const mergeTimeout = time.Minute

// Site is where patches are merged into.
type Site struct {
	// Store opens the store that the trees were copied from.
	Store func(ctx context.Context) (*Store, error)
	// Folder is where the files are.
	Folder *os.Root
	// Write puts files in place under the rules for tools that write.
	Write func(ctx context.Context, files []Merged) ([]tool.Change, error)
	// Asked reports whether a person decides about each write of a file, despite the rules.
	Asked func(name string) bool
}

// Tool merges the patches of agents below the caller.
func (s Site) Tool() tool.Tool { return mergePatch{s} }

type mergePatch struct{ site Site }

func (mergePatch) Definition() tool.Definition {
	return tool.Definition{
		Name: "merge_patch", Description: mergePatchText, Class: chat.ClassReconcilable, Writes: true, Timeout: mergeTimeout,
		Synonyms: map[string]string{"task_id": "agent_id", "agent": "agent_id"},
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"agent_id": {"type": "string", "minLength": 1, "description": "The sub-agent, as its report names it."},
				"leave_out": {"type": "array", "items": {"type": "string"}, "description": "Files of the patch that stay as they are here."}
			},
			"required": ["agent_id"],
			"additionalProperties": false
		}`),
	}
}

// About implements tool.Accountable: rules know a merge by its files, and check each by itself.
func (t mergePatch) About(call tool.Call) tool.About {
	p, err := wanted(call)
	if err != nil || len(p.Files) == 0 {
		return tool.About{Matters: []tool.Matter{{Forms: []string{""}, Hidden: true}}}
	}
	var about tool.About
	for _, f := range p.Files {
		about.Matters = append(about.Matters, tool.Matter{Forms: []string{f}, Asked: t.site.Asked(f)})
	}
	return about
}

// Binding binds an approval to more than the arguments: to this very patch.
func (mergePatch) Binding(_ context.Context, call tool.Call) (string, error) {
	p, err := wanted(call)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(p.Text))
	return p.Tree + " " + hex.EncodeToString(sum[:]), nil
}

type mergeArgs struct {
	Agent    string   `json:"agent_id"`
	LeaveOut []string `json:"leave_out"`
}

// wanted finds the patch that a call names.
func wanted(call tool.Call) (tool.Patch, error) {
	var args mergeArgs
	if err := call.Decode(&args); err != nil {
		return tool.Patch{}, err
	}
	if call.Patch == nil {
		return tool.Patch{}, tool.Refuse("patches are not kept here")
	}
	return call.Patch(args.Agent)
}

// work finds the effect of a call on the current files.
func (t mergePatch) work(ctx context.Context, call tool.Call) (Merge, error) {
	p, err := wanted(call)
	if err != nil || p.Text == "" {
		return Merge{}, err
	}
	store, err := t.site.Store(ctx)
	if err != nil {
		return Merge{}, err
	}
	var args mergeArgs
	if err := call.Decode(&args); err != nil {
		return Merge{}, err
	}
	return store.Merge(ctx, p.Tree, p.Text, t.site.Folder, args.LeaveOut...)
}

func (t mergePatch) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	m, err := t.work(ctx, call)
	if err != nil {
		return tool.Result{}, err
	}
	if len(m.Conflicts) > 0 {
		return tool.Result{}, conflicted(m.Conflicts)
	}
	if len(m.Files) == 0 {
		return merged(m), nil
	}
	changes, err := t.site.Write(ctx, m.Files)
	if err != nil {
		return tool.Result{Facts: tool.Facts{Wrote: changes}}, err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "Merged, %d files written:\n", len(changes))
	for _, c := range changes {
		after := "sha256 " + c.After
		if c.After == "" {
			after = "removed"
		}
		fmt.Fprintf(&text, "%s: %d lines added, %d removed, %s\n", c.Path, c.Added, c.Removed, after)
	}
	return tool.Result{Text: text.String(), Facts: tool.Facts{Wrote: changes}}, nil
}

// Probe implements tool.Prober: a merge has happened if it would change nothing. One that was cut
// off half way has not; a second run writes the missing files.
func (t mergePatch) Probe(ctx context.Context, call tool.Call) (tool.Result, tool.Happened, error) {
	m, err := t.work(ctx, call)
	if err != nil {
		return tool.Result{}, tool.HappenedUnknown, err
	}
	if len(m.Conflicts) == 0 && len(m.Files) == 0 {
		return merged(m), tool.HappenedYes, nil
	}
	return tool.Result{}, tool.HappenedNo, nil
}

// merged is the result of a merge that finds its work done.
func merged(m Merge) tool.Result {
	if len(m.Paths) == 0 {
		return tool.Result{Text: "The agent changed nothing: there is nothing to merge.\n"}
	}
	return tool.Result{Text: "Everything in the patch is in your files already: nothing was changed.\n"}
}

// Conflicted is the text for a model about a failed merge.
type Conflicted struct {
	Conflict []Conflict `json:"conflict"`
	// More counts the files that were left out.
	More   int    `json:"more_files,omitempty"`
	Advice string `json:"advice"`
}

// conflictBytes is the most that a list of conflicts takes.
const conflictBytes = 20 << 10

// conflicted is the failure that lists conflicts, as JSON.
func conflicted(list []Conflict) error {
	out := Conflicted{Conflict: list, Advice: "Nothing was written and the patch is kept. Bring theirs into these files yourself, or hand this " +
		"list to a sub-agent; then merge again with leave_out for the files that are done."}
	for {
		text, err := json.Marshal(out)
		if err != nil {
			return fmt.Errorf("list conflicts: %w", err)
		}
		if len(text) <= conflictBytes || len(out.Conflict) == 1 {
			return &chat.Error{Code: chat.CodeConflict, Message: string(text)}
		}
		keep := len(out.Conflict) / 2
		out.More += len(out.Conflict) - keep
		out.Conflict = out.Conflict[:keep]
	}
}
