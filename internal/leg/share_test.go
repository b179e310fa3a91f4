package leg

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestATenantHasItsShare has many legs of one tenant come at once, and one of another.
func TestATenantHasItsShare(t *testing.T) {
	s := newShares(4)
	var leaves []func()
	for range 4 {
		leave, ok := s.enter(t.Context(), "mallory", 0)
		if !ok {
			t.Fatal("there was room")
		}
		leaves = append(leaves, leave)
	}
	if _, ok := s.enter(t.Context(), "mallory", time.Millisecond); ok {
		t.Fatal("mallory has five places of four")
	}
	leave, ok := s.enter(t.Context(), "alice", 0)
	if !ok {
		t.Fatal("mallory has taken alice's places")
	}
	leave()
	leave() // twice is once
	came := make(chan func(), 2)
	for range 2 {
		go func() {
			leave, ok := s.enter(t.Context(), "mallory", time.Minute)
			if !ok {
				t.Error("a place that came free was not handed on")
			}
			came <- leave
		}()
	}
	for waiting := 0; waiting < 2; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		waiting = len(s.waiting["mallory"])
		s.mu.Unlock()
	}
	if _, ok := s.enter(t.Context(), "mallory", time.Minute); ok {
		t.Error("more wait than may")
	}
	leaves[0]()
	leaves[1]()
	for _, leave := range append(leaves[2:], <-came, <-came) {
		leave()
	}
	if len(s.running) > 0 || len(s.waiting) > 0 {
		t.Errorf("something is left: %v, %v", s.running, s.waiting)
	}
}

// TestTriesKeepApart has a hundred legs of one tenant give their slots back: they are tried again
// one by one, and another tenant's leg soon.
func TestTriesKeepApart(t *testing.T) {
	s, now := newShares(1), time.UnixMilli(0)
	for i := range 100 {
		if got, want := s.later("mallory", now), shareLater+time.Duration(i)*sharePace; got != want {
			t.Fatalf("leg %d is tried after %s, want %s", i, got, want)
		}
	}
	if got := s.later("alice", now); got != shareLater {
		t.Errorf("alice's is tried after %s", got)
	}
	now = now.Add(time.Hour)
	if got := s.later("alice", now); got != shareLater || len(s.next) != 1 {
		t.Errorf("an hour later it is %s, and %v is remembered", got, s.next)
	}
}

// TestSharesUnderLoad has legs come and give up at random: never more run than may, and no place is
// lost.
func TestSharesUnderLoad(t *testing.T) {
	s := newShares(3)
	var now, most, ran atomic.Int64
	var all sync.WaitGroup
	for n := range 200 {
		all.Go(func() {
			leave, ok := s.enter(t.Context(), "t", time.Duration(n%5)*time.Millisecond)
			if !ok {
				return
			}
			for at := now.Add(1); at > most.Load(); at = now.Load() {
				most.Store(at)
			}
			time.Sleep(time.Millisecond)
			ran.Add(1)
			now.Add(-1)
			leave()
		})
	}
	all.Wait()
	if most.Load() > 3 || ran.Load() < 3 || len(s.running) > 0 || len(s.waiting) > 0 {
		t.Errorf("%d at once of 3, %d ran, left: %v, %v", most.Load(), ran.Load(), s.running, s.waiting)
	}
}
