package admission

import (
	"testing"
	"time"
)

func TestWidthFollowsLatency(t *testing.T) {
	l := Limits{Commands: 64, Latency: 500 * time.Millisecond}
	var w concurrency
	now := time.Unix(1, 0)
	if got := w.now(l); got != 64 {
		t.Fatalf("it begins with %d", got)
	}
	w.learn(l, now, time.Second)
	w.learn(l, now.Add(time.Millisecond), time.Second) // the same slowness is not counted twice
	if got := w.now(l); got != 51 {
		t.Errorf("%d after one slow command", got)
	}
	for range 100 {
		now = now.Add(narrowEvery)
		w.learn(l, now, time.Second)
	}
	if got := w.now(l); got != narrowest {
		t.Errorf("%d when all are slow", got)
	}
	for range 10_000 {
		w.learn(l, now, time.Millisecond)
	}
	if got := w.now(l); got != 64 {
		t.Errorf("%d when all are fast again", got)
	}
}

func TestBucketsAreBounded(t *testing.T) {
	now := time.Unix(1, 0)
	g := &gate{
		limits: Limits{CommandRate: 1, TenantCommandRate: 1}, now: func() time.Time { return now }, buckets: map[string]*bucket{},
		held: map[string]int{},
	}
	for i := range 3 * mostBuckets {
		if i%1000 == 0 {
			now = now.Add(time.Second)
		}
		if err := g.pace(KindCommand, Caller{Tenant: time.Duration(i).String(), Credential: "c"}); err != nil {
			t.Fatal(err)
		}
	}
	if len(g.buckets) > mostBuckets+1 {
		t.Errorf("%d buckets", len(g.buckets))
	}
}

func TestATenantSharesItsRate(t *testing.T) {
	now := time.Unix(1, 0)
	g := &gate{
		limits: Limits{CommandRate: 10, TenantCommandRate: 15}, now: func() time.Time { return now }, buckets: map[string]*bucket{},
		held: map[string]int{},
	}
	taken := map[string]int{}
	for range 100 {
		for _, who := range []Caller{{Tenant: "a", Credential: "1"}, {Tenant: "a", Credential: "2"}, {Tenant: "b", Credential: "1"}} {
			if g.pace(KindCommand, who) == nil {
				taken[who.Tenant+who.Credential]++
			}
		}
	}
	if taken["a1"]+taken["a2"] != 15*burstSeconds || taken["b1"] != 10*burstSeconds || taken["a1"] == 0 || taken["a2"] == 0 {
		t.Errorf("%v", taken)
	}
	now = now.Add(time.Second)
	again := 0
	for g.pace(KindCommand, Caller{Tenant: "b", Credential: "1"}) == nil {
		again++
	}
	if again != 10 {
		t.Errorf("%d after a second", again)
	}
}

// TestTimesOfKinds holds an import to its own time and not to that of a command.
func TestTimesOfKinds(t *testing.T) {
	t.Parallel()
	for k, want := range map[Kind]time.Duration{
		KindRead: commandTime, KindCommand: commandTime, KindRelease: commandTime, KindUpload: UploadTime, KindSearch: commandTime, KindLong: 0, KindStream: 0,
	} {
		if got := timeOf(k); got != want {
			t.Errorf("%s: %s, want %s", k, got, want)
		}
	}
}
