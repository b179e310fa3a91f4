package shell

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestMarksTellOfTheDead leaves the marks of commands that ended in every way, and looks at what
// the next one tells.
func TestMarksTellOfTheDead(t *testing.T) {
	dir, began := t.TempDir(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	leave := func() *mark {
		t.Helper()
		m, err := leaveMark(dir, began)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	ended, runs, killed, died := leave(), leave(), leave(), leave()
	ended.remove()
	killed.leave(began, began.Add(7500*time.Millisecond))
	if err := died.file.Close(); err != nil { // as the kernel does for a process that is gone
		t.Fatal(err)
	}
	next := leave()
	for _, want := range []string{
		"at 2026-01-02T03:04:05Z was given up because its worker was out of sight, and killed 7.5 seconds after it began",
		"at 2026-01-02T03:04:05Z ended with its worker, which was lost",
	} {
		if !strings.Contains(next.told(), want) {
			t.Errorf("%q is not told: %s", want, next.told())
		}
	}
	if n := len(next.cut); n != 2 {
		t.Errorf("%d commands were cut off, want 2: %s", n, next.told())
	}
	next.leave(began, began) // it is given up itself, so that nobody has read it
	if again := leave(); len(again.cut) != 3 {
		t.Errorf("the next one tells of %d", len(again.cut))
	} else {
		again.remove()
	}
	last := leave()
	if last.told() != "" {
		t.Errorf("told once more: %s", last.told())
	}
	last.remove()
	runs.remove()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}
