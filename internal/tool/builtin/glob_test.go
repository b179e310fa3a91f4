package builtin_test

import (
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/tool"
)

// TestNoPatternTakesLong gives the patterns that take the longest names that almost fit.
func TestNoPatternTakesLong(t *testing.T) {
	segment := strings.Repeat("a", 200)
	s := openSet(t, tree(t, map[string]string{strings.Repeat(segment+"/", 15) + segment: ""}))
	longest := time.Duration(0)
	for _, c := range []struct {
		pattern string
		refused bool
	}{
		{strings.Repeat("{a,aa}", 6) + "z", false},
		{"**/" + strings.Repeat("*{a,aa}", 6) + "/z", false},
		{"**/" + strings.Repeat("*a", 245) + "z", false},
		{"**/" + strings.Repeat("a*/**/", 80) + "z", false},
		{"**/*{" + strings.Repeat("a*,", 63) + "a*}" + strings.Repeat("*a", 100) + "z", false},
		{strings.Repeat("{a,aa}", 7) + "z", true},
		{"{" + strings.Repeat("a,", 64) + "a}", true},
		{"{a,{b,{c,{d,{e,{f,{g,h}}}}}}}", true},
		{strings.Repeat("a", 501), true},
	} {
		best := time.Hour
		for range 3 { // others use the same cores: the best of three counts
			began := time.Now()
			r := ask(t, s, "glob", quote("pattern", c.pattern))
			best = min(best, time.Since(began))
			if c.refused != (r.End == tool.EndFailed) {
				t.Fatalf("%.80s: %s %.200s", c.pattern, r.End, r.Text)
			}
		}
		t.Logf("%.80s took %s", c.pattern, best)
		longest = max(longest, best)
	}
	measure.Most(t, "tools: the pattern that takes the longest", longest, patience)
}
