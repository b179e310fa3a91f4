package model_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/model"
)

// order sends callers one by one, at the times given, to a key that serves one request in ten
// seconds, and returns the order in which they were served. A name is conversation/agent; one that
// begins with a small b is in the background.
func order(t *testing.T, come map[time.Duration][]string) string {
	t.Helper()
	p := newProvider(t, ok)
	p.takes = func(arrival) time.Duration { return 10 * time.Second }
	g := model.NewRateLimiter(p, model.RateLimiterOptions{Concurrency: 1, Age: 25 * time.Second})
	var all sync.WaitGroup
	for at, names := range come {
		all.Go(func() {
			time.Sleep(at)
			for _, name := range names {
				conversation, _, _ := strings.Cut(name, "/")
				req := model.Request{Caller: model.Caller{
					Conversation: conversation, Agent: name, Background: name[0] == 'b',
				}}
				all.Go(func() {
					if _, err := g.Generate(t.Context(), req, nil); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				})
				synctest.Wait()
			}
		})
	}
	all.Wait()
	var served []string
	for _, a := range p.seen() {
		served = append(served, a.Agent)
	}
	return strings.Join(served, " ")
}

func TestOrder(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		name string
		come map[time.Duration][]string
		want string
	}{
		{
			"who comes first goes first",
			map[time.Duration][]string{0: {"A", "B", "C"}},
			"A B C",
		},
		{
			"interactive goes before background",
			map[time.Duration][]string{0: {"A"}, 1 * s: {"b1", "b2"}, 2 * s: {"B"}, 3 * s: {"C"}},
			"A B C b1 b2",
		},
		{
			"background that waited long enough goes first",
			map[time.Duration][]string{
				0: {"A"}, 1 * s: {"b1"}, 2 * s: {"B"}, 11 * s: {"C"}, 19 * s: {"D"}, 27 * s: {"E"}, 28 * s: {"F"},
			},
			"A B C D b1 E F",
		},
		{
			"a conversation with many requests does not shut out one with few",
			map[time.Duration][]string{0: {"A", "M/1", "M/2", "M/3", "M/4", "M/5"}, 2 * s: {"B", "C"}},
			"A M/1 M/2 M/3 B C M/4 M/5",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if diff := cmp.Diff(test.want, order(t, test.come)); diff != "" {
					t.Errorf("order (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A background request waits no longer than its age and those before it, no matter what else comes.
func TestBackgroundNeverStarves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(t, ok)
		p.takes = func(arrival) time.Duration { return time.Second }
		g := model.NewRateLimiter(p, model.RateLimiterOptions{Concurrency: 1, Chance: seeded()})
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range 20 { // each comes again as soon as it is served
			all.Go(func() {
				for ctx.Err() == nil {
					_, _ = g.Generate(ctx, from(fmt.Sprint(i)), nil)
				}
			})
		}
		synctest.Wait()
		req := from("background")
		req.Caller.Background = true
		reply, err := g.Generate(t.Context(), req, nil)
		stop()
		all.Wait()
		if err != nil || reply.Waited < 30*time.Second || reply.Waited > 55*time.Second {
			t.Errorf("waited %s, error %v", reply.Waited, err)
		}
	})
}

// A caller that gives up leaves at once, and leaves nothing behind.
func TestCancelledInTheQueue(t *testing.T) {
	for _, test := range []struct {
		name string
		end  func(context.Context) (context.Context, context.CancelFunc)
		kind chat.ErrorKind
	}{
		{"cancelled", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(3*time.Second, cancel)
			return ctx, cancel
		}, chat.KindCancelled},
		{"deadline", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 3*time.Second)
		}, chat.KindTimedOut},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newProvider(t, ok)
				p.takes = func(arrival) time.Duration { return 10 * time.Second }
				g := model.NewRateLimiter(p, model.RateLimiterOptions{Concurrency: 1})
				var all sync.WaitGroup
				all.Go(func() { _, _ = g.Generate(t.Context(), from("first"), nil) })
				synctest.Wait()
				ctx, cancel := test.end(t.Context())
				defer cancel()
				began := time.Now()
				_, err := g.Generate(ctx, from("gone"), nil)
				var failure *model.Error
				if !errors.As(err, &failure) || failure.Kind != test.kind || failure.Waited != 3*time.Second {
					t.Errorf("got %+v", err)
				}
				if passed := time.Since(began); passed != 3*time.Second || len(g.Queue()) != 0 {
					t.Errorf("left after %s, the queue is %v", passed, g.Queue())
				}
				reply, err := g.Generate(t.Context(), from("next"), nil)
				if err != nil || reply.Waited != 7*time.Second {
					t.Errorf("the next waited %s, error %v", reply.Waited, err)
				}
				all.Wait()
			})
		})
	}
}

// The queue lists its waiting requests, with start, reason and end of the wait.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(t, ok)
		g := model.NewRateLimiter(p, model.RateLimiterOptions{Rate: 0.5, Chance: seeded()})
		began := time.Now()
		var all sync.WaitGroup
		for _, name := range []string{"a", "b", "c"} {
			all.Go(func() { _, _ = g.Generate(t.Context(), from(name), nil) })
			synctest.Wait()
		}
		want := []model.Waiting{
			{Caller: from("b").Caller, Model: "m", Since: began, Until: began.Add(2 * time.Second), Why: model.WhyRate},
			{Caller: from("c").Caller, Model: "m", Since: began, Until: began.Add(4 * time.Second), Why: model.WhyRate},
		}
		if diff := cmp.Diff(want, g.Queue()); diff != "" {
			t.Errorf("queue (-want +got):\n%s", diff)
		}
		all.Wait()
		if passed := time.Since(began); passed != 4*time.Second || p.count(http.StatusOK) != 3 {
			t.Errorf("%d served after %s", p.count(http.StatusOK), passed)
		}
	})
}
