package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/retinue-dev/retinue/internal/config/document"
	"github.com/retinue-dev/retinue/internal/config/role"
)

// Target is a model at a provider.
type Target struct{ Provider, Model string }

// String is the target as people write it.
func (t Target) String() string { return t.Provider + "/" + t.Model }

// Target resolves a role's model: a tier, provider/model, or a model of the provider that the
// balanced tier uses.
func (s Settings) Target(model string) (Target, error) {
	switch model {
	case role.TierFast, role.TierBalanced, role.TierStrong:
		tiers := map[string]string{role.TierFast: s.Tiers.Fast, role.TierBalanced: s.Tiers.Balanced, role.TierStrong: s.Tiers.Strong}
		if tiers[model] == "" {
			return Target{}, fmt.Errorf("no model is configured for the tier %[1]s: set tiers.%[1]s to provider/model", model)
		}
		model = tiers[model]
	case role.Inherit, "":
		return Target{}, fmt.Errorf("%q means the model of the delegating agent, and no agent delegates here: name a tier or provider/model", role.Inherit)
	}
	provider, name, ok := strings.Cut(model, "/")
	if _, known := s.Providers[provider]; ok && known && name != "" {
		return Target{provider, name}, nil
	}
	known := slices.Sorted(maps.Keys(s.Providers))
	if ok {
		return Target{}, fmt.Errorf("%s: there is no provider %q: %s", model, provider, document.Meant(provider, known))
	}
	provider, _, ok = strings.Cut(s.Tiers.Balanced, "/")
	if !ok {
		return Target{}, fmt.Errorf("%s: write provider/model; %s", model, document.Meant(provider, known))
	}
	return Target{provider, model}, nil
}

// Targets is a model and what to try when it cannot be reached, in order and once each.
func (s Settings) Targets(model string, fallback ...string) ([]Target, error) {
	var list []Target
	for _, m := range slices.Concat([]string{model}, fallback, s.Fallbacks[model]) {
		t, err := s.Target(m)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(list, t) {
			list = append(list, t)
		}
	}
	return list, nil
}
