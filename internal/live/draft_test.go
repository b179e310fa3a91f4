package live_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/live"
)

// A draft meets every way in which a lossy bus can bring a part, and shows only what is certain.
func TestDraft(t *testing.T) {
	at := func(began, offset int64, text string) live.Delta {
		return live.Delta{Began: began, Offset: offset, Text: text}
	}
	steps := []struct {
		name  string
		delta live.Delta
		fit   live.Fit
		part  string
	}{
		{"first", at(1, 0, "one "), live.FitNext, "one "},
		{"next", at(1, 4, "two "), live.FitNext, "one two "},
		{"again", at(1, 4, "two "), live.FitKnown, "one two "},
		{"the very first again", at(1, 0, "one "), live.FitKnown, "one two "},
		{"after a loss", at(1, 14, "four"), live.FitGap, "one two "},
		{"overlapping", at(1, 4, "two three"), live.FitNext, "one two three"},
		{"begun again", at(2, 0, "uno "), live.FitRestart, "uno "},
		{"late, of the first beginning", at(1, 0, "one "), live.FitKnown, "uno "},
		{"begun again, its beginning lost", at(3, 5, "beta"), live.FitGap, ""},
	}
	var draft live.Draft
	for _, s := range steps {
		want := []string{string(s.fit), s.part}
		got := []string{string(draft.Add(s.delta)), draft.Part(0)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s.name, diff)
		}
	}
}
