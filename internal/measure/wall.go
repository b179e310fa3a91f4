package measure

import "testing"

// Wall counts the attacks of one test on one item of docs/walls.md.
type Wall struct {
	t                   testing.TB
	item                string
	attempts, succeeded int
}

// NewWall begins to count. When the test has ended, the counts are a figure, by which make walls
// finds them.
func NewWall(t testing.TB, item string) *Wall {
	t.Helper()
	w := &Wall{t: t, item: item}
	t.Cleanup(func() { Figure(t, "walls %s: %d attempts, %d succeeded", w.item, w.attempts, w.succeeded) })
	return w
}

// Try counts one attack that was made, and fails the test if it succeeded. It is for the goroutine
// of the test.
func (w *Wall) Try(succeeded bool, format string, args ...any) {
	w.t.Helper()
	w.attempts++
	if succeeded {
		w.succeeded++
		w.t.Errorf("an attack succeeded: "+format, args...)
	}
}
