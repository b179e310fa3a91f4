package doctor

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/secret"
)

// listen opens a port that accepts connections until the test ends.
func listen(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// inputs writes settings for a person and leaves out everything else of this machine.
func inputs(t *testing.T, text string) config.Inputs {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "xdg", "retinue")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "retinue.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.Inputs{Home: filepath.Join(root, "home"), ConfigHome: filepath.Join(root, "xdg"), Project: filepath.Join(root, "project")}
}

// content are parts that are as they should be.
func content() Parts {
	fine := func() error { return nil }
	return Parts{
		Engine:      func(context.Context) (bool, error) { return true, nil },
		Journal:     func(context.Context) error { return nil },
		Certificate: fine, Pages: fine,
		Webhooks: func(context.Context) Webhooks { return Webhooks{} },
		Sandbox:  func(context.Context) (Sandbox, error) { return Sandbox{Tier: "bubblewrap"}, nil },
	}
}

// examine runs doctor on settings, with components that work or are changed.
func examine(t *testing.T, in config.Inputs, changes ...func(*Parts)) []Finding {
	t.Helper()
	parts := content()
	for _, change := range changes {
		change(&parts)
	}
	loaded, err := config.LoadSettings(in)
	return Examine(t.Context(), loaded, err, secret.New(nil), parts)
}

// levels is how each check ended, the worst of several of one name.
func levels(findings []Finding) map[string]Level {
	rank := map[Level]int{OK: 1, Warn: 2, Fail: 3}
	got := map[string]Level{}
	for _, f := range findings {
		if rank[f.Level] > rank[got[f.Check]] {
			got[f.Check] = f.Level
		}
	}
	for _, program := range []string{"rg", "git", "sandbox"} { // depend on the machine
		delete(got, program)
	}
	return got
}

func TestDoctorIsContentWhenAllIsThere(t *testing.T) {
	t.Setenv("DOCTOR_KEY", "s3cret-value-that-must-not-show")
	at := listen(t)
	findings := examine(t, inputs(t, `
providers: {local: {kind: openai, base_url: 'http://`+at+`/v1', key: '{env:DOCTOR_KEY}'}}
tiers: {fast: local/a, balanced: local/a, strong: local/a}
journal: {dsn: 'postgres://me@`+at+`/db'}
live: {nats_url: 'nats://`+at+`'}
engine: {temporal_address: '`+at+`'}
`))
	want := map[string]Level{
		"settings": OK, "roles": OK, "provider local": OK, "postgres": OK, "nats": OK,
		"temporal": OK, "web": OK, "web search": OK, "data folder": OK,
		"journal": OK, "engine": OK,
	}
	if diff := cmp.Diff(want, levels(findings)); diff != "" {
		t.Errorf("%s\n%+v", diff, findings)
	}
	for _, f := range findings {
		if strings.Contains(f.Detail+f.Advice, "s3cret") {
			t.Errorf("it shows the key: %+v", f)
		}
	}
}

func TestDoctorNamesEverythingThatIsMissing(t *testing.T) {
	closed := "127.0.0.1:1"
	in := inputs(t, `
providers: {local: {kind: openai, base_url: 'http://`+closed+`', key: '{env:DOCTOR_NO_SUCH_KEY}'}}
tiers: {fast: local/a}
journal: {dsn: '{file:dsn}'}
live: {nats_url: 'nats://`+closed+`'}
engine: {temporal_address: nowhere}
web: {search: {key: '{env:DOCTOR_NO_SUCH_KEY}'}}
data_dir: /proc/none/data
`)
	dsn := filepath.Join(in.ConfigHome, "retinue", "dsn")
	if err := os.WriteFile(dsn, []byte("host=127.0.0.1 port=1 password=hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	findings := examine(t, in)
	want := map[string]Level{
		"settings": OK, "roles": OK, "models": Fail, "provider local": Fail, "postgres": Fail,
		"nats": Fail, "temporal": Fail, "web": OK, "web search": Warn, "data folder": Fail,
	}
	if diff := cmp.Diff(want, levels(findings)); diff != "" {
		t.Errorf("%s\n%+v", diff, findings)
	}
	for _, f := range findings {
		if strings.Contains(f.Detail+f.Advice, "hunter2") {
			t.Errorf("it shows the password: %+v", f)
		}
		if f.Level == Fail && f.Advice == "" {
			t.Errorf("no advice: %+v", f)
		}
	}
}

func TestDoctorStopsAtSettingsThatCannotBeRead(t *testing.T) {
	findings := examine(t, inputs(t, "tears: {}\ntiers: {fast: nobody/x}\nbad: 1\n"))
	if len(findings) != 2 || findings[0].Level != Fail || !strings.Contains(findings[0].Detail, "retinue.yaml:1:1") ||
		!strings.Contains(findings[1].Detail, "retinue.yaml:3:1") {
		t.Errorf("%+v", findings)
	}
}

func TestEndpointsAreFoundInEveryForm(t *testing.T) {
	for address, want := range map[string]string{
		"https://api.example.com/v1":              "tcp api.example.com:443",
		"http://127.0.0.1:8080":                   "tcp 127.0.0.1:8080",
		"postgres://u:p@db/x?sslmode=disable":     "tcp db:5432",
		"nats://h":                                "tcp h:4222",
		"127.0.0.1:7233":                          "tcp 127.0.0.1:7233",
		"[::1]:7233":                              "tcp [::1]:7233",
		"host=db user=x":                          "tcp db:5432",
		"host=/run/postgresql port=5433 dbname=x": "unix /run/postgresql/.s.PGSQL.5433",
	} {
		network, at, err := endpoint(address)
		if got := network + " " + at; err != nil || got != want {
			t.Errorf("%s is %s (%v), want %s", address, got, err, want)
		}
	}
	if _, _, err := endpoint("sekret"); err == nil || strings.Contains(err.Error(), "sekret") {
		t.Errorf("got %v", err)
	}
}

// found are the findings of one check, as level and text.
func found(findings []Finding, check string) string {
	var out []string
	for _, f := range findings {
		if f.Check == check {
			out = append(out, string(f.Level)+" "+f.Detail)
		}
	}
	return strings.Join(out, "; ")
}

func TestPartsThatFailAreNamed(t *testing.T) {
	lost := errors.New("lost")
	at := listen(t)
	local, far := "engine: {temporal_address: '"+at+"'}\n", "engine: {temporal_address: '0.0.0.0:"+at[strings.LastIndex(at, ":")+1:]+"'}\n"
	bare := func(p *Parts) { p.Engine = func(context.Context) (bool, error) { return false, nil } }
	hooks := func(w Webhooks) func(*Parts) {
		return func(p *Parts) { p.Webhooks = func(context.Context) Webhooks { return w } }
	}
	box := func(s Sandbox, err error) func(*Parts) {
		return func(p *Parts) { p.Sandbox = func(context.Context) (Sandbox, error) { return s, err } }
	}
	for name, c := range map[string]struct {
		settings, check string
		change          func(*Parts)
		want            string
	}{
		"an engine that refuses": {local, "engine", func(p *Parts) {
			p.Engine = func(context.Context) (bool, error) {
				return false, &chat.Error{Code: chat.CodeDenied, Message: "no entry"}
			}
		}, "fail no entry"},
		"an engine for everybody here":  {local, "engine", bare, "warn asks for no credential: every program on this machine can use it"},
		"an engine for everybody":       {far, "engine", bare, "warn is reached over the network without TLS: any program that can reach it can stop and misuse every run"},
		"a certificate that is not one": {"", "serve", func(p *Parts) { p.Certificate = func() error { return lost } }, "fail lost"},
		"rules for pages":               {"", "web", func(p *Parts) { p.Pages = func() error { return lost } }, "fail lost"},
		"no webhooks":                   {"", "webhooks", hooks(Webhooks{Unread: fs.ErrNotExist, Keyless: true}), ""},
		"webhooks":                      {"", "webhooks", hooks(Webhooks{Count: 2}), "ok 2, whose secrets can be opened"},
		"a key that cannot be read":     {"", "webhooks", hooks(Webhooks{Unread: lost}), "fail lost"},
		"a key that is gone":            {"", "webhooks", hooks(Webhooks{Count: 1, Unread: fs.ErrNotExist}), "fail 1 cannot be sent, since their key is missing: file does not exist"},
		"another key":                   {"", "webhooks", hooks(Webhooks{Err: lost}), "fail lost"},
		"no key where none is needed":   {"", "webhooks", hooks(Webhooks{Err: lost, Keyless: true}), "warn lost"},
		"no sandbox":                    {"", "sandbox", box(Sandbox{}, lost), "warn lost"},
		"a sandbox that confines little": {
			"", "sandbox", box(Sandbox{Warning: "root"}, nil), "warn root",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := found(examine(t, inputs(t, c.settings), c.change), c.check); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
