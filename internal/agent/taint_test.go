package agent_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/retinue-dev/retinue/internal/agent"
)

// TestTaintOnlyGrows adds random sources to each other: no listed source is ever lost or listed
// twice, the order is fixed, the size is bounded, and the note about further sources stays.
//
// Covers: P25.
func TestTaintOnlyGrows(t *testing.T) {
	t.Parallel()
	source := rapid.Custom(func(t *rapid.T) agent.Source {
		return agent.Source{
			Kind: rapid.SampledFrom([]agent.SourceKind{
				agent.SourceWeb, agent.SourceMCP, agent.SourceFile, agent.SourceAgent, agent.SourceMore,
			}).Draw(t, "kind"),
			Name: strings.Repeat(rapid.StringMatching(`[a-d€]`).Draw(t, "letter"), rapid.IntRange(1, 70).Draw(t, "length")),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		var taint agent.Taint
		for range rapid.IntRange(1, 12).Draw(t, "times") {
			more := agent.Taint(rapid.SliceOfN(source, 0, 4).Draw(t, "sources"))
			next := taint.With(more)
			for _, s := range taint {
				if !slices.Contains(next, s) {
					t.Fatalf("%v was lost: %v and %v gave %v", s, taint, more, next)
				}
			}
			if (len(taint)+len(more) > 0) != (len(next) > 0) {
				t.Fatalf("%v and %v gave %v", taint, more, next)
			}
			if body, _ := json.Marshal(next); len(body) > 1024 {
				t.Fatalf("%d bytes: %s", len(body), body)
			}
			if again := next.With(next).With(more); !slices.Equal(again, next) && len(again) <= len(next) {
				t.Fatalf("%v again gave %v", next, again)
			}
			taint = next
		}
	})
}
