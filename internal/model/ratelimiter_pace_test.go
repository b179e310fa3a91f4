package model

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/chat"
)

var (
	t0          = time.Unix(1_000_000, 0)
	limited     = &Error{Kind: chat.KindRateLimit}
	unavailable = &Error{Kind: chat.KindServerError}
)

func testPace(o RateLimiterOptions) *pace {
	o.Chance = rand.New(rand.NewPCG(3, 5))
	p := newPace(o.withDefaults())
	return &p
}

func asking(kind chat.ErrorKind, after time.Duration) *Error {
	return &Error{Kind: kind, RetryAfter: after}
}

// Any pause below the bound is as likely as any other, and the bound doubles up to a minute.
func TestPausesHaveFullJitter(t *testing.T) {
	for trouble, bound := range []time.Duration{
		time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second,
		32 * time.Second, time.Minute, time.Minute,
	} {
		p := testPace(RateLimiterOptions{})
		const draws = 2000
		shortest, longest, sum := bound, time.Duration(0), time.Duration(0)
		for range draws {
			p.trouble, p.pause = trouble, time.Time{}
			p.settle(t0, p.send(t0), limited, false)
			pause := p.pause.Sub(t0)
			shortest, longest, sum = min(shortest, pause), max(longest, pause), sum+pause
		}
		mean := float64(sum) / draws / float64(bound)
		if shortest > bound/50 || longest < bound*49/50 || longest >= bound || mean < 0.45 || mean > 0.55 { // not a bound: the pace is told the time
			t.Errorf("after %d failures pauses go from %s to %s, %.2f of %s on average", trouble+1,
				shortest, longest, mean, bound)
		}
	}
}

// One burst that is refused halves the rate once; so does a storm in which nothing succeeds.
func TestABurstIsOneFailure(t *testing.T) {
	p := testPace(RateLimiterOptions{Rate: 8})
	var burst []int
	for range 10 {
		burst = append(burst, p.send(t0))
	}
	for _, epoch := range burst {
		p.settle(t0, epoch, limited, true)
	}
	if p.rate != 4 || p.trouble != 1 {
		t.Errorf("after a burst the rate is %.1f and trouble %d, want 4 and 1", p.rate, p.trouble)
	}
	for range 10 {
		p.settle(t0, p.send(t0), limited, true)
	}
	if p.rate != 4 || p.trouble != 11 {
		t.Errorf("after a storm the rate is %.1f and trouble %d, want 4 and 11", p.rate, p.trouble)
	}
}

// A success from before a slowing says nothing about the time after it.
func TestOldSuccessChangesNothing(t *testing.T) {
	p := testPace(RateLimiterOptions{Concurrency: 8})
	old := p.send(t0)
	p.settle(t0, p.send(t0), limited, true)
	p.settle(t0, old, nil, true)
	if p.trouble != 1 || p.width != 1 || p.busy != 0 {
		t.Errorf("trouble %d, width %d, busy %d after an old success", p.trouble, p.width, p.busy)
	}
	probe := p.send(p.pause)
	if at, why := p.next(p.pause.Add(time.Hour)); !at.IsZero() || why != WhyProbe {
		t.Errorf("while a probe is out the next waits until %s for %q", at, why)
	}
	p.settle(p.pause, probe, nil, true)
	if p.trouble != 0 || p.width != 2 {
		t.Errorf("trouble %d, width %d after the probe's success", p.trouble, p.width)
	}
}

// A rate that was halved is back after a minute in which requests waited for it, never above what
// was configured, and does not grow while no request waits.
func TestRateRecovers(t *testing.T) {
	for _, test := range []struct {
		name    string
		crowded bool
		seconds float64
		want    float64
	}{
		{"half way", true, 30, 7.5},
		{"all the way", true, 61, 10},
		{"not further", true, 300, 10},
		{"nobody waits", false, 300, 5},
	} {
		p := testPace(RateLimiterOptions{Rate: 10})
		p.settle(t0, p.send(t0), limited, true)
		for passed := 0.0; passed < test.seconds; passed += 1 / p.rate {
			p.settle(t0, p.send(t0), nil, test.crowded)
		}
		if math.Abs(p.rate-test.want) > 0.1 || p.rate > 10 {
			t.Errorf("%s: the rate is %.2f, want %.2f", test.name, p.rate, test.want)
		}
	}
}

// A later answer may ask for more quiet, never for less.
func TestLongestQuietCounts(t *testing.T) {
	p := testPace(RateLimiterOptions{})
	burst := []int{p.send(t0), p.send(t0), p.send(t0)}
	for i, after := range []time.Duration{10, 40, 5} {
		p.settle(t0, burst[i], asking(chat.KindRateLimit, after*time.Second), true)
	}
	if at, why := p.next(t0); at.Sub(t0) != 40*time.Second || why != WhyAsked {
		t.Errorf("quiet for %s (%s), want 40 s", at.Sub(t0), why)
	}
}

// A server that fails and says for how long is left alone at once; one that only fails, after a few
// failures in a row, and an answer of any other kind breaks the row.
func TestServerErrors(t *testing.T) {
	overloaded := asking(chat.KindServerError, 9*time.Second)
	invalid := &Error{Kind: chat.KindInvalidRequest}
	for _, test := range []struct {
		name   string
		ends   []error
		paused bool
	}{
		{"two", []error{unavailable, unavailable}, false},
		{"three", []error{unavailable, unavailable, unavailable}, true},
		{"broken by success", []error{unavailable, unavailable, nil, unavailable}, false},
		{"broken by an answer", []error{unavailable, unavailable, invalid, unavailable}, false},
		{"one that asks for quiet", []error{overloaded}, true},
	} {
		p := testPace(RateLimiterOptions{Failures: 3})
		for _, end := range test.ends {
			p.settle(t0, p.send(t0), end, true)
		}
		if paused := p.pause.After(t0); paused != test.paused {
			t.Errorf("%s: paused is %t", test.name, paused)
		}
	}
}

// While a server fails, requests go at distances that are drawn.
func TestRandomDistancesAfterServerErrors(t *testing.T) {
	p := testPace(RateLimiterOptions{Rate: 1000})
	p.settle(t0, p.send(t0), unavailable, true)
	gaps := map[time.Duration]bool{}
	for range 10 {
		p.send(t0)
		gaps[p.free.Sub(t0)] = true
	}
	if len(gaps) < 9 {
		t.Errorf("only %d different gaps of 10", len(gaps))
	}
}

// A waiter that gives up in the moment of being let out gives the place back, and a queue that has
// emptied remembers nobody.
func TestLeavingNothingBehind(t *testing.T) {
	g := NewRateLimiter(nil, RateLimiterOptions{Concurrency: 1})
	out, in := &waiter{}, &waiter{}
	g.join(out)
	g.join(in)
	g.leave(out)
	g.leave(in)
	if g.pace.busy != 0 || len(g.queue) != 0 || len(g.turns) != 0 || g.timer != nil {
		t.Errorf("busy %d, queue %v, turns %v, timer %v", g.pace.busy, g.queue, g.turns, g.timer)
	}
}
