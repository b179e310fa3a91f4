//go:build services

package overload

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/journal/postgres/postgrestest"
)

const (
	// lookEvery is how often the test commits a row of its own and looks at the clock, and stillFor how
	// much later than before it may be then. More means that the machine, or its disk, stood still.
	lookEvery = 50 * time.Millisecond
	stillFor  = 500 * time.Millisecond
	// catchingUp is how long the effect lasts: the requests of the pause are sent at once.
	catchingUp = time.Second
)

// span is a time.
type span struct{ from, to time.Time }

// mind commits a row again and again until it is told to stop, and then says when the machine stood
// still. The row is in a database of its own: only the machine can delay it, not the server.
func mind(t *testing.T, d postgrestest.Database) (stop func() []span) {
	t.Helper()
	ctx, commit := context.WithoutCancel(t.Context()), d.Commits(t)
	quit, found := make(chan struct{}), make(chan []span)
	go func() {
		ticker := time.NewTicker(lookEvery)
		defer ticker.Stop()
		var still []span
		for last := time.Now(); ; {
			select {
			case <-quit:
				found <- still
				return
			case <-ticker.C:
			}
			if err := commit(ctx); err != nil {
				t.Error(err)
			}
			now := time.Now()
			if now.After(last.Add(stillFor)) {
				still = append(still, span{last, now})
			}
			last = now
		}
	}()
	return func() []span { close(quit); return <-found }
}

// TestAMachineThatStandsStillIsSeen holds up the row that is committed, as a disk would.
func TestAMachineThatStandsStillIsSeen(t *testing.T) {
	d := postgrestest.New(t)
	stop := mind(t, d)
	if err := d.HoldUp(t.Context(), 6*stillFor); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * lookEvery)
	if !slices.ContainsFunc(stop(), func(x span) bool { return x.to.After(x.from.Add(2 * stillFor)) }) {
		t.Error("the machine stood still, and nobody noticed")
	}
}

// measurable leaves out requests under way when the machine stood still: they do not show whether
// the server was slow.
func measurable(list []sent, still []span) []sent {
	return slices.DeleteFunc(slices.Clone(list), func(s sent) bool {
		return slices.ContainsFunc(still, func(x span) bool {
			return s.at.Before(x.to.Add(catchingUp)) && s.at.Add(s.took).After(x.from)
		})
	})
}

// TestOnlyWhatTheMachineHeldUpIsNotMeasured sends before, through and after a time in which the
// machine stood still.
func TestOnlyWhatTheMachineHeldUpIsNotMeasured(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(0, 0).Add(time.Duration(seconds) * time.Second) }
	still := []span{{at(10), at(12)}}
	var list []sent
	for _, s := range [][2]int{{1, 2}, {8, 9}, {9, 11}, {11, 11}, {12, 13}, {14, 19}} {
		list = append(list, sent{at: at(s[0]), took: at(s[1]).Sub(at(s[0]))})
	}
	got := measurable(list, still)
	want := []time.Time{at(1), at(8), at(14)}
	if !slices.EqualFunc(got, want, func(s sent, t time.Time) bool { return s.at.Equal(t) }) {
		t.Errorf("measured are %v", got)
	}
}
