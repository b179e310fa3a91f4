package admission

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// TestSearchesRestBesideOthers has one tenant search without end. Alone it may. Beside another
// tenant its searches take an eighth of the time, and the other's are not refused.
func TestSearchesRestBesideOthers(t *testing.T) {
	t.Parallel()
	const took = 50 * time.Millisecond
	now := time.Unix(1_000_000, 0)
	g := &gate{limits: Limits{TenantSearches: 4}, now: func() time.Time { return now }, held: map[string]int{}}
	search := func(tenant string) bool {
		leave, err := g.enter(KindSearch, Caller{Tenant: tenant}, "")
		if problem, ok := errors.AsType[*Problem](err); ok && (problem.Code != "limit" || problem.Wait <= 0) {
			t.Errorf("it is refused with %+v", problem)
		}
		if err != nil {
			now = now.Add(10 * time.Millisecond)
			return false
		}
		now = now.Add(took)
		leave()
		return true
	}
	for i := range 1000 {
		if !search("loud") {
			t.Fatalf("search %d was refused, and nobody else was there", i)
		}
	}
	now = now.Add(time.Hour)
	const steps, long = 6000, 5 // of 10 ms, and how many of them a search takes
	served := 0
	for step := 0; step < steps; {
		if step%500 < 10 && !search("quiet") {
			t.Fatal("the other tenant is refused")
		}
		if step++; search("loud") {
			served, step = served+1, step+long-1
		}
	}
	if part := served * long * 100 / steps; part > 18 || part < 9 {
		t.Errorf("its searches take %d %% of the time", part)
	}
}

// TestImportsRestBesideOthers has an import work for a second, alone, beside another tenant, and
// while the journal is slow.
func TestImportsRestBesideOthers(t *testing.T) {
	t.Parallel()
	now, slow := time.Unix(1_000_000, 0), 0
	g := &gate{now: func() time.Time { return now }, held: map[string]int{}}
	g.pressed = func(string) (string, time.Duration) {
		if slow == 0 {
			return "", 0
		}
		slow--
		return "slow", time.Second
	}
	d := &Guard{gate: g, options: Options{Now: g.now}}
	rest := func() (pauses []time.Duration) {
		work := d.Rester("loud")
		work.sleep = func(_ context.Context, pause time.Duration) error {
			pauses = append(pauses, pause)
			return nil
		}
		now = now.Add(importWork)
		if err := work.Rest(t.Context()); err != nil {
			t.Fatal(err)
		}
		return pauses
	}
	leave, err := g.enter(KindUpload, Caller{Tenant: "loud"}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	slow = 2
	for _, want := range [][]time.Duration{{importPause, importPause, 0}, {0}, {importRest * importWork}} {
		if got := rest(); !slices.Equal(got, want) {
			t.Errorf("it rests %v, want %v", got, want)
		}
		if len(want) == 1 {
			g.others.saw("quiet", now)
		}
	}
	if g.others.there("quiet", now.Add(othersFor)) || g.others.there("loud", now.Add(othersFor)) {
		t.Error("who asked long ago counts as there")
	}
	watch, err := g.enter(KindStream, Caller{Tenant: "quiet"}, "")
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(2 * othersFor)
	if !g.beside("loud", now) || g.beside("quiet", now) {
		t.Error("who watches a stream does not count as there, or counts as there beside themselves")
	}
	watch()
	if g.beside("loud", now) {
		t.Error("who watched a stream counts as there")
	}
}
