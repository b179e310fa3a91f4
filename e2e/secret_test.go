//go:build services

package e2e

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/durable"
	"github.com/retinue-dev/retinue/internal/durable/history"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/postgres/postgrestest"
	"github.com/retinue-dev/retinue/internal/mtls"
	"github.com/retinue-dev/retinue/internal/secret"
)

// TestSecrets plants 50 values in variables, settings, files, messages, replies, headers and
// addresses, has the shipped programs talk about them, and looks for each, in each encoding, in
// everything that is left: none is found. A program that does not redact is played as well, and
// they are found everywhere but in the engine: it gets no text anyway, and internal/durable redacts
// failures.
//
// It is played before the others: it has an engine on Postgres of its own, and a server has
// connections for one more only while no other test needs them.
//
// Covers: P29.
func TestSecrets(t *testing.T) {
	engine := &stack{}
	store := postgrestest.New(t, "_visibility")
	engine.startEngine(t, []string{"--postgres", store.DSN})
	hosted := func(t *testing.T, binary string) map[string][]byte {
		t.Helper()
		p := newSecretPlay(t, binary, engine.engineSettings())
		p.hosted(t)
		out := p.surfaces(t)
		out["journal"] = dump(t, p.owner)
		out["bus"] = []byte(p.live.String())
		out["engine"] = append(dump(t, store.DSN), dump(t, strings.Replace(store.DSN, "?", "_visibility?", 1))...)
		out["histories"] = p.histories(t, engine, out["run"])
		return p.found(t, out)
	}
	t.Run("postgres", func(t *testing.T) {
		refuseFound(t, hosted(t, program(t, "retinue", "lean")))
	})
	t.Run("unredacted", func(t *testing.T) {
		found := hosted(t, gossiping(t))
		for _, surface := range []string{"journal", "bus", "run", "log", "model"} {
			if len(found[surface]) == 0 {
				t.Errorf("a program that does not redact leaves nothing in %s: what is looked for there proves nothing", surface)
			}
		}
	})
}

// TestSecretsAlone does the same with everything in one process and on SQLite.
func TestSecretsAlone(t *testing.T) {
	t.Parallel()
	p := newSecretPlay(t, program(t, "retinue-full", "engine"), "")
	p.talk(t)
	out := p.surfaces(t)
	out["data"] = p.files(t)
	refuseFound(t, p.found(t, out))
}

// talk has agents talk about the values, well and in vain.
func (p *secretPlay) talk(t *testing.T, flags ...string) {
	t.Helper()
	v := p.values
	args := func(more ...string) []string { return append(append([]string{"run", "--headless"}, flags...), more...) }
	for _, format := range []string{"json", "stream-json", "text"} {
		began := time.Now()
		if err := p.run(t, args("--output-format", format, "Find "+v[inPrompt]+" in the files")...); err != nil {
			t.Fatalf("run %s: %v\n%s\n%s", format, err, &p.out, &p.errs)
		}
		t.Logf("%s after %v", format, time.Since(began))
	}
	for _, more := range [][]string{
		{"-v", "Now repeat the headers, " + v[inTitle]},
		{"-v", "--model", "other/model", "Now repeat the headers"},
		{"-v", "--model", "dead/model", "--timeout", "3s", "Is anybody there?"},
		{"--role", v[inRole], "Who are you?"},
	} {
		if err := p.run(t, args(more...)...); err == nil {
			t.Errorf("%v went well", more)
		}
	}
	if p.model.told == 0 {
		t.Error("the provider repeated no headers")
	}
	_ = p.run(t, "doctor") // not everything is well
}

// hosted has the programs of an installation do the same.
func (p *secretPlay) hosted(t *testing.T) {
	t.Helper()
	if err := p.run(t, "migrate", "--set", "journal.dsn={env:OWNER_DSN}"); err != nil {
		t.Fatalf("%v: %s", err, &p.errs)
	}
	worker := p.work(t)
	p.talk(t, "--workspace", "shop")
	for _, args := range [][]string{
		{"run", "--set", "journal.dsn={env:BAD_DSN}", "Hello"},
		{"migrate", "--set", "journal.dsn={env:BAD_DSN}"},
		{"run", "--set", "journal.dsn={env:CANARY_7_PASSWORD}", "Hello"},
	} {
		if err := p.run(t, args...); err == nil {
			t.Errorf("%v went well", args)
		}
	}
	stopProcess(t, worker)
}

// surfaces are what every play leaves.
func (p *secretPlay) surfaces(*testing.T) map[string][]byte {
	return map[string][]byte{
		"run": []byte(p.out.String()), "log": []byte(p.errs.String()), "model": p.model.bodies.Bytes(),
	}
}

// files is everything in the data folder.
func (p *secretPlay) files(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	err := filepath.WalkDir(filepath.Join(p.dir, "data"), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		out.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// printedID is how a run prints which conversation it is.
var printedID = regexp.MustCompile(`"conversation": ?"(\w+)"`)

// histories is what the engine keeps of the conversations that were printed.
func (p *secretPlay) histories(t *testing.T, s *stack, printed []byte) []byte {
	t.Helper()
	secure, err := mtls.Client(s.credentials).ClientConfig("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	engine, err := durable.Connect(t.Context(), durable.ConnectOptions{Address: s.engine, Namespace: "retinue", TLS: secure})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	var out bytes.Buffer
	seen := map[string]bool{}
	for _, match := range printedID.FindAllSubmatch(printed, -1) {
		ref := journal.Ref{Tenant: app.LocalTenant, Conversation: string(match[1])}
		if seen[ref.Conversation] {
			continue
		}
		seen[ref.Conversation] = true
		runs, err := history.Listed(t.Context(), engine, ref)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			data, err := r.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			out.Write(data)
		}
	}
	return out.Bytes()
}

// found says which values are where, each by the first of its forms.
func (p *secretPlay) found(t *testing.T, surfaces map[string][]byte) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(surfaces)) {
		data, count := surfaces[name], 0
		if len(data) == 0 {
			t.Errorf("there is nothing in %s to look at", name)
		}
		for i, value := range p.values {
			for _, form := range secret.Forms(value) {
				if at := bytes.Index(data, []byte(form)); at >= 0 {
					count++
					if len(out[name]) == 0 {
						out[name] = data[max(0, at-80):min(len(data), at+len(form)+20)]
						t.Logf("%s: value %d", name, i)
					}
					break
				}
			}
		}
		t.Logf("%-10s %8d bytes, %2d of %d values", name, len(data), count, len(p.values))
	}
	return out
}

func refuseFound(t *testing.T, found map[string][]byte) {
	t.Helper()
	for name, text := range found {
		t.Errorf("a secret is in %s: …%s…", name, text)
	}
}

// dump is everything in a database, as text.
func dump(t *testing.T, dsn string) []byte {
	t.Helper()
	out, err := exec.Command("pg_dump", "--data-only", dsn).Output()
	if err != nil {
		t.Fatalf("dump %s: %v", dsn, err)
	}
	return out
}

// gossiping builds a program that takes nothing out of anything.
func gossiping(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	original, err := filepath.Abs("../internal/secret/vault.go")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(original)
	if err != nil {
		t.Fatal(err)
	}
	const old = "return f.replacer.Replace(text)"
	if strings.Count(string(source), old) != 1 {
		t.Fatalf("%q is not in %s", old, original)
	}
	changed, list, binary := filepath.Join(dir, "vault.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "retinue")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{changed: strings.Replace(string(source), old, "return text", 1), list: string(overlay)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("go", "build", "-overlay", list, "-o", binary, "../cmd/retinue").CombinedOutput(); err != nil {
		t.Fatalf("it does not build: %v\n%s", err, out)
	}
	return binary
}
