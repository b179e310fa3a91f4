//go:build services

package streams

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/measure"
)

// mostMemory is what an open stream may cost a server.
const mostMemory = 40 << 10

// crowd is many streams on one server: each of the first on a conversation of its own, the others
// all on the same one.
type crowd struct {
	alone, together int
	site            *site
	node            *node
	run             uint64
	here            atomic.Int64
	mu              sync.Mutex
	delays          map[bool][]time.Duration
	contract        *apitest.Contract
	broken          func(error)
}

// pickedCrowd is of how many streams one is checked against the document, event by event.
const pickedCrowd = 50

// TestCrowd opens thousands of streams on one server, prints the memory of each, and the time of an
// event from its commit to its watchers.
func TestCrowd(t *testing.T) {
	c := &crowd{alone: 4000, together: 1000, run: rand.Uint64(), delays: map[bool][]time.Duration{}}
	if testing.Short() {
		c.alone, c.together = 800, 200
	}
	raiseFiles(t, uint64(c.alone+c.together)+1000)
	c.site = newSite(t)
	c.node = c.site.serve(t)
	c.contract, c.broken = c.node.contract(t), apitest.Fail(t)
	c.open(t)
	c.warm(t)
	before := memory(t, c.node)
	c.join(t)
	time.Sleep(2 * time.Second)
	after := memory(t, c.node)
	streams := int64(c.alone + c.together)
	each := (after - before) / streams
	t.Logf("streams: %d open on one server (memory of the process %d MB before, %d MB with them)",
		streams, before>>20, after>>20)
	if !testing.Short() { // the cost of a few streams is lost in that of the server
		measure.Most(t, fmt.Sprintf("streams: bytes each of %d on one server costs", streams), each, mostMemory)
	}
	c.speak(t)
	for _, together := range []bool{false, true} {
		d := c.delays[together]
		slices.Sort(d)
		what := "watched by one"
		if together {
			what = fmt.Sprintf("watched by %d", c.together)
		}
		measure.Figure(t, "streams: committed to seen, %s: p50 %v, p99 %v, worst %v of %d", what,
			d[len(d)/2].Round(10*time.Microsecond), d[len(d)*99/100].Round(10*time.Microsecond), d[len(d)-1].Round(10*time.Microsecond), len(d))
	}
	t.Logf("streams: %v; one of %d streams was picked for it", c.contract.Counts(), pickedCrowd)
	if c.contract.Counts().Events == 0 {
		t.Error("no event was compared with the document")
	}
	t.Logf("streams: memory of the server in the end %d MB", memory(t, c.node)>>20)
}

// raiseFiles lets this process and those that it starts have so many connections.
func raiseFiles(t *testing.T, want uint64) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Max < want {
		t.Fatalf("a process may have %d files open, the test needs %d: raise it with 'ulimit -Hn'", limit.Max, want)
	}
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
}

func (c *crowd) conversation(i int) string {
	if i >= c.alone {
		return fmt.Sprintf("w%x", c.run)
	}
	return fmt.Sprintf("w%x-%d", c.run, i)
}

// open begins all conversations.
func (c *crowd) open(t *testing.T) {
	t.Helper()
	each(t, 6, c.alone+1, func(i int) error { return c.site.open(t.Context(), c.conversation(i)) })
}

// each does something for all numbers, some at a time.
func each(t *testing.T, workers, count int, do func(int) error) {
	t.Helper()
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := w; i < count; i += workers {
				if err := do(i); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// warm makes the server do everything once, so that its fixed costs are not counted.
func (c *crowd) warm(t *testing.T) {
	t.Helper()
	token := c.site.token(t)
	for i := range 50 {
		conn := c.connect(t, i, token)
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(time.Second)
}

// connect opens a stream and reads its head. Of most there is no more than the connection, so that
// thousands cost this process little; one of some is read as HTTP has it and checked against the
// document.
func (c *crowd) connect(t *testing.T, i int, token string) io.ReadCloser {
	t.Helper()
	conn, err := net.DialTimeout("tcp", c.node.address, patience)
	if err != nil {
		t.Error(err)
		return nil
	}
	fmt.Fprintf(conn, "GET /v1/conversations/%s/events?after=2 HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n\r\n",
		c.conversation(i), token)
	if i%pickedCrowd == 0 {
		return c.pick(t, i, conn)
	}
	buffer := make([]byte, 4096)
	n, err := conn.Read(buffer)
	if err != nil || !strings.HasPrefix(string(buffer[:n]), "HTTP/1.1 200 ") {
		t.Errorf("stream %d: %.100q %v", i, buffer[:n], err)
	}
	return conn
}

// pick reads the head of a stream that is checked against the document.
func (c *crowd) pick(t *testing.T, i int, conn net.Conn) io.ReadCloser {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/v1/conversations/"+c.conversation(i)+"/events?after=2", nil)
	if err != nil {
		t.Error(err)
		return nil
	}
	answer, err := http.ReadResponse(bufio.NewReaderSize(conn, 1024), request)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("stream %d: %+v %v", i, answer, err)
		return conn
	}
	c.contract.Look(answer, c.broken)
	return struct {
		io.Reader
		io.Closer
	}{answer.Body, conn}
}

// join opens all streams.
func (c *crowd) join(t *testing.T) {
	t.Helper()
	token, began := c.site.token(t), time.Now()
	each(t, 16, c.alone+c.together, func(i int) error {
		conn := c.connect(t, i, token)
		if conn == nil {
			return fmt.Errorf("stream %d did not come up", i)
		}
		t.Cleanup(func() { _ = conn.Close() })
		go c.listen(conn, i >= c.alone)
		return nil
	})
	t.Logf("streams: %d opened in %v", c.alone+c.together, time.Since(began).Round(time.Millisecond))
}

// stamp precedes the time at which an event was committed.
const stamp = "committed at "

// listen notes when events come that say when they were committed.
func (c *crowd) listen(conn io.Reader, together bool) {
	in := bufio.NewReaderSize(conn, 1024)
	for {
		text, err := in.ReadString('\n')
		if err != nil {
			return
		}
		_, rest, ok := strings.Cut(text, stamp)
		if !ok {
			continue
		}
		now := time.Now()
		number, _, _ := strings.Cut(rest, `"`)
		nanos, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			continue
		}
		c.mu.Lock()
		c.delays[together] = append(c.delays[together], now.Sub(time.Unix(0, nanos)))
		c.mu.Unlock()
		c.here.Add(1)
	}
}

// speak writes one event after another, and waits until all have it. The time is taken before the
// commit, so the commit is in the figures.
func (c *crowd) speak(t *testing.T) {
	t.Helper()
	say := func(i, serial int, watchers int64) {
		before := c.here.Load()
		row := journal.NoteAdded{In: root, Serial: serial, Note: "kept", Text: stamp + strconv.FormatInt(time.Now().UnixNano(), 10)}
		if err := c.site.write(t.Context(), c.conversation(i), row); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(patience); c.here.Load() < before+watchers; time.Sleep(200 * time.Microsecond) {
			if time.Now().After(end) {
				t.Fatalf("%d of %d have seen an event", c.here.Load()-before, watchers)
			}
		}
	}
	for n := range 300 {
		say(n*7%c.alone, n+1, 1)
	}
	for n := range 30 {
		say(c.alone, n+1, int64(c.together))
		time.Sleep(50 * time.Millisecond)
	}
}

// memory is what a server's process holds.
func memory(t *testing.T, n *node) int64 {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	t.Fatal("the process has no memory")
	return 0
}
