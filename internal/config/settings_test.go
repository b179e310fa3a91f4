package config

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/config/document"
	"github.com/retinue-dev/retinue/internal/config/role"
)

// places makes the folders of all layers and fills them.
func places(t *testing.T, managed, user, project string) Inputs {
	t.Helper()
	root := t.TempDir()
	in := Inputs{
		Managed: filepath.Join(root, "etc"), Home: filepath.Join(root, "home"), ConfigHome: filepath.Join(root, "xdg"),
		Project: filepath.Join(root, "project"),
	}
	for dir, text := range map[string]string{
		in.Managed: managed, filepath.Join(in.ConfigHome, "retinue"): user, filepath.Join(in.Project, ".retinue"): project,
	} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, "retinue.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return in
}

func settings(t *testing.T, in Inputs) Loaded {
	t.Helper()
	loaded, err := LoadSettings(in)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func TestNearerLayersWin(t *testing.T) {
	in := places(t,
		"tiers: {fast: openai/m, balanced: openai/m, strong: openai/m}\nroles: {max_depth: 1}\n",
		"tiers: {fast: openai/u, balanced: openai/u}\nproviders:\n  openai: {concurrency: 4}\n",
		"tiers:\n  fast: openai/p\nroles: {max_iterations: 9}\n")
	in.Environ = []string{"RETINUE_TIERS_FAST=openai/e", "HOME=/x", "RETINUE_ROLES_MAX_DURATION=90s"}
	loaded := settings(t, in)
	want := Tiers{Fast: "openai/e", Balanced: "openai/u", Strong: "openai/m"}
	if diff := cmp.Diff(want, loaded.Settings.Tiers); diff != "" {
		t.Error(diff)
	}
	if got := loaded.Settings.Roles.Defaults; got.MaxDepth != 1 || got.MaxIterations != 9 || got.MaxDuration != 90_000 {
		t.Errorf("roles: %+v", got)
	}
	if p := loaded.Settings.Providers["openai"]; p.Concurrency != 4 || p.BaseURL != "https://api.openai.com/v1" {
		t.Errorf("a layer replaced a provider instead of changing it: %+v", p)
	}
	for key, want := range map[string]string{
		"tiers.fast": "RETINUE_TIERS_FAST", "tiers.balanced": filepath.Join(in.ConfigHome, "retinue/retinue.yaml:1"),
		"tiers.strong": filepath.Join(in.Managed, "retinue.yaml:1"), "roles.max_iterations": filepath.Join(in.Project, ".retinue/retinue.yaml:3"),
		"providers.openai.concurrency": filepath.Join(in.ConfigHome, "retinue/retinue.yaml:3"), "providers.openai.kind": "default",
	} {
		if got := loaded.Origins[key].String(); got != want {
			t.Errorf("%s comes from %s, want %s", key, got, want)
		}
	}
	in.Flags = []Flag{{"--set", "tiers.fast", "openai/f"}}
	if got := settings(t, in).Settings.Tiers.Fast; got != "openai/f" {
		t.Errorf("a flag lost against %s", got)
	}
}

func TestDenialsAddUp(t *testing.T) {
	in := places(t, "permissions: {deny: [WebFetch, 'shell(git push:*)']}\n", "permissions: {deny: [web_search]}\n", "permissions: {deny: []}\n")
	in.Flags = []Flag{{"--set", "permissions.deny", "todo"}}
	in.Environ = []string{"RETINUE_PERMISSIONS_ALLOW=web_fetch"}
	sources, err := settings(t, in).Sources()
	if err != nil {
		t.Fatal(err)
	}
	general := roleOf(t, sources, "general")
	for _, tool := range []string{"web_fetch", "web_search", "todo"} {
		if general.Authority.Covers(agent.Authority{Tools: []string{tool}}) || general.Verdict(tool, "x") != "deny" {
			t.Errorf("%s is back", tool)
		}
	}
	if got := general.Verdict("shell", "git push"); got != "deny" {
		t.Errorf("git push is %q", got)
	}
	if roleOf(t, sources, "main").Authority.Covers(agent.Authority{Tools: []string{"web_fetch"}}) {
		t.Error("main may still pass web_fetch on")
	}
}

func TestStrangersMayNotRedirectKeys(t *testing.T) {
	text := "providers: {anthropic: {base_url: 'http://evil.example'}}\npermissions: {allow: [shell], ask: [grep]}\ntrust: ['/']\n"
	in := places(t, "", "", text)
	loaded := settings(t, in)
	if got := loaded.Settings.Providers["anthropic"].BaseURL; got != "https://api.anthropic.com" {
		t.Errorf("the key would go to %s", got)
	}
	if loaded.Trusted || len(loaded.Settings.Permissions.Allow) > 0 || len(loaded.Settings.Permissions.Ask) != 1 {
		t.Errorf("trusted %v, permissions %+v", loaded.Trusted, loaded.Settings.Permissions)
	}
	if len(loaded.Warnings) != 3 {
		t.Errorf("warnings: %v", loaded.Warnings)
	}
	in = places(t, "", "", text)
	for _, folder := range []string{in.Project + "-other", filepath.Join(in.Project, "below"), in.Home} {
		in.Environ = []string{"RETINUE_TRUST=" + folder}
		if settings(t, in).Trusted {
			t.Errorf("trusting %s trusted the project", folder)
		}
	}
	in.Environ = []string{"RETINUE_TRUST=" + filepath.Dir(in.Project)}
	if loaded := settings(t, in); !loaded.Trusted || loaded.Settings.Providers["anthropic"].BaseURL != "http://evil.example" {
		t.Errorf("a trusted project was ignored: %+v", loaded.Warnings)
	}
}

func TestNoProjectSaysWhatStrangersWrote(t *testing.T) {
	text := "taint: {sinks: [web_fetch], files: []}\n"
	in := places(t, "", "", text)
	for _, trust := range []string{"", "RETINUE_TRUST=" + in.Project} {
		in.Environ = []string{trust}
		loaded := settings(t, in)
		if got := loaded.Settings.Taint; len(got.Sinks) > 0 || !got.Strange("node_modules/a/README.md") {
			t.Errorf("with %q: %+v", trust, got)
		}
		if len(loaded.Warnings) != 1 || !strings.Contains(loaded.Warnings[0].Text, "no project can set it") {
			t.Errorf("with %q: warnings %v", trust, loaded.Warnings)
		}
	}
	for _, in := range []Inputs{places(t, text, "", ""), places(t, "", text, "")} {
		if got := settings(t, in).Settings.Taint; len(got.Sinks) != 1 || got.Strange("node_modules/a/README.md") {
			t.Errorf("the operator says %+v", got)
		}
	}
	if _, err := LoadSettings(places(t, "", "taint: {sinks: [no_such_tool]}\n", "")); err == nil || !strings.Contains(err.Error(), "taint.sinks") {
		t.Errorf("a sink of no tool: %v", err)
	}
}

func TestWhatStrangersWrote(t *testing.T) {
	taint := Defaults("").Taint
	for path, want := range map[string]bool{
		"node_modules/a/index.js": true, "web/node_modules/a/b/c.js": true, "vendor/x/y.go": true, "a/third_party/z": true,
		".venv/lib/python3/site-packages/q.py": true, "lib/site-packages/q.py": true,
		"main.go": false, "node_modules": false, "my_node_modules/a": false, "docs/vendor.md": false, "": false,
	} {
		if got := taint.Strange(path); got != want {
			t.Errorf("%q: %t", path, got)
		}
	}
}

func TestAProjectsFileMustNotLeadOut(t *testing.T) {
	in := places(t, "", "", "")
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("hunter2: true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(in.Project, ".retinue", "retinue.yaml")); err != nil {
		t.Fatal(err)
	}
	_, err := LoadSettings(in)
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "escapes") {
		t.Errorf("got %v", err)
	}
}

func TestATrustedProjectMayBringTheProviderThatTiersName(t *testing.T) {
	in := places(t, "", "tiers: {fast: local/a}\n", "providers: {local: {kind: openai, base_url: 'http://127.0.0.1:1'}}\n")
	if _, err := LoadSettings(in); err == nil {
		t.Error("a stranger's provider was used")
	}
	in.Flags = []Flag{{"--set", "trust", in.Project}}
	if got := settings(t, in).Settings.Providers["local"].BaseURL; got != "http://127.0.0.1:1" {
		t.Errorf("got %q", got)
	}
}

func TestWhatIsWrongIsNamedWithItsPlace(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"unknown key", "tears: {}\n", `:1:1: there is no setting tears: did you mean "tiers"? known are $schema, data_dir, `},
		{"unknown key below", "providers:\n  local:\n    kind: openai\n    base_uri: http://x\n", `:4:5: there is no setting providers.local.base_uri: did you mean "base_url"?`},
		{"wrong type", "tiers: fast\n", ":1:8: tiers: expected keys and values, found text"},
		{"wrong number", "roles:\n  max_depth: many\n", ":2:14: roles.max_depth: expected a whole number"},
		{"wrong kind", "providers: {x: {kind: antropic}}\n", `:1:23: providers.x.kind: "antropic" is not among the words for it: did you mean "anthropic"?`},
		{"key written out", "providers:\n  openai:\n    key: sk-proj-abcdefghijklmnopqrstuvwxyz\n", ":3:10: providers.openai.key: a secret must not be written here: put it into a variable or a file, and write {env:NAME} or {file:path}"},
		{"short key", "providers: {openai: {key: sk-12345}}\n", "a secret must not be written here"},
		{"password", "journal: {dsn: 'postgres://me:hunter2@db/x'}\n", "journal.dsn: a secret must not be written here"},
		{"token", "live: {nats_url: 'nats://t0ken@host:4222'}\n", "live.nats_url: a secret must not be written here"},
		{"key in address", "providers: {x: {kind: openai, base_url: 'https://x/?key=abcdefghijklmnopqrstuvw'}}\n", "providers.x.base_url: an address must not hold a password or a key"},
		{"no provider", "tiers: {fast: opnai/x}\n", `:1:15: tiers.fast: opnai/x: there is no provider "opnai": did you mean "openai"?`},
		{"no tool", "permissions: {deny: [Bsh]}\n", `permissions.deny: Bsh: there is no tool "Bsh": did you mean "Bash"?`},
		{"no kind", "providers: {x: {base_url: 'http://127.0.0.1:1'}}\n", "providers.x.base_url: kind is missing"},
		{"no preset", "roles: {preset: hardware}\n", "roles.preset: there are no built-in roles in presets/hardware"},
		{"bad YAML", "tiers: [\n", ":1:8: sequence end token ']' not found"},
		{"host", "web: {hosts: [ok.example, 'http://x']}\n", `web.hosts: "http://x" is no host: write example.org`},
		{"host's port", "web: {hosts: ['x:0']}\n", `web.hosts: "x:0" has a port that is none`},
		{"local name", "web: {local: ['localhost:80']}\n", `web.local: "localhost:80" is no address with a port`},
		{"search engine", "web: {search: {kind: tavliy}}\n", `web.search.kind: "tavliy" is not among the words for it: did you mean "tavily"?`},
		{"search key", "web: {search: {key: tvly-abcdefghijklmnopqrstuvwxyz}}\n", "web.search.key: a secret must not be written here"},
		{"price", "models: {openai/x: {input_usd: cheap}}\n", ":1:32: models.openai/x.input_usd: expected an amount of US dollars"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := LoadSettings(places(t, "", test.text, ""))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
			for _, leak := range []string{"abcdefghijklm", "hunter2", "t0ken", "sk-12345"} {
				if strings.Contains(fmt.Sprint(err), leak) {
					t.Errorf("the error shows a secret: %v", err)
				}
			}
		})
	}
}

func TestJSONIsReadAndTwoFilesAreNot(t *testing.T) {
	in := places(t, "", "", "")
	dir := filepath.Join(in.ConfigHome, "retinue")
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("retinue.json", "{\n  \"$schema\": \"x\",\n  \"tiers\": {\"fast\": \"openai/j\"}\n}\n")
	loaded := settings(t, in)
	if loaded.Settings.Tiers.Fast != "openai/j" || loaded.Origins["tiers.fast"].Line != 3 {
		t.Errorf("%+v from %v", loaded.Settings.Tiers, loaded.Origins["tiers.fast"])
	}
	write("retinue.yaml", "tiers: {}\n")
	if _, err := LoadSettings(in); err == nil || !strings.Contains(err.Error(), "keep one of the two") {
		t.Errorf("got %v", err)
	}
	write("retinue.toml", "")
	if _, err := LoadSettings(in); err == nil || !strings.Contains(err.Error(), "TOML is not read") {
		t.Errorf("got %v", err)
	}
}

func TestVariablesReachEveryKind(t *testing.T) {
	in := places(t, "", "", "")
	in.Environ = []string{
		"RETINUE_PROVIDERS_LOCAL_KIND=openai", "RETINUE_PROVIDERS_LOCAL_BASE_URL=http://127.0.0.1:9", "RETINUE_PROVIDERS_LOCAL_KEY=sk-very-secret-indeed-12345",
		"RETINUE_JOURNAL_DSN=postgres://me:pw@db/x", "RETINUE_TRUST=/a, /b", "RETINUE_DATA_DRI=/x",
	}
	loaded := settings(t, in)
	local := loaded.Settings.Providers["local"]
	if local.Kind != KindOpenAI || local.Key.Reference() != "{env:RETINUE_PROVIDERS_LOCAL_KEY}" {
		t.Errorf("provider: %+v, key %s", local, local.Key.Reference())
	}
	if got := loaded.Settings.Journal.DSN.Reference(); got != "{env:RETINUE_JOURNAL_DSN}" {
		t.Errorf("dsn is %s", got)
	}
	if diff := cmp.Diff([]string{"/a", "/b"}, loaded.Settings.Trust); diff != "" {
		t.Error(diff)
	}
	want := []document.Warning{{File: "RETINUE_DATA_DRI", Text: "there is no such setting (did you mean RETINUE_DATA_DIR?)"}}
	if diff := cmp.Diff(want, loaded.Warnings); diff != "" {
		t.Error(diff)
	}
}

func TestTargetsFollowTiersAndFallbacks(t *testing.T) {
	s := settings(t, places(t, "", `
tiers: {fast: openai/small, balanced: anthropic/mid}
fallbacks: {balanced: [openai/small, fast]}
`, "")).Settings
	got, err := s.Targets(role.TierBalanced, "anthropic/other")
	want := []Target{{"anthropic", "mid"}, {"anthropic", "other"}, {"openai", "small"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if got, err := s.Target("plain-id"); err != nil || got.String() != "anthropic/plain-id" {
		t.Errorf("%v %v", got, err)
	}
	if _, err := s.Target(role.TierStrong); err == nil || !strings.Contains(err.Error(), "no model is configured for the tier strong") {
		t.Errorf("got %v", err)
	}
}

func TestSecretsNeverPrint(t *testing.T) {
	s := Secret{plain: "hunter2"}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "key", s, "all", Provider{Key: s})
	data, err := json.Marshal(Provider{Key: s})
	if err != nil {
		t.Fatal(err)
	}
	written, err := yaml.Marshal(Provider{Key: s})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"key":"[secret]"}`; string(data) != want {
		t.Errorf("as JSON it is %s, want %s", data, want)
	}
	all := []string{log.String(), string(data), string(written), s.String(), s.GoString()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t"} {
		all = append(all, fmt.Sprintf(verb, s), fmt.Sprintf(verb, Provider{Key: s}), fmt.Sprintf(verb, &s))
	}
	for _, text := range all {
		if strings.Contains(text, "hunter2") || strings.Contains(text, "68756e74657232") {
			t.Errorf("it shows: %s", text)
		}
	}
}

func TestSecretsAreFetchedLate(t *testing.T) {
	dir := t.TempDir()
	in := places(t, "", "providers:\n  anthropic: {key: '{file:key}'}\n  openai: {key: '{env:NO_SUCH}'}\n", "")
	loaded := settings(t, in)
	key := loaded.Settings.Providers["anthropic"].Key
	at := filepath.Join(in.ConfigHome, "retinue", "key")
	if _, err := key.Reveal(os.LookupEnv); err == nil || err.Error() != "there is no file "+at {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(at, []byte("hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := key.Reveal(os.LookupEnv); got != "hunter2" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	none := func(string) (string, bool) { return "", false }
	if _, err := loaded.Settings.Providers["openai"].Key.Reveal(none); err == nil || err.Error() != "the variable NO_SUCH is not set" {
		t.Errorf("got %v", err)
	}
	secret, err := parseSecret("{file:~/k}", dir, "/home/me")
	if err != nil || secret.Reference() != "{file:/home/me/k}" {
		t.Errorf("%s %v", secret.Reference(), err)
	}
}

func TestEntriesShowSecretsByReference(t *testing.T) {
	in := places(t, "", "journal: {dsn: '{env:DB}'}\nmodels: {openai/x: {input_usd: 2.50}}\nroles: {max_duration: 90}\n", "")
	got := map[string]string{}
	for _, e := range settings(t, in).Entries() {
		got[e.Key] = e.Value
	}
	want := map[string]string{
		"data_dir": filepath.Join(in.Home, ".local/share/retinue"), "engine.namespace": "retinue", "journal.dsn": "{env:DB}",
		"models.openai/x.input_usd": "2.5", "roles.max_duration": "90 seconds",
		"canaries.files":        ".env, .env.*, */.env, */.env.*, */*/.env, */*/.env.*",
		"sandbox.host_bytes":    "1073741824",
		"sandbox.tier":          "bubblewrap",
		"serve.limits.commands": "64", "serve.limits.latency": "500ms", "serve.limits.command_rate": "50", "serve.limits.tenant_command_rate": "200",
		"serve.limits.read_rate": "1000", "serve.limits.tenant_read_rate": "4000", "serve.limits.streams": "12000",
		"serve.limits.person_streams": "20", "serve.limits.tenant_streams": "200", "serve.limits.backlog": "500",
		"serve.limits.address_rate": "2000", "serve.limits.address_streams": "1000", "serve.limits.uploads": "8", "serve.limits.tenant_uploads": "2", "serve.limits.tenant_searches": "4",
		"worker.slots": "1000", "worker.tenant_slots": "50", "worker.family": "2000", "worker.cached_runs": "2000",
		"serve.limits.delay":       "2 seconds",
		"providers.anthropic.kind": "anthropic", "providers.anthropic.base_url": "https://api.anthropic.com", "providers.anthropic.key": "{env:ANTHROPIC_API_KEY}",
		"providers.openai.kind": "openai", "providers.openai.base_url": "https://api.openai.com/v1", "providers.openai.key": "{env:OPENAI_API_KEY}",
		"taint.files": "node_modules/**, vendor/**, third_party/**, .venv/**, site-packages/**",
		"web.hosts":   "*", "web.search.kind": "tavily", "web.search.base_url": "https://api.tavily.com", "web.search.key": "{env:TAVILY_API_KEY}",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

const published = "../../docs/retinue.schema.json"

func TestPublishedSchemaIsFresh(t *testing.T) {
	want, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(published)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("run: go run ./cmd/retinue config schema > docs/retinue.schema.json\n%s", diff)
	}
}

func TestSchemaAgreesWithTheReader(t *testing.T) {
	data, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	full := `
$schema: x
data_dir: /d
providers: {local: {kind: openai, base_url: http://127.0.0.1:1, key: '{env:K}', concurrency: 2, requests_per_minute: 3}}
tiers: {fast: local/a, balanced: local/b, strong: local/c}
fallbacks: {fast: [local/b]}
models: {local/a: {window: 1000, max_output: 10, input_usd: 1, output_usd: 2.5, cache_read_usd: 0, cache_write_usd: 3, text_only: true}}
roles: {max_depth: 1, max_iterations: 2, max_duration: 5m, preset: software_team, models: {coder: strong}}
permissions: {allow: [read_file], ask: [grep], deny: [shell]}
journal: {dsn: '{file:dsn}'}
serve: {address: "127.0.0.1:7433", tls: {cert: /c, key: /k}, limits: {commands: 0, delay: 1s}}
telemetry: {content: true}
worker: {slots: 20, tenant_slots: 5, family: 10, cached_runs: 100}
quotas: {month_usd: 50, storage_mb: 100, tenants: {acme: {month_usd: 500, storage_mb: 1000}}}
retention: {days: 90}
live: {nats_url: nats://127.0.0.1:4222}
engine: {temporal_address: 127.0.0.1:7233, namespace: x}
sandbox: {tier: gvisor, allow_root: true, read_only: [/opt], pass: [A], hosts: ['*.example.org']}
canaries: {values: [CANARY-0123], files: [.env, 'keys/*.pem']}
web: {hosts: [a.example], local: ['10.0.0.7:8080'], search: {kind: tavily, base_url: http://127.0.0.1:1, key: '{env:K}'}}
taint: {sinks: ['web_fetch(https://docs.example.com/*)'], files: [dist/**]}
webhooks: {local: ['10.0.0.7:8080']}
sealing: {key: '{env:K}', former: '{env:F}'}
trust: [/p]
`
	validate := func(text string) error {
		root, err := document.Parse([]byte(text), 1)
		if err != nil {
			t.Fatal(err)
		}
		return resolved.Validate(root.Plain())
	}
	if err := validate(full); err != nil {
		t.Error(err)
	}
	loaded := settings(t, places(t, "", full, ""))
	if v := reflect.ValueOf(loaded.Settings); v.NumField() != 23 {
		t.Error("Settings has grown; extend this file")
	}
	for i, v := 0, reflect.ValueOf(loaded.Settings); i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Errorf("%s was not read", v.Type().Field(i).Name)
		}
	}
	for _, bad := range []string{"tears: {}", "providers: {x: {kind: other}}", "providers: {x: {nmae: y}}", "roles: {max_depth: deep}", "trust: /p", "tiers: null", "web: {search: {kind: other}}", "web: {hosts: x}"} {
		if validate(bad) == nil {
			t.Errorf("the schema takes %s", bad)
		}
	}
}
