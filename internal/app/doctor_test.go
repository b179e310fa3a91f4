package app

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/config"
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

// levels is how each check ended, the worst of several of one name.
func levels(findings []Finding) map[string]Level {
	rank := map[Level]int{LevelOK: 1, LevelWarn: 2, LevelFail: 3}
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
	findings := Doctor(t.Context(), inputs(t, `
providers: {local: {kind: openai, base_url: 'http://`+at+`/v1', key: '{env:DOCTOR_KEY}'}}
tiers: {fast: local/a, balanced: local/a, strong: local/a}
journal: {dsn: 'postgres://me@`+at+`/db'}
live: {nats_url: 'nats://`+at+`'}
engine: {temporal_address: '`+at+`'}
`))
	want := map[string]Level{
		"settings": LevelOK, "roles": LevelOK, "provider local": LevelOK, "postgres": LevelOK, "nats": LevelOK,
		"temporal": LevelOK, "web": LevelOK, "web search": LevelOK, "data folder": LevelOK,
		"journal": LevelFail, "engine": LevelFail, // what listens here is no Postgres, and no Temporal
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
	findings := Doctor(t.Context(), in)
	want := map[string]Level{
		"settings": LevelOK, "roles": LevelOK, "models": LevelFail, "provider local": LevelFail, "postgres": LevelFail,
		"nats": LevelFail, "temporal": LevelFail, "web": LevelOK, "web search": LevelWarn, "data folder": LevelFail,
	}
	if diff := cmp.Diff(want, levels(findings)); diff != "" {
		t.Errorf("%s\n%+v", diff, findings)
	}
	for _, f := range findings {
		if strings.Contains(f.Detail+f.Advice, "hunter2") {
			t.Errorf("it shows the password: %+v", f)
		}
		if f.Level == LevelFail && f.Advice == "" {
			t.Errorf("no advice: %+v", f)
		}
	}
}

func TestDoctorStopsAtSettingsThatCannotBeRead(t *testing.T) {
	findings := Doctor(t.Context(), inputs(t, "tears: {}\ntiers: {fast: nobody/x}\nbad: 1\n"))
	if len(findings) != 2 || findings[0].Level != LevelFail || !strings.Contains(findings[0].Detail, "retinue.yaml:1:1") ||
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
