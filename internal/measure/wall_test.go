package measure_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/measure"
)

// ending is a pretended test that can end.
type ending struct {
	pretended
	last func()
}

func (e *ending) Cleanup(f func()) { e.last = f }

func TestAWallCounts(t *testing.T) {
	e := &ending{}
	w := measure.NewWall(e, "1.6")
	w.Try(false, "never said")
	w.Try(true, "by %s", "a link")
	w.Try(false, "never said")
	e.last()
	want := []string{"error: an attack succeeded: by a link", "log: proof: walls 1.6: 3 attempts, 1 succeeded"}
	if diff := cmp.Diff(want, e.did); diff != "" {
		t.Error(diff)
	}
}
