package app

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/journal"
)

// TestATenantsPressureIsItsOwn has one tenant whose appends take long, and who left much to the
// engine. It is refused, and another is not, until the journal stands still.
func TestATenantsPressureIsItsOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPressure(config.ServeLimits{Delay: 2000, Backlog: 10})
		want := func(when string, refused ...string) {
			t.Helper()
			for _, tenant := range []string{"loud", "quiet", ""} {
				if why, wait := p.pressed(tenant); wait > 0 != slices.Contains(refused, tenant) {
					t.Errorf("%s, %q is told %q, and to wait for %v", when, tenant, why, wait)
				}
			}
		}
		want("with nothing under way")
		slow := p.begin("loud")
		time.Sleep(time.Second)
		quick := p.begin("quiet")
		want("after a second")
		time.Sleep(2 * time.Second)
		quick(nil)
		want("after three", "loud", "")
		time.Sleep(8 * time.Second)
		want("after eleven", "loud", "quiet", "")
		slow(nil)
		want("when it has ended")

		posts := func(of map[string]int) (out []journal.Post) {
			for tenant, n := range of {
				for range n {
					out = append(out, journal.Post{Ref: journal.Ref{Tenant: tenant}})
				}
			}
			return out
		}
		p.count(posts(map[string]int{"loud": 8, "quiet": 1}))
		want("with few posts")
		p.count(posts(map[string]int{"loud": 20, "quiet": 1}))
		want("with many of one", "loud", "")
		p.count(posts(map[string]int{"loud": 20, "quiet": 20}))
		want("with many of both", "loud", "quiet", "")
	})
}
