//go:build services

package streams

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/postgres"
	"github.com/retinue-dev/retinue/internal/journal/postgres/postgrestest"
	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/internal/live/nats"
	"github.com/retinue-dev/retinue/internal/porttest"
)

const (
	// patience is how long something that must come may take.
	patience = 60 * time.Second
	// startTime is how long a program may take until it is ready.
	startTime = 90 * time.Second
)

// site is an installation: a journal on Postgres, a bus on NATS, an engine, and servers.
type site struct {
	dir  string
	env  []string
	args []string
	log  *postgres.Log
	bus  live.Bus
	errs *logs
}

// node is a server of the installation.
type node struct {
	site    *site
	address string
	cmd     *exec.Cmd
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{dir: t.TempDir(), errs: &logs{}}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log:\n%.20000s", s.errs)
		}
	})
	d := postgrestest.New(t)
	if err := app.MigrateDatabase(t.Context(), d.DSN); err != nil {
		t.Fatal(err)
	}
	url := os.Getenv("TEST_RETINUE_NATS")
	if url == "" {
		url = "nats://127.0.0.1:4222"
	}
	s.connect(t, d.As(postgres.Role), url)
	engine := s.start(t, "retinue-full", "ready at ", "engine", "--sqlite", filepath.Join(s.dir, "engine.db"),
		"--credentials", filepath.Join(s.dir, "engine-tls"))
	address, _, _ := strings.Cut(engine.line, ",")
	s.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "XDG_CONFIG_HOME=" + filepath.Join(s.dir, "config"),
		"JOURNAL_DSN=" + d.As(postgres.Role), "NATS_URL=" + url, "MODEL_KEY=key",
	}
	for _, setting := range []string{
		"journal.dsn={env:JOURNAL_DSN}", "live.nats_url={env:NATS_URL}", "engine.temporal_address=" + address,
		"engine.tls.ca=" + filepath.Join(s.dir, "engine-tls", "ca.pem"), "engine.tls.cert=" + filepath.Join(s.dir, "engine-tls", "client.pem"),
		"data_dir=" + filepath.Join(s.dir, "data"), "providers.demo.kind=anthropic",
		"providers.demo.base_url=http://127.0.0.1:1", "providers.demo.key={env:MODEL_KEY}",
		"tiers.fast=demo/fast", "tiers.balanced=demo/balanced", "tiers.strong=demo/strong",
		// All who watch have one key between them, and many more streams than one person or tenant may
		// have.
		"serve.limits.person_streams=12000", "serve.limits.tenant_streams=12000", "serve.limits.streams=12000",
		"serve.limits.read_rate=10000", "serve.limits.tenant_read_rate=10000",
	} {
		s.args = append(s.args, "--set", setting)
	}
	return s
}

func (s *site) connect(t *testing.T, dsn, url string) {
	t.Helper()
	var err error
	if s.log, err = postgres.Open(t.Context(), postgres.Options{DSN: dsn, Connections: 6}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.log.Close)
	if s.bus, err = nats.Open(nats.Options{URL: url}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.bus.Close)
}

// started is a program that runs, with the rest of the line that said so.
type started struct {
	*exec.Cmd
	line string
}

// start runs a program until the test ends, and waits for a line that says it is ready.
func (s *site) start(t *testing.T, name, ready string, args ...string) started {
	t.Helper()
	path, err := filepath.Abs("../../bin/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("there is no program to test with, run 'make engine lean': %v", err)
	}
	cmd := exec.Command(path, args...)
	cmd.Env, cmd.Stderr = s.env, s.errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(cmd) })
	said := make(chan string, 1)
	go func() {
		in := bufio.NewScanner(out)
		for in.Scan() {
			if _, rest, ok := strings.Cut(in.Text(), ready); ok {
				said <- rest
			}
		}
	}()
	select {
	case line := <-said:
		return started{Cmd: cmd, line: line}
	case <-time.After(startTime):
		t.Fatalf("%s %s did not come up:\n%s", name, args[0], s.errs)
	}
	return started{}
}

// stop ends a program gently, and after a while for good.
func stop(cmd *exec.Cmd) {
	timer := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Wait() // how it ended is of no use
}

// serve starts a server on an address of its own.
func (s *site) serve(t *testing.T) *node {
	t.Helper()
	n := &node{site: s, address: fmt.Sprintf("127.0.0.1:%d", porttest.Hold(t))}
	n.run(t)
	return n
}

func (n *node) run(t *testing.T) {
	t.Helper()
	args := append([]string{"serve", "--set", "serve.address=" + n.address, "--set", "serve.health=127.0.0.1:0"}, n.site.args...)
	n.cmd = n.site.start(t, "retinue", "serve: ready", args...).Cmd
}

// contract is the document that the server serves.
func (n *node) contract(t *testing.T) *apitest.Contract {
	t.Helper()
	c, err := apitest.Fetch(t.Context(), "http://"+n.address)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// kill ends the server as a crash does.
func (n *node) kill(t *testing.T) {
	t.Helper()
	if err := n.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	_ = n.cmd.Wait()
}

// token is the clients' credential.
func (s *site) token(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, "data", "api.token"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}

var root = journal.In{Agent: "main", Task: "main"}

func at(conversation string) journal.Ref {
	return journal.Ref{Tenant: app.LocalTenant, Conversation: conversation}
}

// open begins a conversation.
func (s *site) open(ctx context.Context, conversation string) error {
	return s.write(ctx, conversation, journal.Opened{By: "ann", Title: conversation}, journal.TaskAssigned{In: root, Role: "main"})
}

// write appends rows and pokes, as every process of an installation does. An answer that was lost
// on the way is asked for again.
func (s *site) write(ctx context.Context, conversation string, rows ...journal.Row) error {
	for {
		written, err := s.log.Append(ctx, at(conversation), time.Now(), rows...)
		if err == nil {
			s.bus.Announce(live.Appended{Topic: live.Topic(at(conversation)), Seq: written[len(written)-1].Seq})
			return nil
		}
		if chat.CodeOf(err) != chat.CodeUnavailable || ctx.Err() != nil {
			return fmt.Errorf("write to %s: %w", conversation, err)
		}
	}
}

// logs keeps the logs of programs, to be shown if a test fails.
type logs struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}
