//go:build services

package streams

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/porttest"
)

var seedFlag = flag.Uint64("seed", 0, "play a run again")

// shape is how large a run is.
type shape struct {
	watchers, slow, conversations int
	length, killEvery             time.Duration
	reconnects                    int64
}

func shapeOf() shape {
	if testing.Short() {
		return shape{watchers: 60, slow: 4, conversations: 4, length: 12 * time.Second, killEvery: 5 * time.Second, reconnects: 200}
	}
	return shape{watchers: 195, slow: 5, conversations: 10, length: 45 * time.Second, killEvery: 7 * time.Second, reconnects: 2000}
}

// bad are the ways in which a line is bad.
var bad = []string{
	`{"type": "limit_data", "attributes": {"bytes": 3001}}`,
	`{"type": "limit_data", "attributes": {"bytes": 9001}}`,
	`{"type": "limit_data", "attributes": {"bytes": 300103}}`,
	`{"type": "reset_peer", "attributes": {"timeout": 150}}`,
	`{"type": "reset_peer", "attributes": {"timeout": 1100}}`,
	`{"type": "slicer", "attributes": {"average_size": 300, "size_variation": 250, "delay": 50}}`,
	`{"type": "latency", "attributes": {"latency": 120, "jitter": 100}}`,
	`{"type": "timeout", "attributes": {"timeout": 900}}`,
	``, // a good one, which is switched off and on
}

// lines are the proxies before a server.
type lines []*toxiproxy.Proxy

func linesTo(t *testing.T, address string) (l lines) {
	t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	begin := func(toxic string) *toxiproxy.Proxy {
		p := toxiproxy.NewProxy(server, "line", fmt.Sprintf("127.0.0.1:%d", porttest.Hold(t)), address)
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Stop)
		if toxic == "" {
			return p
		}
		if _, err := p.Toxics.AddToxicJson(strings.NewReader(toxic)); err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, toxic := range bad {
		l = append(l, begin(toxic))
	}
	return l
}

// flap switches the good line off and on, which cuts all that go over it.
func (l lines) flap(ctx context.Context, random *rand.Rand) error {
	p := l[len(l)-1]
	for pause(ctx, time.Second+time.Duration(random.IntN(2000))*time.Millisecond) {
		p.Stop()
		pause(ctx, time.Duration(random.IntN(200))*time.Millisecond)
		if err := p.Start(); err != nil {
			return fmt.Errorf("switch a line on: %w", err)
		}
	}
	return nil
}

// pause is false when ctx has ended.
func pause(ctx context.Context, length time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(length):
		return true
	}
}

// TestCuts lets many watch while lines are cut and servers are killed. Everybody must have seen
// every entry of the journal once, in order.
//
// Covers: P12.
func TestCuts(t *testing.T) {
	seed := measure.Seed(t, *seedFlag)
	run := &cuts{shape: shapeOf(), site: newSite(t), seed: seed}
	run.nodes = []*node{run.site.serve(t), run.site.serve(t)}
	for _, n := range run.nodes {
		run.lines = append(run.lines, linesTo(t, n.address))
	}
	run.prepare(t)
	run.fault(t)
	run.settle(t)
	run.judge(t)
}

// cuts is one run.
type cuts struct {
	shape
	site     *site
	seed     uint64
	nodes    []*node
	lines    []lines
	watchers []*watcher
	counts   counts
	contract *apitest.Contract
}

// pickedCuts is the number of watchers per one whose events are all checked with the document.
// Checking all would take more CPU than the servers.
const pickedCuts = 4

func (c *cuts) conversation(i int) string { return fmt.Sprintf("s%x-%d", c.seed, i) }

func (c *cuts) random(i int) *rand.Rand { return rand.New(rand.NewPCG(c.seed, uint64(i))) }

// prepare begins the conversations. Those who watch the first are slow.
func (c *cuts) prepare(t *testing.T) {
	t.Helper()
	for i := range c.conversations {
		if err := c.site.open(t.Context(), c.conversation(i)); err != nil {
			t.Fatal(err)
		}
	}
	token, broken := c.site.token(t), apitest.Fail(t)
	c.contract = c.nodes[0].contract(t)
	for i := range c.shape.watchers + c.slow {
		w := &watcher{
			token: token, random: c.random(i), counts: &c.counts, contract: c.contract, picked: i%pickedCuts == 0, broken: broken,
		}
		if i < c.slow {
			w.slow, w.conversation = true, c.conversation(0)
		} else {
			w.conversation = c.conversation(1 + i%(c.conversations-1))
		}
		c.watchers = append(c.watchers, w)
	}
}

// longer is how much longer things go wrong at most if the run shows too little before: a slow
// machine takes its time.
const longer = 3 * time.Minute

// fault is the time in which things go wrong.
func (c *cuts) fault(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), c.length+longer)
	defer cancel()
	start := time.Now()
	var all, begun sync.WaitGroup
	report := func(err error) {
		if err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	all.Go(func() {
		defer cancel()
		pause(ctx, c.length)
		for c.lacks() != "" && pause(ctx, 100*time.Millisecond) {
		}
	})
	for i := range c.conversations {
		all.Go(func() { report(c.talk(ctx, i)) })
	}
	for i, l := range c.lines {
		all.Go(func() { report(l.flap(ctx, c.random(2000+i))) })
	}
	for i, w := range c.watchers {
		begun.Add(1)
		all.Go(func() {
			err := c.begin(ctx, w, i)
			begun.Done()
			if err == nil {
				err = c.come(ctx, w)
			}
			report(err)
		})
	}
	begun.Wait() // a snapshot is asked for once, so that no server is killed before
	random := c.random(3000)
	for next := start.Add(c.killEvery); pause(ctx, time.Until(next)); next = time.Now().Add(c.killEvery) {
		n := c.nodes[random.IntN(len(c.nodes))]
		n.kill(t)
		pause(ctx, time.Duration(random.IntN(1500))*time.Millisecond)
		n.run(t)
		c.counts.kills.Add(1)
	}
	all.Wait()
}

// lacks says what a run must have had to show anything, and had not; empty if nothing.
func (c *cuts) lacks() string {
	reconnects := c.counts.connects.Load() - int64(len(c.watchers))
	kills, slow := c.counts.kills.Load(), c.counts.slow.Load()
	if reconnects < c.reconnects || kills == 0 || slow == 0 {
		return fmt.Sprintf("%d reconnects of %d, %d kills and %d slow readers", reconnects, c.reconnects, kills, slow)
	}
	return ""
}

// large is the size of the messages in the slow readers' conversation.
const large = 150_000

// talk writes to a conversation. Rows for the first are large.
func (c *cuts) talk(ctx context.Context, i int) error {
	random, serial := c.random(1000+i), 0
	for pause(ctx, time.Duration(20+random.IntN(230))*time.Millisecond) {
		var rows []journal.Row
		for range 1 + random.IntN(4) {
			serial++
			size := 10 + random.IntN(600)
			if i == 0 {
				size = large
			}
			rows = append(rows, journal.NoteAdded{In: root, Serial: serial, Note: "kept", Text: strings.Repeat("x", size)})
		}
		// A write that is begun is finished: the test compares with the state at the end.
		if err := c.site.write(context.WithoutCancel(ctx), c.conversation(i), rows...); err != nil {
			return err
		}
		if i == 0 {
			c.counts.wrote.Add(int64(len(rows) * large))
		}
	}
	return nil
}

// begin has every third read a snapshot first.
func (c *cuts) begin(ctx context.Context, w *watcher, i int) error {
	if i%3 != 0 {
		return nil
	}
	pause(ctx, time.Duration(w.random.IntN(int(c.killEvery/2))))
	return w.begin(ctx, c.nodes[i%2].address)
}

// come comes again and again, to any server, over any line.
func (c *cuts) come(ctx context.Context, w *watcher) error {
	for ctx.Err() == nil {
		n := w.random.IntN(len(c.nodes))
		address, most := c.lines[n][w.random.IntN(len(bad))].Listen, time.Duration(100+w.random.IntN(4000))*time.Millisecond
		if w.slow {
			address, most = c.nodes[n].address, 20*time.Second
		}
		one, cancel := context.WithTimeout(ctx, most)
		err := w.watch(one, address, 0)
		cancel()
		if err != nil {
			return err
		}
		pause(ctx, time.Duration(w.random.IntN(250))*time.Millisecond)
	}
	return nil
}

// settle lets everybody read to the end over good lines.
func (c *cuts) settle(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ends := map[string]int64{}
	for i := range c.conversations {
		tails, err := c.site.log.Tails(ctx, at("").Tenant, c.conversation(i))
		if err != nil {
			t.Fatal(err)
		}
		ends[c.conversation(i)] = tails[c.conversation(i)].Seq
	}
	var all sync.WaitGroup
	for i, w := range c.watchers {
		w.slow = false
		all.Go(func() {
			for until := ends[w.conversation]; w.last < until; pause(ctx, 50*time.Millisecond) {
				if ctx.Err() != nil {
					t.Errorf("watcher %d of %s is at %d of %d", i, w.conversation, w.last, until)
					return
				}
				if err := w.watch(ctx, c.nodes[i%2].address, until); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// judge compares all views with the journal.
func (c *cuts) judge(t *testing.T) {
	t.Helper()
	var events, gaps, twice int
	for i := range c.conversations {
		want := c.entries(t, c.conversation(i))
		for k, w := range c.watchers {
			if w.conversation != c.conversation(i) {
				continue
			}
			events += len(w.seen)
			left := want[w.from:]
			if !slices.Equal(left, w.seen) {
				g, d := compare(left, w.seen)
				gaps, twice = gaps+g, twice+d
				t.Errorf("watcher %d of %s: %d missing, %d twice or out of order", k, w.conversation, g, d)
			}
		}
	}
	reconnects := c.counts.connects.Load() - int64(len(c.watchers))
	measure.Figure(t, "streams: %d clients, %d reconnects (%d cut, %d refused), %d events seen, %d gaps, %d duplicates, "+
		"%d servers killed, %d slow readers cut off and told so, %d resyncs",
		len(c.watchers), reconnects, c.counts.cut.Load(), c.counts.refused.Load(), events, gaps, twice, c.counts.kills.Load(),
		c.counts.slow.Load(), c.counts.resync.Load())
	t.Logf("streams: %v; one of %d clients was picked for it", c.contract.Counts(), pickedCuts)
	if c.contract.Counts().Events == 0 {
		t.Error("no event was compared with the document")
	}
	if lacks := c.lacks(); lacks != "" {
		t.Errorf("%s: the run shows too little", lacks)
	}
}

// entries are the sequence numbers of all events of a conversation, from the journal.
func (c *cuts) entries(t *testing.T, conversation string) (out []int64) {
	t.Helper()
	for after := int64(0); ; {
		entries, err := c.site.log.Entries(t.Context(), at(conversation), after, journal.PageMaxLimit)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) == 0 {
			return out
		}
		for _, e := range entries {
			out, after = append(out, e.Seq), e.Seq
		}
	}
}

// compare counts the events that are missing, repeated or too late.
func compare(want, got []int64) (gaps, twice int) {
	seen, last := map[int64]bool{}, int64(0)
	for _, seq := range got {
		if seen[seq] || seq < last {
			twice++
		}
		seen[seq], last = true, max(last, seq)
	}
	for _, seq := range want {
		if !seen[seq] {
			gaps++
		}
	}
	return gaps, twice
}
