package store

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/journal/sqlite"
	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/webhook"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the kills; zero draws one")

const (
	// nodeFolder names the folder of a process that this test starts, and nodeAhead how much its clock
	// is ahead.
	nodeFolder = "TEST_RETINUE_WEBHOOK_FOLDER"
	nodeAhead  = "TEST_RETINUE_WEBHOOK_AHEAD"
	killEvents = 60
)

// open opens what a process of this test works on.
func open(t *testing.T, dir string) (*sqlite.Log, *Store) {
	t.Helper()
	log, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(dir, "journal.db")})
	if err != nil {
		t.Fatal(err)
	}
	s, err := OpenSQLite(t.Context(), filepath.Join(dir, "webhook.db"), keysOf(t, testKey))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Close()
		_ = log.Close()
	})
	return log, s
}

// TestNode is the process that is killed: a feeder and a sender.
func TestNode(t *testing.T) {
	dir := os.Getenv(nodeFolder)
	if dir == "" {
		t.Skip("it is a part of TestKills")
	}
	ahead, err := time.ParseDuration(os.Getenv(nodeAhead))
	if err != nil {
		t.Fatal(err)
	}
	log, s := open(t, dir)
	c := &clock{}
	c.advance(ahead)
	node(t, s, s, log, c, patience)
	select {} // until it is killed
}

// killer lets a receiver kill who sends.
type killer struct {
	*rand.Rand
	mu      sync.Mutex
	process *os.Process
	// spared is how many more requests are let through before the next kill.
	spared int
	kills  int
}

// aim has the sender killed at one of its next requests.
func (k *killer) aim(at *os.Process) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.process, k.spared = at, k.IntN(7)
}

// strike kills the sender now and then: before it is answered, or just after.
func (k *killer) strike(w http.ResponseWriter) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.process == nil {
		return
	}
	if k.spared--; k.spared >= 0 {
		return
	}
	if k.IntN(2) == 0 {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush() // the answer is on its way, the report is not
		time.Sleep(time.Duration(k.IntN(2000)) * time.Microsecond)
	}
	if k.process.Kill() == nil {
		k.kills++
	}
	k.process = nil
}

// TestKills kills the process that sends, again and again, until all is delivered.
func TestKills(t *testing.T) {
	seed := measure.Seed(t, *seedFlag)
	k := &killer{Rand: rand.New(rand.NewPCG(seed, 0))}
	r := newReceiver(t, func(_ string, _ int, w http.ResponseWriter, _ *http.Request) { k.strike(w) })
	dir := t.TempDir()
	log, s := open(t, dir)
	h := hookTo(t, s, "acme", r, time.Now().Add(-time.Minute))
	for i := range 6 {
		talk(t, log, "acme", fmt.Sprintf("c%d", i), killEvents/6)
	}
	rounds := 0
	for ; statuses(t, s, h)[webhook.Delivered] < killEvents; rounds++ {
		if rounds > 20*killEvents {
			t.Fatalf("after %d starts not all is delivered: %v", rounds, statuses(t, s, h))
		}
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestNode$")
		child.Env = append(os.Environ(), nodeFolder+"="+dir, nodeAhead+"="+(time.Duration(rounds)*time.Minute).String())
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		k.aim(child.Process)
		dead := make(chan struct{})
		go func() {
			_ = child.Wait() // it was killed
			close(dead)
		}()
		for alive := true; alive; {
			select {
			case <-dead:
				alive = false
			case <-time.After(20 * time.Millisecond):
				if statuses(t, s, h)[webhook.Delivered] == killEvents {
					_ = child.Process.Kill()
				}
			}
		}
	}
	events, requests := r.counts()
	measure.Figure(t, "webhook: %d kills, %d of %d events came, in %d requests", k.kills, events, killEvents, requests)
	if events != killEvents || k.kills < 3 {
		t.Errorf("%d events came, want %d; %d kills", events, killEvents, k.kills)
	}
}
