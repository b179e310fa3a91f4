package model_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/model"
)

// seeded is chance that a failed test can be repeated with.
func seeded() *rand.Rand { return rand.New(rand.NewPCG(7, 11)) }

func from(agent string) model.Request {
	return model.Request{
		Model:  "m",
		Caller: model.Caller{Tenant: "t", Conversation: "c/" + agent, Agent: agent},
	}
}

// callAll has so many callers send so many requests each, and returns how many failed.
func callAll(t *testing.T, client model.Client, callers, each int) (failed int) {
	t.Helper()
	var all sync.WaitGroup
	failures := make(chan error, callers*each)
	for i := range callers {
		all.Go(func() {
			for range each {
				if _, err := client.Generate(t.Context(), from(fmt.Sprint(i)), nil); err != nil {
					failures <- err
				}
			}
		})
	}
	all.Wait()
	close(failures)
	for err := range failures {
		failed++
		if failed == 1 {
			t.Log("the first failure:", err)
		}
	}
	return failed
}

func TestFiftyCallersOnFiveRequestsPerSecond(t *testing.T) {
	for _, test := range []struct {
		name  string
		rate  float64
		allow float64 // share of requests that may be told to slow down
	}{
		{"told the rate", 5, 0},
		{"told too high a rate", 50, 0.02},
		{"learning the rate", 0, 0.02},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newProvider(t, perSecond(5))
				g := model.NewRateLimiter(p, model.RateLimiterOptions{Rate: test.rate, Chance: seeded()})
				began := time.Now()
				failed := callAll(t, g, 50, 20)
				sent, refused := len(p.seen()), p.count(http.StatusTooManyRequests)
				t.Logf("%d failed; %d of %d requests (%.2f %%) were told to slow down; %s, %.2f/s", failed,
					refused, sent, 100*float64(refused)/float64(sent), time.Since(began),
					1000/time.Since(began).Seconds())
				if failed > 0 {
					t.Errorf("%d failed", failed)
				}
				if float64(refused) > test.allow*float64(sent) {
					t.Errorf("%d of %d were told to slow down", refused, sent)
				}
				if time.Since(began) > 400*time.Second {
					t.Errorf("it took %s, at 5 a second it would be 200 s", time.Since(began))
				}
			})
		})
	}
}

// Processes that share a key know nothing of each other, and share it fairly all the same.
func TestTwoRateLimitersOfOneKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(t, perSecond(5))
		var both sync.WaitGroup
		var ended [2]time.Duration
		began := time.Now()
		for i := range ended {
			chance := rand.New(rand.NewPCG(7, uint64(i)))
			g := model.NewRateLimiter(p, model.RateLimiterOptions{Chance: chance})
			both.Go(func() {
				if failed := callAll(t, g, 25, 20); failed > 0 {
					t.Errorf("%d failed", failed)
				}
				ended[i] = time.Since(began)
			})
		}
		both.Wait()
		sent, refused := len(p.seen()), p.count(http.StatusTooManyRequests)
		t.Logf("%d of %d requests (%.2f %%) were told to slow down; they ended after %s", refused, sent,
			100*float64(refused)/float64(sent), ended)
		if refused > sent*3/100 {
			t.Errorf("%d of %d were told to slow down", refused, sent)
		}
		if quick, slow := min(ended[0], ended[1]), max(ended[0], ended[1]); slow > quick*3/2 {
			t.Errorf("one ended after %s, the other after %s", quick, slow)
		}
	})
}

// Over a real network and the real clock, short.
func TestOverTheNetwork(t *testing.T) {
	p := &provider{answer: perSecond(40)}
	server := httptest.NewServer(p)
	defer server.Close()
	p.http, p.url = server.Client(), server.URL
	g := model.NewRateLimiter(p, model.RateLimiterOptions{Rate: 30})
	if failed := callAll(t, g, 30, 1); failed > 0 || len(p.seen()) < 30 {
		t.Errorf("%d failed, %d arrived", failed, len(p.seen()))
	}
}

// For five minutes the provider asks every request to slow down, without saying for how long. No
// request fails, none hammers, no two come at once, and the queue says why they wait.
func TestStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const storm, callers = 5 * time.Minute, 16
		began := time.Now()
		p := newProvider(t, func(a arrival) (int, string) {
			if a.At.Sub(began) < storm {
				return http.StatusTooManyRequests, ""
			}
			return http.StatusOK, ""
		})
		g := model.NewRateLimiter(p, model.RateLimiterOptions{Chance: seeded()})
		go func() {
			time.Sleep(storm / 2)
			queue := g.Queue()
			if len(queue) != callers {
				t.Errorf("%d in the queue, want all %d", len(queue), callers)
			}
			for _, w := range queue {
				if w.Why != model.WhyBackoff || !w.Until.After(time.Now()) || w.Since != began {
					t.Errorf("the queue says %+v", w)
				}
			}
		}()
		if failed := callAll(t, g, callers, 1); failed > 0 {
			t.Errorf("%d failed", failed)
		}
		arrivals := p.seen()
		gaps := map[time.Duration]bool{}
		for i := 1; i < len(arrivals); i++ {
			gap := arrivals[i].At.Sub(arrivals[i-1].At)
			if gap <= 0 {
				t.Errorf("requests %d and %d came together", i-1, i)
			}
			gaps[gap] = true
		}
		refused := p.count(http.StatusTooManyRequests)
		t.Logf("%d requests, %d of them in the storm, %d different gaps", len(arrivals), refused, len(gaps))
		if refused > 30 {
			t.Errorf("%d requests in a storm of %s", refused, storm)
		}
		if len(gaps) < refused-2 {
			t.Errorf("only %d different gaps between %d requests: they keep step", len(gaps), refused)
		}
	})
}

// Callers that fail together come back together, as the core's retries do, since they are without
// chance. They must not arrive together.
func TestNoLockStepAfterServerErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const callers = 16
		began := time.Now()
		p := newProvider(t, func(a arrival) (int, string) {
			if a.At.Sub(began) < 20*time.Second {
				return http.StatusServiceUnavailable, ""
			}
			return http.StatusOK, ""
		})
		g := model.NewRateLimiter(p, model.RateLimiterOptions{Chance: seeded()})
		var all sync.WaitGroup
		for i := range callers {
			all.Go(func() {
				for wait := time.Second; ; wait *= 2 {
					_, err := g.Generate(t.Context(), from(fmt.Sprint(i)), nil)
					if err == nil {
						return
					}
					time.Sleep(wait)
				}
			})
		}
		all.Wait()
		arrivals := p.seen()
		for i := 1; i < len(arrivals); i++ {
			if !arrivals[i].At.After(arrivals[i-1].At) {
				t.Errorf("requests %d and %d came together, %s after the start", i-1, i,
					arrivals[i].At.Sub(began))
			}
		}
		t.Logf("%d requests until all %d had succeeded", len(arrivals), callers)
		if most := 3 * callers; len(arrivals) > most {
			t.Errorf("%d requests, want at most %d", len(arrivals), most)
		}
	})
}

// A wait that the provider asks for holds for the whole key, in seconds or as a date.
func TestRetryAfterHoldsForTheKey(t *testing.T) {
	for _, form := range []string{"seconds", "date"} {
		t.Run(form, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				p := newProvider(t, func(a arrival) (int, string) {
					if a.At.Sub(began) >= 30*time.Second {
						return http.StatusOK, ""
					}
					if form == "date" {
						return http.StatusTooManyRequests, began.Add(30 * time.Second).UTC().Format(http.TimeFormat)
					}
					return http.StatusTooManyRequests, "30"
				})
				g := model.NewRateLimiter(p, model.RateLimiterOptions{Chance: seeded()})
				var all sync.WaitGroup
				all.Go(func() {
					reply, err := g.Generate(t.Context(), from("a"), nil)
					if err != nil || reply.Waited < 30*time.Second || len(reply.Tries) != 1 {
						t.Errorf("waited %s, tries %v, error %v", reply.Waited, reply.Tries, err)
					}
				})
				synctest.Wait()
				all.Go(func() {
					time.Sleep(10 * time.Second)
					reply, err := g.Generate(t.Context(), from("b"), nil)
					if err != nil || reply.Waited < 20*time.Second || len(reply.Tries) != 0 {
						t.Errorf("waited %s, tries %v, error %v", reply.Waited, reply.Tries, err)
					}
				})
				time.Sleep(15 * time.Second)
				for _, w := range g.Queue() {
					if w.Why != model.WhyAsked || w.Until.Sub(began) < 30*time.Second {
						t.Errorf("the queue says %+v", w)
					}
				}
				all.Wait()
				if p.count(http.StatusTooManyRequests) != 1 || p.count(http.StatusOK) != 2 {
					t.Errorf("arrivals were %+v", p.seen())
				}
			})
		})
	}
}

// A wait that outlasts patience is the core's: it has a timer that survives a restart.
func TestLongWaitsGoToTheCore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(t, func(arrival) (int, string) { return http.StatusTooManyRequests, "3600" })
		g := model.NewRateLimiter(p, model.RateLimiterOptions{Concurrency: 1, Chance: seeded()})
		began := time.Now()
		var all sync.WaitGroup
		for i := range 3 {
			all.Go(func() {
				_, err := g.Generate(t.Context(), from(fmt.Sprint(i)), nil)
				var failure *model.Error
				if !errors.As(err, &failure) || failure.Kind != chat.KindRateLimit ||
					failure.RetryAfter < time.Hour || failure.Waited > 0 {
					t.Errorf("got %+v", err)
				}
			})
		}
		all.Wait()
		if passed := time.Since(began); passed > 0 || len(p.seen()) != 1 || len(g.Queue()) > 0 {
			t.Errorf("after %s %d were sent, and the queue is %v", passed, len(p.seen()), g.Queue())
		}
	})
}

// Patience ends also without anybody asking for it.
func TestPatienceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(t, ok)
		p.takes = func(arrival) time.Duration { return time.Hour }
		g := model.NewRateLimiter(p, model.RateLimiterOptions{Concurrency: 1, Patience: time.Minute})
		ctx, cancel := context.WithCancel(t.Context())
		var first sync.WaitGroup
		first.Go(func() { _, _ = g.Generate(ctx, from("a"), nil) })
		synctest.Wait()
		_, err := g.Generate(t.Context(), from("b"), nil)
		var failure *model.Error
		if !errors.As(err, &failure) || failure.Kind != chat.KindRateLimit || failure.Waited != time.Minute {
			t.Errorf("got %+v", err)
		}
		cancel()
		first.Wait()
		if len(g.Queue()) > 0 {
			t.Errorf("the queue is %v", g.Queue())
		}
	})
}

// Only rate_limit is absorbed; attempts at that are limited too.
func TestWhoTriesAgain(t *testing.T) {
	for _, test := range []struct {
		status, sent int
		kind         chat.ErrorKind
	}{
		{http.StatusTooManyRequests, 4, chat.KindRateLimit},
		{http.StatusServiceUnavailable, 1, chat.KindServerError},
		{http.StatusBadRequest, 1, chat.KindInvalidRequest},
	} {
		t.Run(string(test.kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newProvider(t, func(arrival) (int, string) { return test.status, "" })
				g := model.NewRateLimiter(p, model.RateLimiterOptions{Attempts: 4, Chance: seeded()})
				_, err := g.Generate(t.Context(), from("a"), nil)
				var failure *model.Error
				if !errors.As(err, &failure) || failure.Kind != test.kind {
					t.Fatalf("got %v, want %s", err, test.kind)
				}
				if len(p.seen()) != test.sent || len(failure.Tries) != test.sent-1 {
					t.Errorf("sent %d times, %d tries, want %d", len(p.seen()), len(failure.Tries), test.sent)
				}
			})
		})
	}
}

// After several server errors in a row one request at a time tries, at longer and longer distances,
// and a success opens the way for all.
func TestOneProbeAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const outage, takes, limit, callers = time.Minute, 3 * time.Second, 3, 8
		began := time.Now()
		p := newProvider(t, func(a arrival) (int, string) {
			if a.At.Sub(began) < outage {
				return http.StatusBadGateway, ""
			}
			return http.StatusOK, ""
		})
		p.takes = func(arrival) time.Duration { return takes }
		g := model.NewRateLimiter(p, model.RateLimiterOptions{Failures: limit, Chance: seeded()})
		var all sync.WaitGroup
		for i := range callers {
			all.Go(func() {
				for {
					if _, err := g.Generate(t.Context(), from(fmt.Sprint(i)), nil); err == nil {
						return
					}
				}
			})
		}
		all.Wait()
		arrivals := p.seen()
		tripped, probes := arrivals[limit-1].At.Add(takes), 0
		for i, a := range arrivals {
			if a.Status == http.StatusOK || a.At.Before(tripped) {
				continue
			}
			probes++
			if next := arrivals[i+1].At.Sub(a.At); next < takes {
				t.Errorf("a probe began %s after another that took %s", next, takes)
			}
		}
		t.Logf("%d probes in %s of failure", probes, outage)
		if probes < 3 || probes > 12 {
			t.Errorf("%d probes in %s, want a few", probes, outage)
		}
		if last := arrivals[len(arrivals)-1].At; last.Sub(began) > outage+lastBackoff {
			t.Errorf("the last request went %s after the start", last.Sub(began))
		}
	})
}

// lastBackoff is the longest pause that a rate limiter makes of its own accord.
const lastBackoff = time.Minute

// A reply that breaks off with a rate_limit is begun again, and its listener is told so.
func TestTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(t, ok)
		bodies := []string{"rate_limit", "tell one\ntell two\nrate_limit", "rate_limit", "tell un\nend"}
		p.body = func(arrival) string {
			body := bodies[0]
			bodies = bodies[1:]
			return body
		}
		g := model.NewRateLimiter(p, model.RateLimiterOptions{Chance: seeded()})
		var told []model.Delta
		reply, err := g.Generate(t.Context(), from("a"), func(d model.Delta) { told = append(told, d) })
		if err != nil {
			t.Fatal(err)
		}
		wantTold := []model.Delta{
			{Kind: chat.PartText, Text: "one"},
			{Kind: chat.PartText, Text: "two"},
			{Kind: chat.PartText, Text: "un", Attempt: 1},
		}
		if diff := cmp.Diff(wantTold, told); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
		limited := model.Try{Kind: chat.KindRateLimit}
		partly := model.Try{Kind: chat.KindRateLimit, Usage: chat.Usage{Input: 10, Output: 2}}
		if diff := cmp.Diff([]model.Try{limited, partly, limited}, reply.Tries); diff != "" {
			t.Errorf("tries (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(chat.Usage{Input: 10, Output: 1}, reply.Usage); diff != "" {
			t.Errorf("usage (-want +got):\n%s", diff)
		}
	})
}

// Replies that began before a slowing may take long. They do not hold up the probe after it.
func TestLongRepliesDoNotHoldUpTheProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limited := false
		p := newProvider(t, func(a arrival) (int, string) {
			if a.Agent == "quick" && !limited {
				limited = true
				return http.StatusTooManyRequests, "2"
			}
			return http.StatusOK, ""
		})
		p.takes = func(a arrival) time.Duration {
			if a.Agent == "long" {
				return 10 * time.Minute
			}
			return 0
		}
		g := model.NewRateLimiter(p, model.RateLimiterOptions{Concurrency: 2, Chance: seeded()})
		var all sync.WaitGroup
		all.Go(func() { _, _ = g.Generate(t.Context(), from("long"), nil) })
		synctest.Wait()
		reply, err := g.Generate(t.Context(), from("quick"), nil)
		if err != nil || reply.Waited > 10*time.Second {
			t.Errorf("waited %s, error %v", reply.Waited, err)
		}
		all.Wait()
	})
}
