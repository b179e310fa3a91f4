package measure_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/measure"
)

// pretended is a test that only records the calls to it.
type pretended struct {
	testing.TB
	did []string
}

func (*pretended) Helper()                   {}
func (p *pretended) Log(a ...any)            { p.did = append(p.did, "log: "+fmt.Sprint(a...)) }
func (p *pretended) Logf(f string, a ...any) { p.did = append(p.did, "log: "+fmt.Sprintf(f, a...)) }

func (p *pretended) Errorf(f string, a ...any) { p.did = append(p.did, "error: "+fmt.Sprintf(f, a...)) }

func TestFigures(t *testing.T) {
	for name, c := range map[string]struct {
		do      func(t testing.TB)
		off, on string
	}{
		"a bound held": {
			do:  func(t testing.TB) { measure.Most(t, "it took", time.Second, 2*time.Second) },
			off: "log: proof: it took: 1s, at most 2s",
			on:  "log: proof: it took: 1s, at most 2s",
		},
		"a bound met": {
			do:  func(t testing.TB) { measure.Most(t, "MiB", 7, 7) },
			off: "log: proof: MiB: 7, at most 7",
			on:  "log: proof: MiB: 7, at most 7",
		},
		"a bound missed": {
			do:  func(t testing.TB) { measure.Most(t, "it took", 3*time.Second, 2*time.Second) },
			off: "log: proof: it took: 3s, at most 2s: missed, and not counted here",
			on:  "error: proof: it took: 3s, at most 2s: missed",
		},
		"a ratio missed": {
			do:  func(t testing.TB) { measure.Most(t, "ratio", 5.0/3, 1.5) },
			off: "log: proof: ratio: 1.667, at most 1.5: missed, and not counted here",
			on:  "error: proof: ratio: 1.667, at most 1.5: missed",
		},
		"digits": {
			do:  func(t testing.TB) { measure.Most(t, "d", 1234567890*time.Nanosecond, 2*time.Minute) },
			off: "log: proof: d: 1.23s, at most 2m0s",
			on:  "log: proof: d: 1.23s, at most 2m0s",
		},
		"a large number": {
			do:  func(t testing.TB) { measure.Most(t, "n", 1234567.8, 2e6) },
			off: "log: proof: n: 1234568, at most 2000000",
			on:  "log: proof: n: 1234568, at most 2000000",
		},
		"waited long enough": {
			do:  func(t testing.TB) { measure.Least(t, "waited", time.Second, time.Second) },
			off: "log: proof: waited: 1s, at least 1s",
			on:  "log: proof: waited: 1s, at least 1s",
		},
		"did not wait": {
			do:  func(t testing.TB) { measure.Least(t, "waited", 0, time.Second) },
			off: "error: proof: waited: 0s, at least 1s: missed",
			on:  "error: proof: waited: 0s, at least 1s: missed",
		},
		"something met": {
			do: func(t testing.TB) { measure.Met(t, true, "a lost task") },
		},
		"nothing met": {
			do:  func(t testing.TB) { measure.Met(t, false, "a lost task") },
			off: "log: proof: a lost task: not met, and not counted here",
			on:  "error: proof: a lost task: not met, so this run shows nothing of it",
		},
		"a closing line": {
			do:  func(t testing.TB) { measure.Figure(t, "%d requests, %d leaks", 3, 0) },
			off: "log: proof: 3 requests, 0 leaks",
			on:  "log: proof: 3 requests, 0 leaks",
		},
	} {
		for value, want := range map[string]string{"": c.off, "0": c.off, "1": c.on} {
			t.Run(name+" "+value, func(t *testing.T) {
				t.Setenv(measure.Variable, value)
				p := &pretended{TB: t}
				c.do(p)
				if diff := cmp.Diff(want, strings.Join(p.did, "\n")); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}
