package cast

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/model"
	"github.com/retinue-dev/retinue/internal/model/anthropic"
	"github.com/retinue-dev/retinue/internal/model/openai"
)

// Models builds the way to all configured models: a router over one client for each provider, which
// a rate limiter keeps within the key's limits and a price table adds the cost to.
//
// A provider whose key cannot be found is left out. That is an error only if something is to be
// asked of it; lookup finds environment variables.
func Models(s config.Settings, lookup func(string) (string, bool)) (*model.Router, error) {
	prices, err := model.NewPrices(model.PriceOptions{Override: overrides(s.Models)})
	if err != nil {
		return nil, err
	}
	clients, missing := map[string]model.Client{}, map[string]error{}
	for _, name := range slices.Sorted(maps.Keys(s.Providers)) {
		p := s.Providers[name]
		key, err := p.Key.Reveal(lookup)
		if err != nil {
			missing[name] = err
			continue
		}
		client, err := modelClient(p, key)
		if err != nil {
			return nil, fmt.Errorf("provider %s: %w", name, err)
		}
		clients[name] = model.NewRateLimiter(model.NewPriced(client, name, prices), model.RateLimiterOptions{
			Concurrency: p.Concurrency, Shared: s.Shared(), Rate: float64(p.RequestsPerMinute) / 60,
		})
	}
	options := model.RouterOptions{
		Clients: clients, Tiers: map[model.Tier][]model.Route{}, Fallbacks: map[model.Route][]model.Route{},
	}
	options.TextOnly = map[model.Route]bool{}
	for name, m := range s.Models {
		if route, err := model.ParseRoute(name); err == nil && m.TextOnly {
			options.TextOnly[route] = true
		}
	}
	for _, tier := range []model.Tier{model.TierFast, model.TierBalanced, model.TierStrong} {
		if targets, err := s.Targets(string(tier)); err == nil {
			options.Tiers[tier] = routes(targets)
		}
	}
	for name := range s.Fallbacks {
		named, err := model.ParseRoute(name)
		if err != nil {
			continue // A tier: its fallbacks are in its list.
		}
		targets, err := s.Targets(name)
		if err != nil {
			return nil, fmt.Errorf("fallbacks of %s: %w", name, err)
		}
		options.Fallbacks[named] = routes(targets[1:])
	}
	for _, route := range wanted(options) {
		if err := missing[route.Provider]; err != nil {
			return nil, fmt.Errorf("%s cannot be asked: the key of provider %s: %w", route, route.Provider, err)
		}
	}
	return model.NewRouter(options)
}

// modelClient speaks a provider's protocol.
func modelClient(p config.Provider, key string) (model.Client, error) {
	switch p.Kind {
	case config.KindAnthropic:
		return anthropic.New(anthropic.Options{Key: key, BaseURL: p.BaseURL})
	case config.KindOpenAI:
		return openai.New(openai.Options{Key: key, BaseURL: p.BaseURL})
	}
	return nil, fmt.Errorf("kind %q is not known: it must be %s or %s", p.Kind, config.KindAnthropic, config.KindOpenAI)
}

// overrides are the prices that settings give.
func overrides(models map[string]config.Model) map[string]model.Price {
	out := map[string]model.Price{}
	for name, m := range models {
		if m.Input != 0 || m.Output != 0 {
			out[name] = model.Price{
				Input: int64(m.Input), Output: int64(m.Output), CacheRead: int64(m.CacheRead),
				CacheWrite: int64(m.CacheWrite), CacheWriteHour: int64(m.CacheWrite),
			}
		}
	}
	return out
}

func routes(targets []config.Target) []model.Route {
	out := make([]model.Route, len(targets))
	for i, t := range targets {
		out[i] = model.Route(t)
	}
	return out
}

// wanted lists every model that the options name.
func wanted(options model.RouterOptions) (all []model.Route) {
	for _, list := range options.Tiers {
		all = append(all, list...)
	}
	for named, list := range options.Fallbacks {
		all = append(append(all, named), list...)
	}
	slices.SortFunc(all, func(a, b model.Route) int { return strings.Compare(a.String(), b.String()) })
	return all
}
