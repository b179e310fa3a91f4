package model_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/model"
)

var (
	claude = model.Route{Provider: "anthropic", Model: "claude-sonnet-5"}
	gpt    = model.Route{Provider: "openai", Model: "gpt-5"}
	llama  = model.Route{Provider: "openrouter", Model: "meta/llama"}
)

func newRouter(t *testing.T, clients map[string]model.Client) *model.Router {
	t.Helper()
	r, err := model.NewRouter(model.RouterOptions{
		Clients:   clients,
		Tiers:     map[model.Tier][]model.Route{model.TierFast: {gpt}, model.TierStrong: {claude, gpt, llama}},
		Fallbacks: map[model.Route][]model.Route{claude: {gpt, claude, gpt}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestResolve(t *testing.T) {
	none := &provider{}
	r := newRouter(t, map[string]model.Client{"anthropic": none, "openai": none, "openrouter": none})
	for _, test := range []struct {
		name string
		want []model.Route
	}{
		{"fast", []model.Route{gpt}},
		{"strong", []model.Route{claude, gpt, llama}},
		{"anthropic/claude-sonnet-5", []model.Route{claude, gpt}},
		{"anthropic/other", []model.Route{{Provider: "anthropic", Model: "other"}}},
		{"openrouter/meta/llama", []model.Route{llama}},
		{"balanced", nil}, // not set
		{"inherit", nil},
		{"", nil},
		{"gpt-5", nil},
		{"openai/", nil},
		{"/gpt-5", nil},
		{"mistral/large", nil},
	} {
		got, err := r.Resolve(test.name)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.name, diff)
		}
		if test.want == nil && chat.CodeOf(err) != chat.CodeInvalid {
			t.Errorf("%q: error %v, want invalid", test.name, err)
		}
	}
	_, err := r.Generate(t.Context(), model.Request{Model: model.Inherit}, nil)
	var failure *model.Error
	if !errors.As(err, &failure) || failure.Kind != chat.KindInvalidRequest {
		t.Errorf("a request to inherit: %v", err)
	}
}

func TestRouterSettings(t *testing.T) {
	clients := map[string]model.Client{"openai": &provider{}}
	for name, options := range map[string]model.RouterOptions{
		"tier of a provider that is not there": {Tiers: map[model.Tier][]model.Route{model.TierFast: {gpt, claude}}},
		"tier without a model":                 {Tiers: map[model.Tier][]model.Route{model.TierFast: {}}},
		"fallback that is not there":           {Fallbacks: map[model.Route][]model.Route{gpt: {claude}}},
		"fallback for nobody":                  {Fallbacks: map[model.Route][]model.Route{claude: {gpt}}},
		"route without a model":                {Fallbacks: map[model.Route][]model.Route{gpt: {{Provider: "openai"}}}},
	} {
		options.Clients = clients
		if _, err := model.NewRouter(options); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestInherited(t *testing.T) {
	for own, want := range map[string]string{"": "strong", "inherit": "strong", "fast": "fast", "a/b": "a/b"} {
		if got := model.Inherited(own, "strong"); got != want {
			t.Errorf("%q under strong is %q, want %q", own, got, want)
		}
	}
}

// The failures that a fallback answers, the notes about it, and the model that answered.
func TestFallbacks(t *testing.T) {
	text := func(text string, take int) model.Delta {
		return model.Delta{Kind: chat.PartText, Text: text, Attempt: take}
	}
	used := func(output int64) chat.Usage { return chat.Usage{Input: 10, Output: output} }
	for _, test := range []struct {
		name        string
		first, then []string // the replies of claude and gpt
		answered    string
		kind        chat.ErrorKind
		after       time.Duration
		tries       []model.Try
		told        []model.Delta
	}{
		{
			name: "the first answers", first: []string{"tell a\nend"}, answered: claude.String(),
			told: []model.Delta{text("a", 0)},
		},
		{
			name: "server error", first: []string{"503"}, then: []string{"tell b\nend"}, answered: gpt.String(),
			tries: []model.Try{{Name: claude.String(), Kind: chat.KindServerError}},
			told:  []model.Delta{text("b", 0)},
		},
		{
			name: "rate limit", first: []string{"rate_limit"}, then: []string{"end"}, answered: gpt.String(),
			tries: []model.Try{{Name: claude.String(), Kind: chat.KindRateLimit}},
		},
		{
			name: "cut off in the middle", first: []string{"tell a\ntell a"}, then: []string{"tell b\nend"},
			answered: gpt.String(),
			tries:    []model.Try{{Name: claude.String(), Kind: chat.KindNetwork, Usage: used(2)}},
			told:     []model.Delta{text("a", 0), text("a", 0), text("b", 1)},
		},
		{name: "key refused", first: []string{"auth"}, kind: chat.KindAuth},
		{name: "too long", first: []string{"context_exhausted"}, kind: chat.KindContextExhausted},
		{name: "filtered", first: []string{"content_filter"}, kind: chat.KindContentFilter},
		{name: "not understood", first: []string{"invalid_request"}, kind: chat.KindInvalidRequest},
		{name: "empty", first: []string{"no_result"}, kind: chat.KindNoResult},
		{
			name: "nobody answers", first: []string{"503"}, then: []string{"tell b\nrate_limit"},
			kind:  chat.KindServerError,
			tries: []model.Try{{Name: gpt.String(), Kind: chat.KindRateLimit, Usage: used(1)}},
			told:  []model.Delta{text("b", 0)},
		},
		{
			name: "nobody answers for a while", first: []string{"503"}, then: []string{"503"},
			kind: chat.KindServerError, after: 9 * time.Second,
			tries: []model.Try{{Name: gpt.String(), Kind: chat.KindServerError}},
		},
		{
			name: "the fallback's key is refused", first: []string{"503"}, then: []string{"auth"},
			kind: chat.KindServerError, after: 9 * time.Second,
			tries: []model.Try{{Name: gpt.String(), Kind: chat.KindAuth}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRouter(t, map[string]model.Client{
					"anthropic": says(t, test.first...), "openai": says(t, test.then...), "openrouter": &provider{},
				})
				var told []model.Delta
				reply, err := r.Generate(t.Context(), model.Request{Model: claude.String()},
					func(d model.Delta) { told = append(told, d) })
				tries, failure := reply.Tries, &model.Error{}
				if errors.As(err, &failure) {
					tries = failure.Tries
				}
				if reply.Name != test.answered || failure.Kind != test.kind || failure.RetryAfter != test.after {
					t.Errorf("answered by %q, error %v, to wait %s", reply.Name, err, failure.RetryAfter)
				}
				if diff := cmp.Diff(test.tries, tries); diff != "" {
					t.Errorf("tries (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(test.told, told); diff != "" {
					t.Errorf("told (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// The parts as an app puts them together: router, rate limiter, prices, provider.
func TestChain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := prices(t, model.PriceOptions{})
		govern := func(name string, p *provider) model.Client {
			priced := model.NewPriced(p, name, table)
			return model.NewRateLimiter(priced, model.RateLimiterOptions{Attempts: 2, Chance: seeded()})
		}
		r := newRouter(t, map[string]model.Client{
			"anthropic":  govern("anthropic", says(t, "tell a\nrate_limit", "tell a\nrate_limit")),
			"openai":     govern("openai", says(t, "503")),
			"openrouter": govern("openrouter", says(t, "tell c\nend")),
		})
		var takes []int
		reply, err := r.Generate(t.Context(), model.Request{Model: "strong"},
			func(d model.Delta) { takes = append(takes, d.Attempt) })
		if err != nil {
			t.Fatal(err)
		}
		paid := chat.Usage{Input: 10, Output: 1, Cost: 30}
		want := []model.Try{
			{Name: claude.String(), Kind: chat.KindRateLimit, Usage: paid},
			{Name: claude.String(), Kind: chat.KindRateLimit, Usage: paid},
			{Name: gpt.String(), Kind: chat.KindServerError},
		}
		if diff := cmp.Diff(want, reply.Tries); diff != "" {
			t.Errorf("tries (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]int{0, 1, 2}, takes); diff != "" {
			t.Errorf("takes (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(chat.Usage{Input: 10, Output: 1, Unpriced: 1}, reply.Usage); diff != "" {
			t.Errorf("usage (-want +got):\n%s", diff)
		}
		if reply.Name != llama.String() || reply.Waited <= 0 {
			t.Errorf("answered by %q after waiting %s", reply.Name, reply.Waited)
		}
	})
}

// A call says how long it stood in all the queues it came through, and names each sending.
func TestChainWaits(t *testing.T) {
	for _, test := range []struct {
		name string
		then []string
		who  string
	}{
		{"the fallback answers at its second try", []string{"rate_limit", "end"}, gpt.String()},
		{"nobody answers", []string{"rate_limit", "rate_limit"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				options := model.RateLimiterOptions{Attempts: 2, Chance: seeded()}
				r := newRouter(t, map[string]model.Client{
					"anthropic":  model.NewRateLimiter(says(t, "rate_limit", "rate_limit"), options),
					"openai":     model.NewRateLimiter(says(t, test.then...), options),
					"openrouter": &provider{},
				})
				began := time.Now()
				reply, err := r.Generate(t.Context(), model.Request{Model: claude.String()}, nil)
				waited, tries, failure := reply.Waited, reply.Tries, &model.Error{}
				if errors.As(err, &failure) {
					waited, tries = failure.Waited, failure.Tries
				}
				if passed := time.Since(began); reply.Name != test.who || waited != passed {
					t.Errorf("answered by %q, waited %s, and %s have passed", reply.Name, waited, passed)
				}
				var names []string
				for _, try := range tries {
					names = append(names, try.Name)
				}
				want := []string{claude.String(), claude.String(), gpt.String()}
				if test.who == "" { // the first one's last failure is the error itself
					want = []string{claude.String(), gpt.String(), gpt.String()}
				}
				if diff := cmp.Diff(want, names); diff != "" {
					t.Errorf("tries (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// No model is asked for a caller that has gone, and the caller is told that it went.
func TestRouterStopsWithItsCaller(t *testing.T) {
	for _, first := range []string{"", "503"} {
		synctest.Test(t, func(t *testing.T) {
			slow := newProvider(t, ok)
			slow.takes = func(arrival) time.Duration { return time.Minute }
			clients := map[string]model.Client{"anthropic": slow, "openai": says(t), "openrouter": says(t)}
			if first != "" {
				clients["anthropic"], clients["openai"] = says(t, first), slow
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := newRouter(t, clients).Generate(ctx, model.Request{Model: "strong"}, nil)
			var failure *model.Error
			if !errors.As(err, &failure) || failure.Kind != chat.KindCancelled {
				t.Errorf("after %q: got %v", first, err)
			}
		})
	}
}
