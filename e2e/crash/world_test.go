//go:build services

package crash

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/journal/postgres"
	"github.com/retinue-dev/retinue/internal/model/scripted"
	"github.com/retinue-dev/retinue/internal/porttest"
)

// world is everything that runs in one test.
type world struct {
	t      *testing.T
	dir    string
	binary string
	part   part
	model  *scripted.Server
	// psql puts a question to the journal's database and returns the answer.
	psql func(statement string) string
	// store is where the engine keeps its records.
	store string
	// signed means that each process has a name of its own with the journal.
	signed bool

	postgres *process
	engine   *process
	workers  []*process
	servers  []*process
	// proxies stand before the servers, in the same order.
	proxies []*proxy
	// node is the test's own access to the journal and the engine.
	node *app.Node
}

// worldOptions say what a world is made of.
type worldOptions struct {
	// Binary plays workers and clients; empty means this test's own.
	Binary  string
	Workers int
	// Servers is the number of HTTP servers. With any of them processes share a live bus.
	Servers    int
	LegEffects int
	// Family is how many sub-agents a leg runs; zero means the default.
	Family int
	Watch  bool
	Gather bool
	// Signed has each entry of the journal say which process wrote it.
	Signed bool
	// Shell has commands run that say so, in a sandbox.
	Shell bool
}

// newWorld starts a Postgres for journal and engine, an engine, a model and workers.
func newWorld(t *testing.T, o worldOptions) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "retinue-crash-") //nolint:usetesting // another user must reach it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("logs are kept in %s", dir)
		} else if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // another user must reach the folders below
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, binary: o.Binary, signed: o.Signed}
	if w.binary == "" {
		w.binary = os.Args[0]
	}
	writeRoles(t, dir)
	w.part = part{Dir: dir, LegEffects: o.LegEffects, Family: o.Family, Watch: o.Watch, Gather: o.Gather, Shell: o.Shell}
	if o.Shell {
		if err := os.Mkdir(w.part.workspace(), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.startModel()
	w.startPostgres()
	w.startEngine()
	if o.Servers > 0 {
		w.part.NATS, w.part.Token = natsURL(), "rtl_crash"
	}
	for i := range o.Workers {
		p := w.play(fmt.Sprint("worker", i), "worker", nil)
		w.workers = append(w.workers, p)
		p.start()
	}
	w.startServers(o.Servers)
	log, err := os.Create(filepath.Join(dir, "test.log")) //nolint:gosec // a folder of the test's own
	if err != nil {
		t.Fatal(err)
	}
	own := w.part
	own.Play = "test"
	if w.node, err = own.open(t.Context(), log); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.node.Close() })
	return w
}

// natsURL is where the live bus is that tests use.
func natsURL() string {
	if url := os.Getenv("TEST_RETINUE_NATS"); url != "" {
		return url
	}
	return "nats://127.0.0.1:4222"
}

// startServers starts the servers, with a proxy before each.
func (w *world) startServers(n int) {
	w.t.Helper()
	if n == 0 {
		return
	}
	err := os.MkdirAll(w.part.data(), 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(w.part.data(), "api.token"), []byte(w.part.Token), 0o600)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range n {
		as := w.part
		as.Address = fmt.Sprintf("127.0.0.1:%d", porttest.Hold(w.t))
		p := w.playAs(fmt.Sprint("server", i), "server", as, nil)
		p.start()
		w.servers, w.proxies = append(w.servers, p), append(w.proxies, newProxy(w.t, as.Address))
		document, err := apitest.FetchDocument(w.t.Context(), "http://"+as.Address)
		if err == nil {
			err = os.WriteFile(w.part.document(), document, 0o600)
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
	for _, p := range w.proxies {
		w.part.Servers = append(w.part.Servers, p.url())
	}
}

func (w *world) startModel() {
	w.t.Helper()
	m, err := scripted.New(script(), scripted.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	if w.model, err = scripted.Listen("127.0.0.1:0", m); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = w.model.Close() })
	w.part.Model = w.model.AnthropicURL()
}

// startPostgres makes a cluster with a database for the journal and two for the engine. Postgres
// does not run as root, so root lends it another user.
func (w *world) startPostgres() {
	w.t.Helper()
	bins, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(bins) == 0 {
		w.t.Fatal("no initdb under /usr/lib/postgresql: install the postgresql package")
	}
	bin, home, port := filepath.Dir(bins[len(bins)-1]), filepath.Join(w.dir, "pg"), porttest.Hold(w.t)
	if err := os.Mkdir(home, 0o700); err != nil {
		w.t.Fatal(err)
	}
	as := func() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
	if os.Geteuid() == 0 {
		as = lend(w.t, home)
	}
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, name), args...) //nolint:gosec // the database's own programs
		cmd.Dir, cmd.SysProcAttr = home, as()
		return cmd
	}
	run := func(name string, args ...string) {
		w.t.Helper()
		if out, err := command(name, args...).CombinedOutput(); err != nil {
			w.t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	data, number := filepath.Join(home, "data"), strconv.Itoa(port)
	run("initdb", "-D", data, "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8")
	w.postgres = w.newProcess("postgres", func() *exec.Cmd {
		return command("postgres", "-D", data, "-p", number, "-k", home, "-h", "127.0.0.1", "-c", "max_connections=200")
	}, nil)
	w.postgres.whole = true
	w.postgres.probe = func() bool { return command("pg_isready", "-q", "-h", "127.0.0.1", "-p", number).Run() == nil }
	w.postgres.start()
	sql := func(statement string) {
		w.t.Helper()
		run("psql", "-q", "-h", "127.0.0.1", "-p", number, "-U", "postgres", "-c", statement)
	}
	for _, name := range []string{"journal", "engine", "engine_visibility"} {
		sql("create database " + name)
	}
	address := func(user, name string) string {
		return fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s?sslmode=disable", user, port, name)
	}
	if err := app.MigrateDatabase(w.t.Context(), address("postgres", "journal")+"&connect_timeout=2"); err != nil {
		w.t.Fatal(err)
	}
	sql("create role crash login in role " + postgres.Role)
	w.psql = func(statement string) string {
		out, err := command("psql", "-qAt", "-h", "127.0.0.1", "-p", number, "-U", "postgres", "-d", "journal", "-c", statement).CombinedOutput()
		if err != nil {
			w.t.Errorf("psql: %v\n%s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if w.signed {
		w.psql("alter table entries add column writer text not null default session_user")
	}
	w.part.DSN = address("crash", "journal") + "&connect_timeout=2"
	w.store = address("postgres", "engine")
}

// lend gives a folder to the unprivileged user that Postgres came with.
func lend(t *testing.T, dir string) func() *syscall.SysProcAttr {
	t.Helper()
	u, err := user.Lookup("postgres")
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	if err := os.Chown(dir, uid, gid); err != nil {
		t.Fatal(err)
	}
	return func() *syscall.SysProcAttr {
		return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
}

// revive starts a process again after a kill. Processes that belonged to it may still be dying, and
// the first attempts are refused.
func (w *world) revive(p *process) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		p.start()
		if p.alive() {
			return
		}
	}
	w.t.Errorf("%s %s; see %s", p.name, notBack, p.log)
}

// supervise starts a process again whenever it has died, until ctx ends.
func (w *world) supervise(ctx context.Context, p *process) {
	for {
		p.mu.Lock()
		exited := p.exited
		p.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-exited:
			if ctx.Err() == nil {
				w.revive(p)
			}
		}
	}
}

func (w *world) startEngine() {
	w.t.Helper()
	w.part.Engine = fmt.Sprintf("127.0.0.1:%d", porttest.Hold(w.t))
	binary, store := engineBinary(w.t), w.store
	w.engine = w.newProcess("engine", func() *exec.Cmd {
		cmd := exec.Command(binary, "engine", "--postgres", "{env:ENGINE_DSN}", "--listen", w.part.Engine, "--credentials", w.part.credentials())
		cmd.Env = append(os.Environ(), "ENGINE_DSN="+store)
		return cmd
	}, nil)
	w.engine.start()
	if !w.engine.alive() {
		w.t.Fatal("the engine did not start; see " + w.engine.log)
	}
}
