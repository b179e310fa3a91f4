package config

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/retinue-dev/retinue/internal/config/document"
	"github.com/retinue-dev/retinue/internal/config/role"
)

// check finds the faults of the settings as a whole.
func (l Loaded) check() []error {
	var problems []error
	s := l.Settings
	complain := func(path string, err error) {
		if err != nil {
			o := l.Origins[path]
			problems = append(problems, document.Warning{File: o.Name, Line: o.Line, Column: o.Column, Text: path + ": " + err.Error()})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Providers)) {
		complain("providers."+name+".base_url", s.Providers[name].check(name))
	}
	complain("web.hosts", checkEach(s.Web.Hosts, checkWebHost))
	complain("web.local", checkEach(s.Web.Local, checkLocal))
	complain("web.search.base_url", checkURL(s.Web.Search.BaseURL))
	complain("canaries.values", checkEach(s.Canaries.Values, checkCanary))
	complain("canaries.files", checkEach(s.Canaries.Files, checkCanaryFile))
	complain("sandbox.host_bytes", s.Sandbox.checkHostBytes())
	_, err := s.Taint.SinkRules()
	complain("taint.sinks", err)
	complain("retention.days", checkDays(s.Retention.Days))
	complain("worker.slots", checkSlots(s.Worker.Slots))
	complain("worker.tenant_slots", checkSlots(s.Worker.TenantSlots))
	complain("worker.family", checkSlots(s.Worker.Family))
	complain("worker.cached_runs", checkCached(s.Worker.CachedRuns))
	complain("serve.oidc", s.checkOIDC())
	complain("serve.url", s.Serve.checkURL())
	complain("serve.proxies", checkEach(s.Serve.Proxies, checkNetwork))
	models := map[string][]string{
		"tiers.fast": {s.Tiers.Fast}, "tiers.balanced": {s.Tiers.Balanced}, "tiers.strong": {s.Tiers.Strong},
	}
	for model, list := range s.Fallbacks {
		models["fallbacks."+model] = list
	}
	for _, path := range slices.Sorted(maps.Keys(models)) {
		for _, model := range models[path] {
			if _, err := s.Target(model); model != "" {
				complain(path, err)
			}
		}
	}
	for path, rules := range map[string]role.Permissions{
		"permissions.allow": {Allow: s.Permissions.Allow}, "permissions.ask": {Ask: s.Permissions.Ask},
		"permissions.deny": {Deny: s.Permissions.Deny},
	} {
		_, err := rules.Rules()
		complain(path, err)
	}
	complain("sandbox.read_only", s.Sandbox.checkReadOnly())
	complain("sandbox.pass", s.Sandbox.checkPass())
	complain("sandbox.hosts", s.Sandbox.checkHosts())
	if s.Roles.Preset != "" {
		complain("roles.preset", role.CheckPreset(s.Roles.Preset))
	}
	return problems
}

// check finds the faults of a provider of that name.
func (p Provider) check(name string) error {
	switch {
	case name == "" || strings.ContainsAny(name, "/. "):
		return fmt.Errorf("%q cannot be a name: use letters, digits, - and _", name)
	case p.Kind == "":
		return errors.New("kind is missing: write anthropic or openai")
	}
	return checkURL(p.BaseURL)
}

func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "":
		return errors.New("expected an address such as http://127.0.0.1:8080/v1")
	case u.User != nil || looksSecret(u.RawQuery):
		return errors.New("an address must not hold a password or a key; use key")
	}
	return nil
}

func checkEach(texts []string, check func(string) error) error {
	for _, text := range texts {
		if err := check(text); err != nil {
			return err
		}
	}
	return nil
}

// webHost is a host as a rule for the web names it, with a port or without.
var webHost = regexp.MustCompile(`^(?:\*|(?:\*\.)?[a-zA-Z0-9_](?:[a-zA-Z0-9._-]*[a-zA-Z0-9_])?)(?::(\d{1,5}))?$`)

func checkWebHost(text string) error {
	m := webHost.FindStringSubmatch(text)
	if m == nil {
		return fmt.Errorf("%q is no host: write example.org, *.example.org, * or example.org:8443", text)
	}
	if port, _ := strconv.ParseUint(m[1], 10, 16); m[1] != "" && port == 0 {
		return fmt.Errorf("%q has a port that is none", text)
	}
	return nil
}

func checkLocal(text string) error {
	if at, err := netip.ParseAddrPort(text); err != nil || at.Port() == 0 {
		return fmt.Errorf("%q is no address with a port: write it as 10.0.0.7:8080", text)
	}
	return nil
}

// leastCanary is how many bytes a value must have to be looked for.
const leastCanary = 8

func checkCanary(text string) error {
	if len(text) < leastCanary {
		return fmt.Errorf("a value has %d bytes: give at least %d, shorter ones are found in too much that is harmless", len(text), leastCanary)
	}
	return nil
}

func checkCanaryFile(pattern string) error {
	if _, err := path.Match(pattern, ""); err != nil || !filepath.IsLocal(pattern) {
		return fmt.Errorf("%q: expected a path from the top of the workspace, such as .env or config/*.pem", pattern)
	}
	return nil
}

// mostDays is how long conversations can be kept and still be deleted by themselves.
const mostDays = 36_500

func checkDays(n int) error {
	if n < 0 || n > mostDays {
		return fmt.Errorf("%d days cannot be: give a number from 1 to %d, or 0 to keep conversations", n, mostDays)
	}
	return nil
}

// mostSlots is how many slots a worker may have.
const mostSlots = 10_000

func checkSlots(n int) error {
	if n < 1 || n > mostSlots {
		return fmt.Errorf("%d cannot be: give a number from 1 to %d", n, mostSlots)
	}
	return nil
}

// mostCached is how many workflows a worker may keep in memory.
const mostCached = 100_000

func checkCached(n int) error {
	if n < 1 || n > mostCached {
		return fmt.Errorf("%d cannot be: give a number from 1 to %d", n, mostCached)
	}
	return nil
}
