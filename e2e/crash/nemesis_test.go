//go:build services

package crash

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// fault is something that is done to a process.
type fault string

// The faults.
const (
	killWorker   fault = "kill worker"
	killClient   fault = "kill client"
	killServer   fault = "kill server"
	killEngine   fault = "kill engine"
	killPostgres fault = "kill postgres"
	pauseWorker  fault = "pause worker"
	pauseEngine  fault = "pause engine"
	// pausePostgres stops the server and all that it has started.
	pausePostgres fault = "pause postgres"
	// stoodStill is nobody's doing: the machine gave the test no time.
	stoodStill fault = "machine stood still"
)

// struck is a fault that was done: when, until when the process was away, and which legs it
// carried.
type struck struct {
	Fault fault
	// The name of the process that was paused.
	Who      string
	At, Back time.Time
	Carried  []string
}

// nemesis does faults to a world.
type nemesis struct {
	*load
	chance *rand.Rand
	// pause is for how long a process is stopped; zero means three to six seconds.
	pause time.Duration
	mu    sync.Mutex
	done  []struck
}

// plan draws the order of faults.
func (n *nemesis) plan(counts map[fault]int) []fault {
	var out []fault
	for _, f := range []fault{killWorker, killClient, killServer, killEngine, killPostgres, pauseWorker, pauseEngine, pausePostgres} {
		for range counts[f] {
			out = append(out, f)
		}
	}
	n.chance.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// strike does the faults of a plan, spread evenly with some chance over the time. A process that a
// fault takes away comes back while the next faults happen; the engine and the database wait for
// each other, so that each runs most of the time.
func (n *nemesis) strike(ctx context.Context, plan []fault, over time.Duration) {
	begin, step := time.Now(), over/time.Duration(len(plan))
	var wg sync.WaitGroup
	defer wg.Wait()
	busy := map[*process]*sync.Mutex{}
	for _, p := range slices.Concat([]*process{n.engine, n.postgres}, n.workers, n.clients, n.servers) {
		busy[p] = &sync.Mutex{}
	}
	store := &sync.Mutex{}
	for i, f := range plan {
		at := time.Duration(i)*step + time.Duration(n.chance.Int64N(int64(step)))
		worker, client := n.workers[n.chance.IntN(len(n.workers))], n.clients[n.chance.IntN(len(n.clients))]
		server := n.servers[n.chance.IntN(len(n.servers))]
		pause := cmp.Or(n.pause, 3*time.Second+time.Duration(n.chance.Int64N(int64(3*time.Second))))
		wait(ctx, time.Until(begin.Add(at)))
		wg.Go(func() {
			p := map[fault]*process{
				killWorker: worker, pauseWorker: worker, killClient: client, killEngine: n.engine, pauseEngine: n.engine,
				killPostgres: n.postgres, pausePostgres: n.postgres, killServer: server,
			}[f]
			if p == n.engine || p == n.postgres {
				store.Lock()
				defer store.Unlock()
			}
			busy[p].Lock()
			defer busy[p].Unlock()
			n.do(f, p, pause)
		})
	}
}

// do does one fault.
func (n *nemesis) do(f fault, p *process, pause time.Duration) {
	s := struck{Fault: f}
	switch f {
	case pauseWorker, pauseEngine, pausePostgres:
		s.Who, s.At = p.name, time.Now()
		for _, w := range n.workers {
			if f != pauseWorker || w == p {
				s.Carried = append(s.Carried, n.part.carriedBy(w.pid())...)
			}
		}
		p.halt()
		time.Sleep(pause)
		p.resume()
	case killWorker:
		pid := p.pid()
		p.kill()
		s.At, s.Carried = time.Now(), n.part.carriedBy(pid)
		n.revive(p)
	case killClient, killServer, killEngine, killPostgres:
		s.At = time.Now()
		p.kill()
		n.revive(p)
	case stoodStill: // it is noted by mind
	}
	s.Back = time.Now()
	n.note(s)
}

func (n *nemesis) note(s struck) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.done = append(n.done, s)
}

const (
	// lookEvery is how often the test looks at the clock, and stillFor how much later than before it
	// may be then.
	lookEvery = 50 * time.Millisecond
	stillFor  = 500 * time.Millisecond
)

// mind notes when the machine stands still, until it is told to stop: delays from that say nothing
// about the host.
func (n *nemesis) mind() (stop func()) {
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(lookEvery)
		defer ticker.Stop()
		last := time.Now().Round(0) // the clock of the journal, which keeps running while a machine is halted
		for {
			select {
			case <-quit:
				return
			case <-ticker.C:
			}
			now := time.Now().Round(0)
			if now.After(last.Add(stillFor)) {
				n.note(struck{Fault: stoodStill, At: last, Back: now})
			}
			last = now
		}
	}()
	return func() { close(quit); <-ended }
}
