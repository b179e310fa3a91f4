package chaos

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/model"
	"github.com/retinue-dev/retinue/internal/model/scripted"
)

// TestStorm plays L20: every key gets 429 for a while, and sixteen callers send requests. All
// succeed in the end, and none hammers: the requests of a key keep their distance, and the keys do
// not move in step.
func TestStorm(t *testing.T) {
	const keys, callers, storm = 4, 16, 3 * time.Second
	for _, a := range adapters {
		t.Run(string(a.provider), func(t *testing.T) {
			t.Parallel()
			server := serve(t, &scripted.Script{Default: &scripted.Reply{
				Text: "calm", Fault: scripted.Trouble{Name: "storm", Wait: storm},
			}}, scripted.Options{})
			var rateLimiters []*model.RateLimiter
			for k := range keys {
				rateLimiters = append(rateLimiters, model.NewRateLimiter(
					a.dial(t, server, fmt.Sprint("key-", k)), model.RateLimiterOptions{Concurrency: 4, Attempts: 1000}))
			}
			var all sync.WaitGroup
			for i := range callers {
				all.Go(func() {
					req := request(fmt.Sprint("caller ", i))
					req.Caller = model.Caller{Conversation: "c", Agent: fmt.Sprint(i)}
					if e := call(t, rateLimiters[i%keys], req); e.err != nil {
						t.Errorf("caller %d: %v", i, e.err)
					}
				})
			}
			all.Wait()
			m := settled(t, server)
			if m.Answered != callers {
				t.Errorf("%d answers for %d callers", m.Answered, callers)
			}
			// A key that is told to wait tries less and less often: a handful of times in all.
			if most := keys * 10; m.Limited > most {
				t.Errorf("%d requests into the storm, want at most %d", m.Limited, most)
			}
			gaps, crowded := spread(m, storm)
			t.Logf("%d requests, %d of them limited, %d gaps within keys", m.Requests, m.Limited, len(gaps))
			if !measure.On() {
				return // after a pause of the machine requests come close to each other
			}
			if len(gaps) == 0 {
				t.Fatalf("nobody tried twice while it stormed: %+v", m)
			}
			measure.Least(t, "chaos: median gap between two requests of a key", gaps[len(gaps)/2], 20*time.Millisecond)
			measure.Most(t, "chaos: part of requests on the heels of another key's", float64(crowded)/float64(len(gaps)), 0.5)
		})
	}
}

// heels is how close behind another a request must be to be called in step with it.
const heels = 5 * time.Millisecond

// spread measures the requests after the first of each key while the storm lasts: the gaps within
// keys, sorted, and how many came on the heels of another key's.
func spread(m scripted.Meter, storm time.Duration) (gaps []time.Duration, crowded int) {
	last := map[string]time.Time{}
	var before scripted.Attempt
	for _, a := range m.Attempts {
		if a.At.After(m.Attempts[0].At.Add(storm)) {
			break
		}
		if at, ok := last[a.Key]; ok {
			gaps = append(gaps, a.At.Sub(at))
			if a.At.Before(before.At.Add(heels)) && a.Key != before.Key {
				crowded++
			}
		}
		last[a.Key], before = a.At, a
	}
	slices.Sort(gaps)
	return gaps, crowded
}

// TestFiftyCallersShareAKey sends fifty callers against five requests per second, as the rate
// limiter is told: none fails, and hardly any is refused.
func TestFiftyCallersShareAKey(t *testing.T) {
	const callers, each = 50, 2
	for _, a := range adapters {
		t.Run(string(a.provider), func(t *testing.T) {
			t.Parallel()
			server := serve(t, &scripted.Script{Default: &scripted.Reply{Text: "calm"}}, scripted.Options{Rate: 5})
			rateLimiter := model.NewRateLimiter(a.dial(t, server, "key"), model.RateLimiterOptions{Rate: 5})
			var failed, tries atomic.Int64
			var all sync.WaitGroup
			for i := range callers {
				all.Go(func() {
					for j := range each {
						req := request(fmt.Sprint("caller ", i, " ", j))
						req.Caller = model.Caller{Conversation: "c", Agent: fmt.Sprint(i)}
						e := call(t, rateLimiter, req)
						if e.err != nil {
							failed.Add(1)
							t.Errorf("caller %d: %v", i, e.err)
						}
						tries.Add(int64(len(e.reply.Tries)))
					}
				})
			}
			all.Wait()
			m := settled(t, server)
			t.Logf("%d requests, %d limited, %d failed, at most %d at once", m.Requests, m.Limited, failed.Load(), m.HighWater)
			measure.Most(t, "chaos: part of requests turned away at the rate that is told", float64(m.Limited)/float64(m.Requests), 0.02)
			if m.Answered != callers*each {
				t.Errorf("%d answers for %d calls", m.Answered, callers*each)
			}
			if int(tries.Load()) != m.Limited {
				t.Errorf("%d tries are told, %d were turned away", tries.Load(), m.Limited)
			}
		})
	}
}
