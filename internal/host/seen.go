package host

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/tool"
)

// seenPage is how many calls are listed at a time, more than one reply has; resultPage is how many
// results are read at a time.
const (
	seenPage   = journal.PageMaxLimit
	resultPage = 50
)

// seen is the hash of a file as an agent last read or wrote it before a call; empty if it never
// did. Later calls do not count: a worker that runs a call late, because it was taken for lost,
// must not overwrite later changes.
func (h *Host) seen(ctx context.Context, run RunRef, before string, paths []string) (string, error) {
	for page := (journal.Page{Limit: seenPage}); ; {
		calls, err := h.Log.ToolCalls(ctx, run.Ref, run.Agent, page)
		if err != nil {
			return "", fmt.Errorf("read the calls of %s: %w", run.Agent, err)
		}
		var keys []string
		for _, c := range calls {
			if earlier(c.Call, before) {
				keys = append(keys, journal.ToolReturned{In: run.In(), Call: c.Call}.Key())
			}
		}
		for end := len(keys); end > 0; end -= resultPage {
			hash, err := h.lastSeen(ctx, run.Ref, keys[max(0, end-resultPage):end], paths)
			if hash != "" || err != nil {
				return hash, err
			}
		}
		if len(calls) < seenPage {
			return "", nil
		}
		page.Before = calls[0].Seq + 1 // the calls of one reply have one number, and a page may begin among them
	}
}

// lastSeen looks through results for the last fact about a file.
func (h *Host) lastSeen(ctx context.Context, ref journal.Ref, keys, paths []string) (string, error) {
	entries, err := h.Log.Find(ctx, ref, keys...)
	if err != nil {
		return "", fmt.Errorf("read results: %w", err)
	}
	var results []journal.ToolReturned
	for _, e := range entries {
		if r, ok := e.Row.(journal.ToolReturned); ok {
			results = append(results, r)
		}
	}
	slices.SortFunc(results, func(a, b journal.ToolReturned) int {
		if earlier(a.Call, b.Call) {
			return 1
		}
		return -1
	})
	for _, r := range results {
		var facts tool.Facts
		if len(r.Facts) == 0 || json.Unmarshal(r.Facts, &facts) != nil {
			continue
		}
		if hash := factAbout(facts, paths); hash != "" {
			return hash, nil
		}
	}
	return "", nil
}

// factAbout is a call's last fact about a file.
func factAbout(facts tool.Facts, paths []string) string {
	for _, f := range slices.Backward(facts.Wrote) {
		if slices.Contains(paths, f.Path) {
			return f.After
		}
	}
	for _, f := range slices.Backward(facts.Read) {
		if slices.Contains(paths, f.Path) {
			return f.Hash
		}
	}
	return ""
}

// earlier reports whether a call comes before another.
func earlier(a, b string) bool {
	turnA, itemA, okA := chat.CallID(a).Parse()
	turnB, itemB, okB := chat.CallID(b).Parse()
	return okA && okB && (turnA < turnB || turnA == turnB && itemA < itemB)
}
