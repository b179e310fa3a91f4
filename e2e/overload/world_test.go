//go:build services

package overload

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/journal/postgres"
	"github.com/retinue-dev/retinue/internal/journal/postgres/postgrestest"
	"github.com/retinue-dev/retinue/internal/model/scripted"
)

// patience is how long a process may take to come up.
const patience = time.Minute

// world is an installation: database, engine, model, a worker and a server, each a process of its
// own but for the model.
type world struct {
	dir   string
	env   []string
	log   *postgres.Log
	url   string
	token string
	// server is the one that is watched.
	server *exec.Cmd
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{dir: t.TempDir()}
	engine := w.start(t, program(t, "retinue-full", "TEST_RETINUE_FULL"), "ready at ", "engine",
		"--postgres", postgrestest.New(t, "_visibility").DSN, "--credentials", filepath.Join(w.dir, "engine-tls"))
	address, _, _ := strings.Cut(engine.said, ",")
	d := postgrestest.New(t)
	if err := app.MigrateDatabase(t.Context(), d.DSN); err != nil {
		t.Fatal(err)
	}
	var err error
	if w.log, err = postgres.Open(t.Context(), postgres.Options{DSN: d.As(postgres.Role), Connections: 2}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.log.Close)
	m, err := scripted.New(&scripted.Script{Name: "overload", Default: &scripted.Reply{Text: "Very well."}}, scripted.Options{})
	if err != nil {
		t.Fatal(err)
	}
	model, err := scripted.Listen("127.0.0.1:0", m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	nats := os.Getenv("TEST_RETINUE_NATS")
	if nats == "" {
		nats = "nats://127.0.0.1:4222"
	}
	w.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "XDG_CONFIG_HOME=" + filepath.Join(w.dir, "config"), "MODEL_KEY=key",
		"JOURNAL_DSN=" + d.As(postgres.Role), "NATS_URL=" + nats, "GOMEMLIMIT=400MiB",
	}
	w.write(t, "config/retinue/retinue.yaml", fmt.Sprintf(
		"data_dir: %s\njournal: {dsn: '{env:JOURNAL_DSN}'}\nlive: {nats_url: '{env:NATS_URL}'}\nengine: {temporal_address: %q, tls: {ca: %q, cert: %q}}\n"+
			"providers: {demo: {kind: anthropic, base_url: %q, key: '{env:MODEL_KEY}', concurrency: 64, requests_per_minute: 1000000}}\n"+
			"tiers: {fast: demo/fast, balanced: demo/balanced, strong: demo/strong}\n"+
			"serve: {address: '127.0.0.1:0', health: '127.0.0.1:0', limits: {command_rate: 0, tenant_command_rate: 0, read_rate: 0, tenant_read_rate: 0}}\n",
		filepath.Join(w.dir, "data"), address, filepath.Join(w.dir, "engine-tls", "ca.pem"), filepath.Join(w.dir, "engine-tls", "client.pem"), model.AnthropicURL()))
	binary := program(t, "retinue", "TEST_RETINUE_LEAN")
	w.start(t, binary, "worker: ready", "worker")
	server := w.start(t, binary, "serve: ready", "serve")
	w.server = server.Cmd
	_, rest, _ := strings.Cut(server.said, " at ")
	w.url, _, _ = strings.Cut(rest, ",")
	_, rest, _ = strings.Cut(server.said, "health at ")
	w.checkReady(t, rest)
	token, err := os.ReadFile(filepath.Join(w.dir, "data", "api.token"))
	if err != nil {
		t.Fatal(err)
	}
	w.token = strings.TrimSpace(string(token))
	return w
}

// checkReady looks whether the server finds all that it needs.
func (w *world) checkReady(t *testing.T, url string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	if text, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusOK {
		t.Fatalf("the server is not ready: %s %s", answer.Status, text)
	}
}

// running is a process, and the text after the words that announce its readiness.
type running struct {
	*exec.Cmd
	said string
}

// start runs a program and waits until it says something.
func (w *world) start(t *testing.T, binary, says string, args ...string) running {
	t.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Dir, cmd.Env = w.dir, w.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	name := filepath.Join(w.dir, args[0]+".log")
	log, err := os.Create(name) //nolint:gosec // a folder of the test's own
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if text, err := os.ReadFile(name); err == nil && t.Failed() { //nolint:gosec // as above
			t.Logf("%s:\n%s", args[0], tail(string(text)))
		}
	})
	ready := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if _, rest, ok := strings.Cut(lines.Text(), says); ok {
				ready <- rest
				break
			}
		}
		_, _ = io.Copy(io.Discard, out)
	}()
	select {
	case said := <-ready:
		return running{cmd, said}
	case <-time.After(patience):
		t.Fatalf("%v did not come up", args)
		return running{}
	}
}

func tail(text string) string { return text[max(0, len(text)-2000):] }

func (w *world) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// program is a binary that was built beforehand, or the one that a variable names.
func program(t *testing.T, name, variable string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		var err error
		if path, err = filepath.Abs("../../bin/" + name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("there is no program to test with, run 'make engine lean': %v", err)
	}
	return path
}

// most is the most memory, in MB, that a process has had so far.
func most(t *testing.T, pid int) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			var kb float64
			if _, err := fmt.Sscan(rest, &kb); err != nil {
				t.Fatal(err)
			}
			return kb / 1024
		}
	}
	t.Fatal("the kernel does not tell how much memory a process had")
	return 0
}
