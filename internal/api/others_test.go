package api

import (
	"errors"
	"testing"
	"time"
)

// TestSearchesRestBesideOthers has one tenant search without end. Alone it may. Beside another tenant its searches take a
// quarter of the time, and the other's are not refused.
func TestSearchesRestBesideOthers(t *testing.T) {
	t.Parallel()
	const took = 50 * time.Millisecond
	now := time.Unix(1_000_000, 0)
	g := &gate{limits: Limits{TenantSearches: 4}, now: func() time.Time { return now }, held: map[string]int{}}
	search := func(tenant string) bool {
		leave, err := g.enter(kindSearch, Caller{Tenant: tenant}, "")
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
	began, served := now, 0
	for now.Sub(began) < time.Minute {
		if now.Sub(began)/time.Second%5 == 0 {
			if !search("quiet") {
				t.Fatal("the other tenant is refused")
			}
		}
		if search("loud") {
			served++
		}
	}
	if share := float64(served) * took.Seconds() / now.Sub(began).Seconds(); share > 0.3 || share < 0.2 {
		t.Errorf("its searches take %.2f of the time", share)
	}
}

// TestImportsRestBesideOthers has an import work for a second, alone, beside another tenant, and while the journal is slow.
func TestImportsRestBesideOthers(t *testing.T) {
	t.Parallel()
	now, slow := time.Unix(1_000_000, 0), 0
	g := &gate{now: func() time.Time { return now }, held: map[string]int{}}
	g.pressed = func() (string, time.Duration) {
		if slow == 0 {
			return "", 0
		}
		slow--
		return "slow", time.Second
	}
	s := &Server{gate: g, options: Options{Now: g.now}}
	rest := func() time.Duration {
		work := s.newRester("loud")
		now = now.Add(importWork)
		began := time.Now()
		if err := work.rest(t.Context()); err != nil {
			t.Fatal(err)
		}
		return time.Since(began)
	}
	leave, err := g.enter(kindUpload, Caller{Tenant: "loud"}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	if slow = 2; rest() < 2*importPause || slow != 0 {
		t.Error("it does not wait while the journal is slow")
	}
	g.others.saw("quiet", now)
	if rest() < importRest*importWork {
		t.Error("it does not rest beside another tenant")
	}
	if g.others.there("quiet", now.Add(othersFor)) || g.others.there("loud", now.Add(othersFor)) {
		t.Error("who asked long ago counts as there")
	}
}
