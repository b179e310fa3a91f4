//go:build unix

package sabotage

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

var (
	play     = flag.Bool("sabotage", false, "break a copy of the repository in every way and run the gate's suites on it")
	unbroken = flag.Bool("unbroken", false, "run the suites on a copy that nobody broke, where they must pass")
	copies   = flag.Int("copies", 2, "how many copies are broken at the same time")
	only     = flag.String("only", "", "only breaks of this area or, if there is none, whose name contains this")
)

// TestEveryBreakFits shows, without running anything, that each break still has its place in the
// source and its suite in the gate, and that no part of the gate goes untried.
func TestEveryBreakFits(t *testing.T) {
	root := repository(t)
	names, areas := map[string]bool{}, map[string]bool{}
	for _, b := range List {
		if names[b.Name] {
			t.Errorf("%s: twice the same", b.Name)
		}
		names[b.Name], areas[b.Area] = true, true
		if !slices.Contains(Areas, b.Area) {
			t.Errorf("%s: there is no area %q", b.Name, b.Area)
		}
		if _, err := regexp.Compile(b.Says); err != nil || b.Says == "" {
			t.Errorf("%s: what the suite must say is missing or wrong: %v", b.Name, err)
		}
		if _, err := gateCommand(root, b.Suite); err != nil {
			t.Errorf("%s: %v", b.Name, err)
		}
		for _, e := range b.Edits {
			source, err := os.ReadFile(filepath.Join(root, e.File))
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(source), e.Old); n != 1 || e.Old == e.New {
				t.Errorf("%s: its place occurs %d times in %s", b.Name, n, e.File)
			}
		}
	}
	for _, area := range Areas {
		if !areas[area] {
			t.Errorf("no break tries %s", area)
		}
	}
}

// TestSabotage makes each break and prints which suite noticed.
func TestSabotage(t *testing.T) {
	if !*play {
		t.Skip("run make gate/sabotage")
	}
	breaks := chosen(t)
	var caught atomic.Int64
	free := make(chan replica, *copies)
	for i := range *copies {
		free <- newReplica(t, i+1)
	}
	t.Run("breaks", func(t *testing.T) {
		for _, b := range breaks {
			t.Run(b.Name, func(t *testing.T) {
				t.Parallel()
				c := <-free
				defer func() { free <- c }()
				began := time.Now()
				if b.noticed(t, c) {
					caught.Add(1)
					t.Logf("caught by %-15s %s (%.0f s)", b.Suite, b.Name, time.Since(began).Seconds())
				}
			})
		}
	})
	t.Logf("proof: %d caught / %d seeded", caught.Load(), len(breaks))
}

// TestUnbroken runs the suites on a copy without a break. One that fails there would notice
// anything.
func TestUnbroken(t *testing.T) {
	if !*unbroken {
		t.Skip("run with -unbroken")
	}
	c, done := newReplica(t, 1), map[string]bool{}
	for _, b := range chosen(t) {
		if done[b.Suite] {
			continue
		}
		done[b.Suite] = true
		began := time.Now()
		c.fill(t)
		if b.Program {
			c.build(t)
		}
		if out, failed := c.suite(t, b.Suite); failed {
			t.Errorf("FAILED unbroken %s\n%s", b.Suite, tail(out))
			continue
		}
		t.Logf("unbroken passes %-15s (%.0f s)", b.Suite, time.Since(began).Seconds())
	}
}

// chosen are the breaks that are asked for.
func chosen(t *testing.T) []Break {
	t.Helper()
	breaks := slices.DeleteFunc(slices.Clone(List), func(b Break) bool {
		if slices.Contains(Areas, *only) {
			return b.Area != *only
		}
		return !strings.Contains(b.Name, *only)
	})
	if len(breaks) == 0 {
		t.Fatalf("no break has the area %q, or a name with that in it", *only)
	}
	return breaks
}

// noticed makes the break and reports whether its suite fails and says why.
func (b Break) noticed(t *testing.T, c replica) bool {
	t.Helper()
	c.fill(t)
	for _, e := range b.Edits {
		c.edit(t, e)
	}
	if b.Program {
		c.build(t)
	}
	out, failed := c.suite(t, b.Suite)
	switch {
	case !failed:
		t.Errorf("NOT CAUGHT  %s: %s passes\n%s", b.Name, b.Suite, tail(out))
	case !regexp.MustCompile(b.Says).MatchString(out):
		t.Errorf("NOT CAUGHT  %s: %s fails, and does not say %q\n%s", b.Name, b.Suite, b.Says, tail(out))
	default:
		return true
	}
	return false
}

// tail is the end of what a suite said.
func tail(out string) string {
	const most = 4000
	return out[max(0, len(out)-most):]
}
