package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/durable"
	"github.com/retinue-dev/retinue/internal/secret"
)

// dialTimeout is how long a server may take to accept a connection.
const dialTimeout = 3 * time.Second

// Level is how a check ended.
type Level string

// The levels.
const (
	LevelOK   Level = "ok"
	LevelWarn Level = "warn"
	LevelFail Level = "fail"
)

// Finding is what one check found.
type Finding struct {
	Level  Level  `json:"level"`
	Check  string `json:"check"`
	Detail string `json:"detail"`
	// Advice is what to do about it, if it is not fine.
	Advice string `json:"advice,omitempty"`
}

// doctor collects findings.
type doctor struct {
	settings config.Settings
	loaded   config.Loaded
	lookup   func(string) (string, bool)
	found    []Finding
	vault    *secret.Vault
}

// Doctor checks whether everything that the settings speak of is there and can be used. It changes
// nothing and sends nothing but the opening of a connection.
func Doctor(ctx context.Context, in config.Inputs) []Finding {
	loaded, err := config.LoadSettings(in)
	d := &doctor{settings: loaded.Settings, loaded: loaded, lookup: os.LookupEnv, vault: secret.New(in.Environ)}
	Hide(d.vault, d.settings, d.lookup)
	if err != nil {
		for line := range strings.Lines(err.Error()) {
			d.say(LevelFail, "settings", strings.TrimSpace(line), "correct it, then run doctor again")
		}
		return d.found
	}
	d.checkSettings()
	d.checkRoles()
	d.checkProviders(ctx)
	d.checkServers(ctx)
	d.checkServe(ctx)
	d.checkWeb()
	d.checkDataDir()
	if d.settings.Journal.DSN.IsZero() {
		d.checkWebhooks(ctx)
	}
	d.checkPrograms()
	d.checkSandbox(ctx)
	return d.found
}

func (d *doctor) say(level Level, check, detail, advice string) {
	d.found = append(d.found, Finding{level, check, d.vault.Redact(detail), d.vault.Redact(advice)})
}

func (d *doctor) checkSettings() {
	var files []string
	for _, f := range d.loaded.Files() {
		if f.Found {
			files = append(files, f.Path)
		}
	}
	if len(files) == 0 {
		d.say(LevelOK, "settings", "no file; defaults are in force", "")
	} else {
		d.say(LevelOK, "settings", strings.Join(files, ", "), "")
	}
	for _, w := range d.loaded.Warnings {
		d.say(LevelWarn, "settings", w.Error(), "remove it, or correct it")
	}
}

func (d *doctor) checkRoles() {
	sources, err := d.loaded.Sources()
	if err != nil {
		d.say(LevelFail, "roles", err.Error(), "correct the permissions")
		return
	}
	roles, err := config.Load(sources)
	if err != nil {
		d.say(LevelFail, "roles", err.Error(), "install the program again")
		return
	}
	d.say(LevelOK, "roles", fmt.Sprintf("%d can be used", len(roles.Roles())), "")
	for _, w := range roles.Warnings {
		advice := ""
		if w.Skipped {
			advice = "correct the file; the other roles are not affected"
		}
		d.say(LevelWarn, "roles", w.Error(), advice)
	}
	unusable := map[string][]string{}
	for _, role := range roles.Roles() {
		if role.Model == config.Inherit {
			continue
		}
		if _, err := d.settings.Targets(role.Model, role.Fallback...); err != nil {
			unusable[err.Error()] = append(unusable[err.Error()], role.Name)
		}
	}
	for _, problem := range slices.Sorted(maps.Keys(unusable)) {
		d.say(LevelFail, "models", problem, "needed by "+strings.Join(unusable[problem], ", "))
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
			d.say(LevelFail, check, "key "+p.Key.Reference()+": "+err.Error(), "set it, or change providers."+name+".key")
		} else if !p.Key.IsZero() {
			d.say(LevelOK, check, "key "+p.Key.Reference()+" found", "")
		}
		d.reach(ctx, check, p.BaseURL, "check providers."+name+".base_url and the network")
	}
}

// concerns reports whether a provider is in use or was set up by somebody.
func (d *doctor) concerns(provider string) bool {
	for key, origin := range d.loaded.Origins {
		if strings.HasPrefix(key, "providers."+provider+".") && origin.Kind != config.FromDefault {
			return true
		}
	}
	for _, tier := range []string{config.TierFast, config.TierBalanced, config.TierStrong} {
		targets, err := d.settings.Targets(tier)
		if err == nil && slices.ContainsFunc(targets, func(t config.Target) bool { return t.Provider == provider }) {
			return true
		}
	}
	return false
}

// checkServers looks at the servers that are configured. A part without a server runs within the process.
func (d *doctor) checkServers(ctx context.Context) {
	for _, server := range []struct {
		name, key string
		at        config.Secret
	}{
		{"postgres", "journal.dsn", d.settings.Journal.DSN},
		{"nats", "live.nats_url", d.settings.Live.NATS},
	} {
		if server.at.IsZero() {
			d.say(LevelOK, server.name, "not configured; not needed on one machine", "")
			continue
		}
		address, err := server.at.Reveal(d.lookup)
		if err != nil {
			d.say(LevelFail, server.name, err.Error(), "set it, or change "+server.key)
			continue
		}
		if d.reach(ctx, server.name, address, "start the server, or change "+server.key) && server.key == "journal.dsn" {
			d.checkJournal(ctx)
		}
	}
	if at := d.settings.Engine.Temporal; at == "" {
		d.say(LevelOK, "temporal", "not configured; the standalone program brings its own", "")
	} else if d.reach(ctx, "temporal", at, "start the server, or change engine.temporal_address") {
		d.checkEngine(ctx)
	}
}

// checkEngine looks whether the Temporal server accepts this program, and whether it would accept everybody else.
func (d *doctor) checkEngine(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	at := d.settings.Engine
	secure, key, err := engineCredentials(at, d.lookup)
	if err == nil {
		var engine durable.Engine
		engine, err = durable.Connect(ctx, durable.ConnectOptions{
			Address: at.Temporal, Namespace: at.Namespace, TLS: secure, APIKey: key, Logger: slog.New(slog.DiscardHandler),
		})
		if err == nil {
			engine.Close()
		}
	}
	switch {
	case err != nil:
		d.say(LevelFail, "engine", said(err), "correct engine.tls and engine.api_key; see docs/operating.md")
	case secure == nil && !onThisHost(at.Temporal):
		d.say(LevelWarn, "engine", "is reached over the network without TLS: any program that can reach it can stop and misuse every run",
			"set engine.tls, or engine.api_key")
	case secure == nil:
		d.say(LevelWarn, "engine", "asks for no credential: every program on this machine can use it", "set up TLS there, then engine.tls")
	default:
		d.say(LevelOK, "engine", "lets this program in, over TLS", "")
	}
}

// onThisHost reports whether an address can be reached from this machine alone.
func onThisHost(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// checkJournal opens the journal as servers and workers do, who refuse a role that could pass by the
// policies and a database that is not up to date.
func (d *doctor) checkJournal(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	log, done, err := openJournal(ctx, d.settings, d.lookup)
	if err == nil {
		if migrated, ok := log.(interface{ Ready(context.Context) error }); ok {
			err = migrated.Ready(ctx)
		}
		err = errors.Join(err, done())
	}
	if err != nil {
		d.say(LevelFail, "journal", said(err), "correct journal.dsn, or run 'retinue migrate' as the owner; see docs/operating.md")
		return
	}
	d.say(LevelOK, "journal", "can be opened and is up to date", "")
	d.checkWebhooks(ctx)
}

// checkServe looks at what 'retinue serve' would begin with.
func (d *doctor) checkServe(ctx context.Context) {
	s := d.settings.Serve
	if _, err := certificate(s.TLS); err != nil {
		d.say(LevelFail, "serve", err.Error(), "correct serve.tls.cert and serve.tls.key, or leave both out")
	}
	if s.OIDC.Issuer != "" {
		d.reach(ctx, "login", s.OIDC.Issuer, "check serve.oidc.issuer and the network")
	}
}

// reach opens a connection to an address, closes it again and reports whether it could.
func (d *doctor) reach(ctx context.Context, check, address, advice string) bool {
	network, at, err := endpoint(address)
	if err != nil {
		d.say(LevelFail, check, err.Error(), advice)
		return false
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(ctx, network, at)
	if err != nil {
		d.say(LevelFail, check, "cannot reach "+at+": "+reason(err), advice)
		return false
	}
	_ = conn.Close() // that it opened is all we wanted to know
	d.say(LevelOK, check, at+" is reachable", "")
	return true
}

// reason is the innermost part of a network error, which has the address in all the others.
func reason(err error) string {
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		return op.Err.Error()
	}
	return err.Error()
}

// usualPorts are those of the schemes and servers that doctor meets.
var usualPorts = map[string]string{
	"http": "80", "https": "443", "postgres": "5432", "postgresql": "5432", "nats": "4222", "tls": "4222",
}

// endpoint finds the network and address to dial in a URL, host:port, or a list of key=value. It
// never repeats what it was given: there may be a password in it.
func endpoint(address string) (network, at string, err error) {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		port := u.Port()
		if port == "" {
			port = usualPorts[u.Scheme]
		}
		return "tcp", net.JoinHostPort(u.Hostname(), port), nil
	}
	if host, port, err := net.SplitHostPort(address); err == nil {
		return "tcp", net.JoinHostPort(host, port), nil
	}
	values := map[string]string{"host": "127.0.0.1", "port": usualPorts["postgres"]}
	known := false
	for _, word := range strings.Fields(address) {
		if key, value, ok := strings.Cut(word, "="); ok {
			values[key], known = value, true
		}
	}
	if !known {
		return "", "", errors.New("the address is neither a URL nor host:port nor key=value")
	}
	if strings.HasPrefix(values["host"], "/") {
		return "unix", filepath.Join(values["host"], ".s.PGSQL."+values["port"]), nil
	}
	return "tcp", net.JoinHostPort(values["host"], values["port"]), nil
}

// checkWeb says what agents can read of the web.
func (d *doctor) checkWeb() {
	s := d.settings.Web
	if len(s.Hosts)+len(s.Local) == 0 {
		d.say(LevelOK, "web", "agents read no pages: web.hosts is empty", "")
		return
	}
	if _, err := pages(s, d.lookup); err != nil {
		d.say(LevelFail, "web", err.Error(), "correct it; without it no worker starts")
		return
	}
	d.say(LevelOK, "web", "pages can be read from "+strings.Join(slices.Concat(s.Hosts, s.Local), ", "), "")
	if key, err := s.Search.Key.Reveal(d.lookup); err == nil && key != "" {
		d.say(LevelOK, "web search", "key "+s.Search.Key.Reference()+" found", "")
		return
	}
	level := LevelOK // nobody asked for it
	if d.loaded.Origins["web.search.key"].Kind != config.FromDefault {
		level = LevelWarn
	}
	d.say(level, "web search", "no key: web_search is not offered", "set TAVILY_API_KEY, or web.search.key to where the key is")
}

// checkDataDir tries to write where the data is or will be.
func (d *doctor) checkDataDir() {
	dir := d.settings.DataDir
	at := dir
	for at != filepath.Dir(at) {
		if _, err := os.Stat(at); err == nil {
			break
		}
		at = filepath.Dir(at)
	}
	f, err := os.CreateTemp(at, ".retinue-doctor-*")
	if err != nil {
		d.say(LevelFail, "data folder", dir+" cannot be written: "+reason(err), "change its owner, or set data_dir")
		return
	}
	if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
		d.say(LevelFail, "data folder", err.Error(), "look at the file system")
		return
	}
	d.say(LevelOK, "data folder", dir+" is writable", "")
}

// checkPrograms looks for the programs that tools use.
func (d *doctor) checkPrograms() {
	for _, p := range []struct{ name, without string }{
		{"rg", "searching is slower without it; install ripgrep"},
		{"git", "changes cannot be shown or undone without it; install git"},
	} {
		if at, err := exec.LookPath(p.name); err == nil {
			d.say(LevelOK, p.name, at, "")
		} else {
			d.say(LevelWarn, p.name, "not found", p.without)
		}
	}
}

// checkSandbox opens the sandbox, which tests itself.
func (d *doctor) checkSandbox(ctx context.Context) {
	const check = "sandbox"
	e := newSandboxes(d.settings.Sandbox)
	_, err := e.Enter(ctx)
	err = errors.Join(err, e.Close())
	switch warning := e.options.Warning(); {
	case err != nil:
		d.say(LevelWarn, check, said(err), "agents cannot run commands until then; see docs/security.md")
	case warning != "":
		d.say(LevelWarn, check, warning, "set sandbox.tier, or run as an ordinary user")
	default:
		d.say(LevelOK, check, string(e.options.Tier)+" works (its self-test passed)", "")
	}
}
