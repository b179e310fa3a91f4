//go:build services

package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/journal/postgres"
	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/porttest"
)

// cluster is a Postgres of the test's own, which it may kill.
type cluster struct {
	t       *testing.T
	bin     string
	dir     string
	port    int
	as      *syscall.SysProcAttr
	process *exec.Cmd
}

// newCluster makes and starts one. Postgres does not run as root, so root lends it another user.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	bins, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(bins) == 0 {
		t.Fatal("no initdb under /usr/lib/postgresql: install the postgresql package")
	}
	dir, err := os.MkdirTemp("", "retinue-pg-") //nolint:usetesting // another user must reach it
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, bin: filepath.Dir(bins[len(bins)-1]), dir: dir, port: porttest.Hold(t)}
	t.Cleanup(func() {
		c.kill()
		err := os.RemoveAll(dir)
		for end := time.Now().Add(time.Minute); err != nil && time.Now().Before(end); err = os.RemoveAll(dir) {
			time.Sleep(50 * time.Millisecond) // its children are not ours, and may write until they notice
		}
		if err != nil {
			t.Errorf("a cluster is left behind: %v", err)
		}
	})
	if os.Geteuid() == 0 {
		c.as = lend(t, dir)
	}
	c.run("initdb", "-D", filepath.Join(dir, "data"), "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8")
	c.start()
	return c
}

// lend gives a folder to the unprivileged user that Postgres came with.
func lend(t *testing.T, dir string) *syscall.SysProcAttr {
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
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}

func (c *cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, name), args...)
	cmd.Dir, cmd.SysProcAttr = c.dir, c.as
	return cmd
}

func (c *cluster) run(name string, args ...string) {
	c.t.Helper()
	if out, err := c.command(name, args...).CombinedOutput(); err != nil {
		c.t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// start runs the server and waits until it answers. After a kill its children may still be dying,
// and the first attempts are refused.
func (c *cluster) start() {
	c.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); ; {
		c.process = c.command("postgres", "-D", filepath.Join(c.dir, "data"), "-p", strconv.Itoa(c.port),
			"-k", c.dir, "-h", "127.0.0.1")
		if err := c.process.Start(); err != nil {
			c.t.Fatal(err)
		}
		exited := make(chan struct{})
		go func() {
			_ = c.process.Wait()
			close(exited)
		}()
		if c.answers(exited, deadline) {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatal("the database did not come back within a minute")
		}
	}
}

func (c *cluster) answers(exited <-chan struct{}, deadline time.Time) bool {
	for time.Now().Before(deadline) {
		select {
		case <-exited:
			return false
		case <-time.After(20 * time.Millisecond):
		}
		if conn, err := pgx.Connect(context.Background(), c.dsn()); err == nil {
			return conn.Close(context.Background()) == nil
		}
	}
	return false
}

func (c *cluster) kill() {
	if c.process != nil && c.process.Process != nil {
		_ = c.process.Process.Kill()
	}
}

func (c *cluster) dsn() string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable&connect_timeout=2", c.port)
}

// TestKills kills the database under eight writers, fifteen times.
//
// Covers: P1, P2, P3, P13.
func TestKills(t *testing.T) {
	t.Parallel()
	const kills, writers = 15, 8
	c := newCluster(t)
	if err := postgres.Migrate(t.Context(), c.dsn()); err != nil {
		t.Fatal(err)
	}
	log := open(t, c.dsn())
	var places []journal.Ref
	for i := range 4 {
		places = append(places, journal.Ref{Tenant: "acme", Conversation: fmt.Sprint("c", i)})
		if _, err := log.Append(t.Context(), places[i], time.UnixMilli(1), journaltest.Opening()...); err != nil {
			t.Fatal(err)
		}
	}
	var ledger journaltest.Ledger
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var failures [writers]int
	for i := range writers {
		wg.Go(func() {
			w := journaltest.Writer{Name: fmt.Sprint("w", i), Number: i, Log: log, Ledger: &ledger, Places: places}
			if err := w.Run(ctx); err != nil {
				t.Error(err)
			}
			failures[i] = w.Failures
		})
	}
	chance := rand.New(rand.NewPCG(measure.Seed(t, 0), 0))
	for range kills {
		before := ledger.Acks()
		wait := time.Duration(100+chance.IntN(300)) * time.Millisecond
		for until := time.Now().Add(wait); time.Now().Before(until) || ledger.Acks() < before+50; {
			time.Sleep(5 * time.Millisecond)
		}
		c.kill()
		c.start()
	}
	stop()
	wg.Wait()
	ledger.Check(t, log)
	failed := 0
	for _, n := range failures {
		failed += n
	}
	t.Logf("%d kills, %d rows acknowledged, %d appends whose answer was an error",
		kills, ledger.Acks(), failed)
	if failed < kills {
		t.Errorf("only %d appends failed under %d kills: they did not hit", failed, kills)
	}
}
