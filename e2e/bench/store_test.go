//go:build services

package bench

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/retinue-dev/retinue/internal/app"
	"github.com/retinue-dev/retinue/internal/durable"
	"github.com/retinue-dev/retinue/internal/mtls"
)

// program is the binary with the engine inside.
const program = "../../bin/retinue-full"

// store is an engine and a journal in one kind of database.
type store struct {
	name    string
	journal string
	nats    string
	address string
	// credentials is the folder of the engine's certificates.
	credentials string
	pid         int
	engine      durable.Engine
	// backends says which processes of Postgres work for the store.
	backends *backends
}

// eachStore does something on SQLite and on Postgres.
func eachStore(t *testing.T, do func(*testing.T, *store)) {
	for _, open := range []func(*testing.T) *store{openSQLite, openPostgres} {
		s := open(t)
		t.Run(s.name, func(t *testing.T) { do(t, s) })
	}
}

func openSQLite(t *testing.T) *store {
	folder := t.TempDir()
	s := &store{name: "SQLite", journal: filepath.Join(folder, "journal.db")}
	s.startEngine(t, folder, "--sqlite", filepath.Join(folder, "engine.db"))
	return s
}

func openPostgres(t *testing.T) *store {
	server := os.Getenv("TEST_RETINUE_POSTGRES")
	if server == "" {
		server = "postgres://postgres@127.0.0.1:5432/postgres?sslmode=disable"
	}
	s := &store{name: "Postgres", nats: os.Getenv("TEST_RETINUE_NATS")}
	if s.nats == "" {
		s.nats = "nats://127.0.0.1:4222"
	}
	ctx := context.Background()
	admin, err := pgx.Connect(ctx, server)
	if err != nil {
		t.Fatalf("no Postgres to test with: %v\nstart one, or name one in TEST_RETINUE_POSTGRES", err)
	}
	name := "retinue_bench_" + strings.ToLower(rand.Text())
	databases := []string{name, name + "_engine", name + "_engine_visibility"}
	for _, database := range databases {
		if _, err := admin.Exec(ctx, "create database "+database); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, database := range databases {
			if _, err := admin.Exec(ctx, "drop database "+database+" with (force)"); err != nil {
				t.Errorf("a database is left behind: %v", err)
			}
		}
		if err := admin.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	dsn := func(database string) string {
		u, err := url.Parse(server)
		if err != nil {
			t.Fatal(err)
		}
		u.Path = "/" + database
		return u.String()
	}
	s.journal = dsn(databases[0])
	if err := app.MigrateDatabase(ctx, s.journal); err != nil {
		t.Fatal(err)
	}
	s.startEngine(t, t.TempDir(), "--postgres", dsn(databases[1]))
	s.backends = watchBackends(t, server, databases)
	return s
}

// startEngine starts the engine as a process and connects to it.
func (s *store) startEngine(t *testing.T, folder string, args ...string) {
	file := filepath.Join(folder, "address")
	s.credentials = filepath.Join(folder, "engine-tls")
	args = append([]string{"engine", "--address-file", file, "--credentials", s.credentials}, args...)
	if *profile != "" {
		args = append(args, "--cpu-profile", filepath.Join(*profile, "engine-"+s.name+".pprof"))
	}
	cmd := exec.Command(program, args...)
	log, err := os.Create(filepath.Join(folder, "engine.log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v: make engine builds it", err)
	}
	t.Cleanup(func() {
		s.complaints(t, log.Name())
		_ = cmd.Process.Signal(os.Interrupt)
		killed := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		defer killed.Stop()
		_ = cmd.Wait()
	})
	s.pid = cmd.Process.Pid
	for deadline := time.Now().Add(time.Minute); s.address == ""; time.Sleep(50 * time.Millisecond) {
		text, err := os.ReadFile(file)
		if err == nil {
			s.address = strings.TrimSpace(string(text))
		} else if time.Now().After(deadline) {
			t.Fatal("the engine did not start")
		}
	}
	if s.engine, err = connect(t.Context(), s.address, s.credentials); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.engine.Close)
}

// connect reaches an engine whose certificates lie in a folder.
func connect(ctx context.Context, address, credentials string) (durable.Engine, error) {
	secure, err := mtls.Client(credentials).ClientConfig("127.0.0.1")
	if err != nil {
		return nil, err
	}
	return durable.Connect(ctx, durable.ConnectOptions{Address: address, Namespace: "retinue", TLS: secure, Logger: quiet()})
}

// complaints counts the errors in the engine's log by what they say.
func (s *store) complaints(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
		return
	}
	count := map[string]int{}
	for _, m := range complaint.FindAllStringSubmatch(string(text), -1) {
		count[m[1]+": "+m[2]]++
	}
	for _, what := range slices.Sorted(maps.Keys(count)) {
		t.Logf("%s, the engine's log: %d x %s", s.name, count[what], what)
	}
}

var complaint = regexp.MustCompile(`level=ERROR msg="([^"]*)".*? error="?([^"\n]{0,120})`)

// tick is the unit of CPU time in /proc.
const tick = 10 * time.Millisecond

// cpu is what a process has used so far, in user and in system mode.
func cpu(pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var total time.Duration
	for _, field := range fields[11:13] {
		n, _ := strconv.Atoi(field) // the kernel writes numbers
		total += time.Duration(n) * tick
	}
	return total
}

// backends follows the processes of Postgres that serve some databases. They start and end, so
// backends polls them and keeps the last usage of each.
type backends struct {
	mu   sync.Mutex
	used map[int]time.Duration
	look func()
}

func watchBackends(t *testing.T, server string, databases []string) *backends {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		t.Fatal(err)
	}
	b := &backends{used: map[int]time.Duration{}}
	b.look = func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		rows, _ := conn.Query(ctx, "select pid from pg_stat_activity where datname = any($1)", databases)
		pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
		if err != nil {
			return // the next look will do
		}
		for _, pid := range pids {
			if used := cpu(pid); used > 0 {
				b.used[pid] = used
			}
		}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(500 * time.Millisecond):
				b.look()
			}
		}
	}()
	t.Cleanup(func() {
		close(stop)
		<-stopped
		_ = conn.Close(ctx)
	})
	return b
}

// total is the usage of all of them.
func (b *backends) total() time.Duration {
	if b == nil {
		return 0
	}
	b.look()
	b.mu.Lock()
	defer b.mu.Unlock()
	var sum time.Duration
	for _, used := range slices.Collect(maps.Values(b.used)) {
		sum += used
	}
	return sum
}

// tracer counts the statements of a connection to Postgres.
type tracer struct{ n atomic.Int64 }

// TraceQueryStart implements pgx.QueryTracer.
func (c *tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n.Add(1)
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (*tracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart implements pgx.BatchTracer.
func (*tracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer.
func (c *tracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) { c.n.Add(1) }

// TraceBatchEnd implements pgx.BatchTracer.
func (*tracer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}
