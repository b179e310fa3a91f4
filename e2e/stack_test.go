//go:build services

package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/config"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/postgres"
	"github.com/retinue-dev/retinue/internal/journal/postgres/postgrestest"
	"github.com/retinue-dev/retinue/internal/mtls"
)

const (
	sqliteStack   = "sqlite"
	postgresStack = "postgres"
)

// stack is everything below the agents: where records are kept, how deltas travel, and an engine.
type stack struct {
	name   string
	engine string
	// credentials is the folder of the engine's certificates.
	credentials string
	process     *exec.Cmd
	dir         string
	// dsn and nats are empty for SQLite and the bus inside a process.
	dsn, nats string
	// control serves the agents' workflows of all scenarios; each has workers of its own for legs.
	control *app.Node
	// adjust changes what the nodes in this process are made of, nil if nothing.
	adjust func(*app.NodeOptions)
}

// nodeSpec is what a node is made of, in a form that travels to a process of its own.
type nodeSpec struct {
	// Engine is an address, and Credentials the folder with certificates for it.
	Engine      string
	Credentials string
	Data        string
	DSN, NATS   string
	Home        string
	Workspace   string
	Folder      string
	Model       string
	LegEffects  int
	// Guest is another tenant that has a workspace of the same name.
	Guest string
	// adjust does not travel.
	adjust func(*app.NodeOptions)
}

// The names of variables that the settings refer to.
const (
	keyName  = "E2E_KEY"
	dsnName  = "E2E_DSN"
	natsName = "E2E_NATS"
)

// open connects a node. A spec without a workspace serves workflows and nothing else. The journal
// may be shared by all nodes of a process.
func (n nodeSpec) open(ctx context.Context, out *logs, shared journal.Log) (*app.Node, error) {
	loaded, err := n.settings()
	if err != nil {
		return nil, err
	}
	o := app.NodeOptions{
		Loaded: loaded, Log: shared, Engine: n.Engine, EngineTLS: app.EngineClient(n.Credentials), LegEffects: n.LegEffects, Logger: out.logger(),
		Lookup: func(name string) (string, bool) {
			value, ok := map[string]string{keyName: "key", dsnName: n.DSN, natsName: n.NATS}[name]
			return value, ok
		},
	}
	if n.Workspace != "" {
		o.Workspaces, o.LegsOnly = map[app.Workspace]string{app.LocalWorkspace(n.Workspace): n.Folder}, true
		if n.Guest != "" {
			o.Workspaces[app.Workspace{Tenant: n.Guest, Name: n.Workspace}] = n.Folder
		}
	}
	if n.adjust != nil {
		n.adjust(&o)
	}
	return app.OpenNode(ctx, o)
}

func (n nodeSpec) settings() (config.Loaded, error) {
	set := func(key, value string) config.Flag { return config.Flag{Name: "--set", Key: key, Value: value} }
	flags := []config.Flag{
		set("data_dir", n.Data),
		set("providers.demo.kind", "anthropic"), set("providers.demo.base_url", n.Model),
		set("providers.demo.key", "{env:"+keyName+"}"), set("providers.demo.concurrency", "64"),
		set("providers.demo.requests_per_minute", "100000"),
		set("tiers.fast", "demo/fast"), set("tiers.balanced", "demo/balanced"), set("tiers.strong", "demo/strong"),
	}
	if n.DSN != "" {
		flags = append(flags, set("journal.dsn", "{env:"+dsnName+"}"), set("live.nats_url", "{env:"+natsName+"}"))
	}
	return config.LoadSettings(config.Inputs{
		Managed: filepath.Join(n.Home, "managed"), Home: n.Home, ConfigHome: filepath.Join(n.Home, "config"),
		DataHome: n.Data, Project: n.Folder, Environ: []string{}, Flags: flags,
	})
}

// stacks starts the stack that scenarios run on; it runs until the test ends.
func stacks(t *testing.T, names ...string) []*stack {
	t.Helper()
	var out []*stack
	for _, name := range names {
		s := newStack(t, name)
		s.serve(t)
		out = append(out, s)
	}
	return out
}

// newStack starts an engine, with nobody to work on it.
func newStack(t *testing.T, name string) *stack {
	t.Helper()
	s := &stack{name: name, dir: t.TempDir()}
	args := []string{"--sqlite", filepath.Join(s.dir, "engine.db")}
	if s.name == postgresStack {
		s.prepare(t)
		args = []string{"--postgres", postgrestest.New(t, "_visibility").DSN}
	}
	s.startEngine(t, args)
	return s
}

// program is a binary that was built beforehand.
func program(t *testing.T, name, target string) string {
	t.Helper()
	path, err := filepath.Abs("../bin/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("there is no program to test with, run 'make %s': %v", target, err)
	}
	return path
}

// connect opens the node that all scenarios share.
func (s *stack) connect(t *testing.T) {
	t.Helper()
	spec := s.spec()
	spec.Home, spec.Model = s.dir, "http://127.0.0.1:1"
	var err error
	if s.control, err = spec.open(t.Context(), &logs{}, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeNode(t, s.control) })
}

// serve runs the workflows of all scenarios, and repeats requests that the engine was too busy to
// accept.
func (s *stack) serve(t *testing.T) {
	t.Helper()
	s.connect(t)
	if err := s.control.Work(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	swept := make(chan struct{})
	go func() {
		defer close(swept)
		s.control.Sweep(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-swept
	})
}

func (s *stack) spec() nodeSpec {
	return nodeSpec{
		Engine: s.engine, Credentials: s.credentials, Data: filepath.Join(s.dir, "data"), DSN: s.dsn, NATS: s.nats, adjust: s.adjust,
	}
}

func (s *stack) prepare(t *testing.T) {
	t.Helper()
	d := postgrestest.New(t)
	if err := app.MigrateDatabase(t.Context(), d.DSN); err != nil {
		t.Fatal(err)
	}
	s.dsn, s.nats = d.As(postgres.Role), natsURL()
}

func natsURL() string {
	if url := os.Getenv("TEST_RETINUE_NATS"); url != "" {
		return url
	}
	return "nats://127.0.0.1:4222"
}

// engineStart is how long an engine may take until it is ready.
const engineStart = 90 * time.Second

func (s *stack) startEngine(t *testing.T, args []string) {
	t.Helper()
	s.credentials = t.TempDir()
	cmd := exec.Command(program(t, "retinue-full", "engine"), append([]string{"engine", "--credentials", s.credentials}, args...)...)
	problems := &logs{}
	cmd.Stderr = problems
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopProcess(t, cmd) })
	line, err := firstLine(bufio.NewReader(out), engineStart)
	_, address, ok := strings.Cut(line, "ready at ")
	if err != nil || !ok {
		t.Fatalf("the engine did not come up: %q %v\n%s", line, err, problems)
	}
	s.engine, _, _ = strings.Cut(address, ",")
	s.process = cmd
}

// engineSettings are the settings of programs that use the engine.
func (s *stack) engineSettings() string {
	files := mtls.Client(s.credentials)
	return fmt.Sprintf("engine: {temporal_address: %q, tls: {ca: %q, cert: %q}}\n", s.engine, files.CA, files.Cert)
}

// pause stops the engine in its tracks for a while.
func (s *stack) pause(length time.Duration) error {
	if err := s.process.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	time.Sleep(length)
	return s.process.Process.Signal(syscall.SIGCONT)
}

// firstLine waits so long for a line.
func firstLine(from *bufio.Reader, most time.Duration) (string, error) {
	type read struct {
		line string
		err  error
	}
	done := make(chan read, 1)
	go func() {
		line, err := from.ReadString('\n')
		done <- read{strings.TrimSpace(line), err}
	}()
	select {
	case r := <-done:
		return r.line, r.err
	case <-time.After(most):
		return "", fmt.Errorf("nothing was said within %v", most)
	}
}

// stopProcess ends a process gently, and after a while for good.
func stopProcess(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	timer := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	_ = cmd.Wait() // how it ended is of no use
}

func closeNode(t *testing.T, n *app.Node) {
	t.Helper()
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}
