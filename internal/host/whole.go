package host

import (
	"context"
	"fmt"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/tool"
)

// keepWhole keeps the whole output of a call before it is cut, and returns its hash.
func (h *Host) keepWhole(ctx context.Context, ref journal.Ref, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	return journal.HashOf(text), h.Log.Keep(ctx, ref, text) // too large to be remembered
}

// output is the whole output of a call, by the name that its result has for it. An agent can read
// that of its own calls and of those of agents below it.
func (h *Host) output(ctx context.Context, run RunRef, name string) (string, error) {
	called := chat.ParseCallRef(name)
	agent, call := string(called.Agent), string(called.Call)
	if agent != run.Agent && !called.Agent.IsBelow(chat.AgentPath(run.Agent)) {
		return "", tool.Refuse("%s%s is no output of yours", tool.OutputPrefix, name)
	}
	entries, err := h.Log.Find(ctx, run.Ref, journal.ToolReturned{In: journal.In{Agent: agent}, Call: call}.Key())
	if err != nil {
		return "", fmt.Errorf("look for the output of %s: %w", name, err)
	}
	if len(entries) > 0 {
		if row, ok := entries[0].Row.(journal.ToolReturned); ok && row.Whole != "" {
			return h.Log.Text(ctx, run.Ref, row.Whole)
		}
	}
	return "", tool.Refuse("nothing is kept as %s%s: use the path as the result has it", tool.OutputPrefix, name)
}
