package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/config/document"
	"github.com/retinue-dev/retinue/internal/config/prompt"
	"github.com/retinue-dev/retinue/internal/config/role"
)

func (d *doctor) checkSettings() {
	var files []string
	for _, f := range d.loaded.Files() {
		if f.Found {
			files = append(files, f.Path)
		}
	}
	if len(files) == 0 {
		d.say(OK, "settings", "no file; defaults are in force", "")
	} else {
		d.say(OK, "settings", strings.Join(files, ", "), "")
	}
	for _, w := range d.loaded.Warnings {
		d.say(Warn, "settings", w.Error(), "remove it, or correct it")
	}
}

func (d *doctor) checkRoles() {
	sources, err := d.loaded.Sources()
	if err != nil {
		d.say(Fail, "roles", err.Error(), "correct the permissions")
		return
	}
	roles, err := role.Load(sources)
	if err == nil {
		_, err = prompt.Load(roles)
	}
	if err != nil {
		d.say(Fail, "roles", err.Error(), "install the program again")
		return
	}
	d.say(OK, "roles", fmt.Sprintf("%d can be used", len(roles.Roles())), "")
	for _, w := range roles.Warnings {
		advice := ""
		if w.Skipped {
			advice = "correct the file; the other roles are not affected"
		}
		d.say(Warn, "roles", w.Error(), advice)
	}
	unusable := map[string][]string{}
	for _, r := range roles.Roles() {
		if r.Model == role.Inherit {
			continue
		}
		if _, err := d.settings.Targets(r.Model, r.Fallback...); err != nil {
			unusable[err.Error()] = append(unusable[err.Error()], r.Name)
		}
	}
	for _, problem := range slices.Sorted(maps.Keys(unusable)) {
		d.say(Fail, "models", problem, "needed by "+strings.Join(unusable[problem], ", "))
	}
}

// checkProviders looks at the providers that are used or were configured on purpose.
func (d *doctor) checkProviders(ctx context.Context) {
	for _, name := range slices.Sorted(maps.Keys(d.settings.Providers)) {
		if !d.concerns(name) {
			continue
		}
		p, check := d.settings.Providers[name], "provider "+name
		if _, err := p.Key.Reveal(d.lookup); err != nil {
			d.say(Fail, check, "key "+p.Key.Reference()+": "+err.Error(), "set it, or change providers."+name+".key")
		} else if !p.Key.IsZero() {
			d.say(OK, check, "key "+p.Key.Reference()+" found", "")
		}
		d.reach(ctx, check, p.BaseURL, "check providers."+name+".base_url and the network")
	}
}

// concerns reports whether a provider is in use or was set up by somebody.
func (d *doctor) concerns(provider string) bool {
	for key, origin := range d.loaded.Origins {
		if strings.HasPrefix(key, "providers."+provider+".") && origin.Kind != document.FromDefault {
			return true
		}
	}
	for _, tier := range []string{role.TierFast, role.TierBalanced, role.TierStrong} {
		targets, err := d.settings.Targets(tier)
		if err == nil && slices.ContainsFunc(targets, func(t config.Target) bool { return t.Provider == provider }) {
			return true
		}
	}
	return false
}
