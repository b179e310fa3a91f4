//go:build services

package e2e

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	client "github.com/nats-io/nats.go"

	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/journal/postgres"
	"github.com/retinue-dev/retinue/internal/journal/postgres/postgrestest"
	"github.com/retinue-dev/retinue/internal/model/scripted"
)

// canaryCount is how many values are planted.
const canaryCount = 50

// Where some of the values are planted besides in files that agents read. The others are in
// variables.
const (
	inKey = iota
	inKeyFile
	inDSN
	inOwnerDSN
	inNATS
	inBadDSN
	inPrompt
	inTask
	inSummary
	inReply
	inEncodedReply
	inArguments
	inGuide
	inFileName
	inAddress
	inRole
	inTitle
	inFolder
)

// canaries are values that nobody may see. Half of them look different in most encodings.
func newCanaries() []string {
	out := make([]string, canaryCount)
	for i := range out {
		out[i] = rand.Text()[:20]
		if i > inFolder && i%2 == 0 {
			out[i] = rand.Text()[:9] + `+/&"` + rand.Text()[:9]
		}
	}
	return out
}

// secretPlay is an installation in which values are planted everywhere.
type secretPlay struct {
	dir, binary string
	values      []string
	env         []string
	model       *gossip
	// owner reaches the journal's database, empty for SQLite.
	owner string
	// out is the output of runs, errs the error stream of all programs.
	out, errs logs
	live      logs
}

// gossip is a model's provider that, when asked to, repeats the headers of a request in its
// refusal. It remembers its requests.
type gossip struct {
	*scripted.Model
	url string

	mu     sync.Mutex
	bodies bytes.Buffer
	told   int
}

// ServeHTTP implements http.Handler.
func (g *gossip) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.bodies.Write(body)
	if bytes.Contains(body, []byte("repeat the headers")) {
		g.told++
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Request-Id", r.Header.Get("X-Api-Key"))
		w.WriteHeader(http.StatusUnauthorized)
		_ = json.NewEncoder(w).Encode(map[string]any{"type": "error", "error": map[string]string{
			"type": "authentication_error", "message": fmt.Sprint("invalid key: ", r.Header),
		}})
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	g.Model.ServeHTTP(w, r)
}

// secretModel says the values that it was given when the script was written.
const secretModel = `
name: gossip
chunk: 5
rules:
  - name: send
    when: {system: '(?m)^You are the main agent', turn: 0}
    reply: {calls: [{tool: spawn_agents, args: {tasks: [{role: researcher, task: 'Read the files, %[1]s.'}]}}]}
  - name: read
    when: {turn: 0}
    reply: {calls: [{tool: read_file, args: {path: plain.txt}}, {tool: read_file, args: {path: encoded.txt}}, {tool: list_dir, args: {path: .}}, {tool: grep, args: {pattern: '%[2]s'}}]}
  - name: answer
    when: {system: '(?m)^You are the main agent', turn: 1}
    reply: {text: 'The words are %[4]s and %[5]s, as you know.'}
  - name: report
    when: {turn: 1}
    reply: {text: 'I found %[3]s.', calls: [{tool: submit_result, args: {summary: 'It is %[3]s.'}}]}
`

func newSecretPlay(t *testing.T, binary, engine string) *secretPlay {
	t.Helper()
	p := &secretPlay{dir: t.TempDir(), binary: binary, values: newCanaries(), model: &gossip{}}
	v := p.values
	script, err := scripted.Parse("secret", fmt.Appendf(nil, secretModel, v[inTask], v[inArguments], v[inSummary], v[inReply],
		base64.StdEncoding.EncodeToString([]byte("u:"+v[inEncodedReply]))))
	if err != nil {
		t.Fatal(err)
	}
	if p.model.Model, err = scripted.New(script, scripted.Options{}); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(p.model)
	t.Cleanup(server.Close)
	p.model.url = server.URL
	p.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "XDG_CONFIG_HOME=" + filepath.Join(p.dir, "config")}
	for i, value := range v {
		p.env = append(p.env, fmt.Sprintf("CANARY_%d_%s=%s", i, []string{"KEY", "TOKEN", "SECRET", "PASSWORD"}[i%4], value))
	}
	p.plant(t)
	settings := fmt.Sprintf("data_dir: %q\nproviders:\n  demo: {kind: anthropic, base_url: %q, key: '{env:CANARY_%d_KEY}'}\n"+
		"  other: {kind: openai, base_url: %q, key: '{file:%s}'}\n  dead: {kind: anthropic, base_url: 'http://127.0.0.1:1/%s', key: '{env:CANARY_0_KEY}'}\n"+
		"tiers: {fast: demo/fast, balanced: demo/balanced, strong: demo/strong}\n",
		filepath.Join(p.dir, "data"), p.model.url, inKey, p.model.url+"/v1", filepath.Join(p.dir, "key"), v[inAddress])
	if engine != "" {
		settings += "journal: {dsn: '{env:JOURNAL_DSN}'}\nlive: {nats_url: '{env:NATS_URL}'}\n" + engine
		p.prepare(t)
	}
	p.write(t, "config/retinue/retinue.yaml", settings)
	return p
}

// plant writes the files with values in them.
func (p *secretPlay) plant(t *testing.T) {
	t.Helper()
	var plain, encoded strings.Builder
	for i, v := range p.values {
		quoted, err := json.Marshal(map[string]string{"value": v})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&plain, "%d is %s\n", i, v)
		fmt.Fprintf(&encoded, "%s %s %s %s %s\n%s %s\n", base64.StdEncoding.EncodeToString([]byte(v)),
			base64.URLEncoding.EncodeToString([]byte("user:"+v+"\n")), base64.RawStdEncoding.EncodeToString([]byte("ab"+v)),
			hex.EncodeToString([]byte(v)), strings.ToUpper(hex.EncodeToString([]byte(v))), url.QueryEscape(v), quoted)
	}
	p.write(t, "shop/plain.txt", plain.String())
	p.write(t, "shop/encoded.txt", encoded.String())
	p.write(t, "shop/"+p.values[inFileName], "nothing\n")
	p.write(t, "shop/AGENTS.md", "The word is "+p.values[inGuide]+".\n")
	p.write(t, p.values[inFolder]+"/a.md", "nothing\n")
	p.write(t, "key", p.values[inKeyFile]+"\n")
}

// prepare makes the journal's database, a role with a password, and listens to the bus.
func (p *secretPlay) prepare(t *testing.T) {
	t.Helper()
	d := postgrestest.New(t)
	p.owner = d.DSN
	if err := app.MigrateDatabase(t.Context(), d.DSN); err != nil {
		t.Fatal(err)
	}
	role := "retinue_e2e_" + strings.ToLower(rand.Text()[:10])
	p.sql(t, fmt.Sprintf("create role %s login password '%s' in role %s", role, p.values[inDSN], postgres.Role))
	t.Cleanup(func() { p.sql(t, "drop role "+role) })
	as := func(name, password string) string {
		u, err := url.Parse(d.DSN)
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.UserPassword(name, password)
		return u.String()
	}
	bad := strings.Replace(as("nobody", p.values[inBadDSN]), "127.0.0.1:5432", "127.0.0.1:1", 1)
	nats, err := url.Parse(natsURL())
	if err != nil {
		t.Fatal(err)
	}
	nats.User = url.User(p.values[inNATS])
	p.env = append(p.env, "JOURNAL_DSN="+as(role, p.values[inDSN]), "OWNER_DSN="+as("postgres", p.values[inOwnerDSN]),
		"BAD_DSN="+bad, "NATS_URL="+nats.String())
	conn, err := client.Connect(natsURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	if _, err := conn.Subscribe("retinue.live.>", func(m *client.Msg) { _, _ = p.live.Write(m.Data) }); err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
}

func (p *secretPlay) sql(t *testing.T, statement string) {
	t.Helper()
	if out, err := exec.Command("psql", "-q", p.owner, "-c", statement).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func (p *secretPlay) write(t *testing.T, name, text string) {
	t.Helper()
	(&hosted{dir: p.dir}).write(t, name, text)
}

// run has a program run to its end; whether it may fail is the caller's business.
func (p *secretPlay) run(t *testing.T, args ...string) error {
	t.Helper()
	cmd := p.command(args...)
	cmd.Stdout = &p.out
	return cmd.Run()
}

func (p *secretPlay) command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.binary, args...)
	cmd.Dir, cmd.Env, cmd.Stderr = filepath.Join(p.dir, "shop"), p.env, &p.errs
	return cmd
}

// work starts a worker, and returns when it is ready.
func (p *secretPlay) work(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := p.command("worker", "-v", "--workspace", "shop="+filepath.Join(p.dir, "shop"),
		"--workspace", "gone="+filepath.Join(p.dir, p.values[inFolder]))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopProcess(t, cmd) })
	if line, err := firstLine(bufio.NewReader(out), patience); err != nil {
		t.Fatalf("the worker did not come up: %q %v\n%s", line, err, &p.errs)
	}
	return cmd
}
