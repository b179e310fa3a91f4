//go:build services

package crash

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/measure"
)

var stops = flag.Int("stops", 0, "how often engine and database are each stopped for ten seconds, and workers twice as often; zero skips the test")

const (
	// stopFor is how long a process is stopped: twice as long as the engine waits for a worker.
	stopFor = 10 * time.Second
	// stopEvery is the time between two stops in the middle.
	stopEvery = 8 * time.Second
	// alone is how long the first worker is stopped while nothing else is: the engine gives its work up
	// meanwhile.
	alone = 7 * time.Second
	// moreStops is how many more workers are stopped at most until one had a command that was given up.
	moreStops = 5
	// quietFor is how long no command may have written before all count as gone: six of their rounds.
	quietFor = 3 * time.Second
	// survivesFor is how long a command may write after its owner is back, and onAgainWithin how
	// soon a process records something after the stop.
	survivesFor, onAgainWithin = 5 * time.Second, 15 * time.Second
)

// stoppedShapes are people's requests while processes are stopped: half of them run commands.
var stoppedShapes = []string{
	shapeFan, shapeFan, shapeDeep, shapeAsk, shapeBackground, shapeCancel, shapeInquire, shapeBeg,
	shapeEndless, shapeEndless, shapeEndless, shapeEndless, shapeBrief, shapeBrief, shapeStamps,
}

// TestStopped stops workers, the engine and the database with all its processes for ten seconds
// each, again and again, under load, and resumes them. No command outlives a call that was given up
// or cancelled, no leg records beside its successor, no tool runs twice that must not, and all work
// finishes.
//
// Covers: P1, P2, P4, P5, P6, P7, P9.
func TestStopped(t *testing.T) {
	if *stops == 0 {
		t.Skip("run make crash/stopped")
	}
	*seed = measure.Seed(t, *seed)
	w := newWorld(t, worldOptions{Workers: 3, Servers: 2, Signed: true, Shell: true})
	for _, p := range w.proxies {
		p.calm.Store(true)
	}
	l := newCrowd(w)
	l.seed, l.shapes = *seed, stoppedShapes
	l.startClients("caller", 2)
	n := &nemesis{load: l.load, chance: rand.New(rand.NewPCG(*seed, 1<<33)), pause: stopFor}
	plan := n.plan(map[fault]int{pauseWorker: 2**stops - 1, pauseEngine: *stops, pausePostgres: *stops})
	v := l.endure(t, n, people, func(ctx context.Context) {
		first := n.stopBusiest(t)
		defer first.Wait()
		wait(ctx, alone)
		n.strike(ctx, plan, time.Duration(len(plan))*stopEvery)
		for more := 0; more < moreStops && !l.gaveUp(t); more++ {
			n.stopBusiest(t).Wait()
		}
	})
	report(t, "crash/stopped", v, n.done)
	l.judgeLegs(t)
	l.judgeCommandLines(t, n.done)
	l.judgeWriters(t, n.done)
	w.audited(t)
}

// stopBusiest stops the worker that carries most, once commands run.
func (n *nemesis) stopBusiest(t *testing.T) *sync.WaitGroup {
	t.Helper()
	until(overWithin, func() bool { return len(n.wrote(t, time.Now().Add(-quietFor))) >= len(n.workers) })
	busiest, most := n.workers[0], 0
	for _, w := range n.workers {
		if carries := len(n.part.carriedBy(w.pid())); carries > most {
			busiest, most = w, carries
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { n.do(pauseWorker, busiest, stopFor) })
	return &wg
}

// judgeLegs waits until no orchestrator has a leg, since all work is over: a leg that stays would
// wait for ever. An orchestrator without a message, because its first one was refused, has no run.
func (l *load) judgeLegs(t *testing.T) {
	t.Helper()
	busy := func() (out []string) {
		for _, conv := range l.convs {
			run, err := l.node.Client.Engine.DescribeWorkflowExecution(t.Context(), host.RunID(placeOf(conv), host.Root), "")
			if steps, unread := l.node.Log.Steps(t.Context(), placeOf(conv), host.Root, 0); unread == nil && len(steps) == 0 {
				continue
			}
			if err != nil || len(run.GetPendingActivities()) > 0 {
				out = append(out, fmt.Sprint(conv, ": ", run.GetPendingActivities(), err))
			}
		}
		return out
	}
	until(drainWithin, func() bool { return len(busy()) == 0 })
	for _, what := range busy() {
		t.Error("a leg goes on, and all is over:", what)
	}
}

// line is a command line that ran without an end of its own.
type line struct {
	conv, task string
	// told is the core's event of its end, and ended when its agent had ended.
	told  agent.ToolResult
	ended time.Time
}

// lines are the endless command lines, by the name that each writes under.
func (l *load) lines(t *testing.T, convs []string) map[string]*line {
	t.Helper()
	out := map[string]*line{}
	for _, conv := range convs {
		of := map[string]*line{}
		for after := int64(0); ; {
			entries, err := l.node.Log.Entries(t.Context(), placeOf(conv), after, journal.PageMaxLimit)
			if err != nil {
				t.Fatal(err)
			}
			if len(entries) == 0 {
				break
			}
			for _, e := range entries {
				after = e.Seq
				//nolint:gochecksumtype // the others do not matter here
				switch r := e.Row.(type) {
				case journal.TaskAssigned:
					if name, is := strings.CutPrefix(r.Instruction, shapeEndless+" "); is && r.Parent != "" {
						of[r.Task] = &line{conv: conv, task: r.Task}
						out[name] = of[r.Task]
					}
				case journal.TaskEnded:
					if c := of[r.Task]; c != nil {
						c.ended = e.At
					}
				}
			}
		}
		for task, c := range of {
			c.told = l.core(t, conv, task)
		}
	}
	return out
}

// gaveUp reports whether a command was given up whose owner was stopped.
func (l *load) gaveUp(t *testing.T) bool {
	t.Helper()
	l.mu.Lock()
	convs := slices.Clone(l.convs)
	l.mu.Unlock()
	wrote := l.wrote(t, time.Time{})
	for name, line := range l.lines(t, convs) {
		if line.gaveUp(wrote[name]) {
			return true
		}
	}
	return false
}

// gaveUp reports whether a command that wrote last then had been given up: nobody knew its end, or
// its agent ended without it.
func (l *line) gaveUp(wrote time.Time) bool {
	return l.told == agent.ToolIndeterminate || !l.ended.IsZero() && wrote.After(l.ended)
}

// wrote are the commands that have written since then, and when they did last.
func (l *load) wrote(t *testing.T, since time.Time) map[string]time.Time {
	t.Helper()
	const prefix = "alive-"
	files, err := filepath.Glob(filepath.Join(l.part.workspace(), prefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]time.Time{}
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.ModTime().After(since) {
			out[strings.TrimPrefix(filepath.Base(file), prefix)] = info.ModTime()
		}
	}
	return out
}

// judgeCommandLines compares the commands that ran with what became of their calls: none runs on,
// and none ran twice.
func (c *crowd) judgeCommandLines(t *testing.T, done []struck) {
	t.Helper()
	until(drainWithin, func() bool { return len(c.wrote(t, time.Now().Add(-quietFor))) == 0 })
	lines, all, alive := c.lines(t, c.convs), c.wrote(t, time.Time{}), c.wrote(t, time.Now().Add(-quietFor))
	for name := range alive {
		t.Errorf("the command %s runs on: %+v", name, lines[name])
	}
	gaveUp := 0
	var last time.Duration
	for name, at := range all {
		line := lines[name]
		if line == nil {
			t.Errorf("a command ran as %s, for which nobody asked", name)
			continue
		}
		if line.gaveUp(at) {
			gaveUp++
		}
		since := undisturbed(line.ended, done, func(struck) bool { return true })
		late := at.Sub(since)
		if late > last { // not a bound: it is what the report explains
			last = late
			t.Logf("the command %s of %s in %s, which was told %s at %s, wrote %v after that and %v after its owner was back", name, line.task, line.conv,
				line.told, line.ended.Format(time.TimeOnly), at.Sub(line.ended).Round(time.Millisecond), late.Round(time.Millisecond))
		}
	}
	repeated := 0
	text, err := os.ReadFile(filepath.Join(c.part.workspace(), "briefs"))
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]int{}
	for name := range strings.Lines(string(text)) {
		if ran[name]++; ran[name] > 1 {
			repeated++
			t.Errorf("the command %s ran %d times", strings.TrimSpace(name), ran[name])
		}
	}
	measure.Figure(t, "crash/stopped: %d commands without an end of their own, %d given up and %d cancelled, %d of them run on; of %d others %d ran twice",
		len(all), gaveUp, len(all)-gaveUp, len(alive), len(ran), repeated)
	measure.Most(t, "crash/stopped: a command is gone when its owner is back, after", last, survivesFor)
	measure.Met(t, gaveUp > 0, "crash/stopped: a command that was given up")
	measure.Met(t, gaveUp < len(all), "crash/stopped: a command that was cancelled")
}

// signature is who recorded an entry, and when.
type signature struct {
	writer string
	at     time.Time
}

// signatures are those of all entries that only a leg records, in order, by conversation and task.
// They leave out the records of a leg that was given up about a call.
func (l *load) signatures(t *testing.T) map[string][]signature {
	t.Helper()
	out := map[string][]signature{}
	for row := range strings.Lines(l.psql(`select conversation_id || ' ' || task_id || ' ' || writer || ' ' || (extract(epoch from at) * 1000)::bigint
		from entries where kind in ('stepped', 'message_added', 'model_replied', 'status_changed', 'task_ended') order by conversation_id, task_id, seq`)) {
		var conv, task, writer string
		var at int64
		if _, err := fmt.Sscan(row, &conv, &task, &writer, &at); err != nil {
			t.Fatalf("%q: %v", row, err)
		}
		out[conv+" "+task] = append(out[conv+" "+task], signature{writer: writer, at: time.UnixMilli(at)})
	}
	return out
}

// begun are the times at which workers began legs, by worker, conversation and task.
func (l *load) begun(t *testing.T) map[string][]time.Time {
	t.Helper()
	out := map[string][]time.Time{}
	for _, w := range l.workers {
		text, err := os.ReadFile(l.part.begins(w.pid()))
		if err != nil {
			t.Fatal(err)
		}
		for row := range strings.Lines(string(text)) {
			at, whose, _ := strings.Cut(strings.TrimSpace(row), " ")
			millis, err := strconv.ParseInt(at, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			out[w.name+" "+whose] = append(out[w.name+" "+whose], time.UnixMilli(millis))
		}
	}
	return out
}

// judgeWriters compares the writers of each task's entries with the legs that they began: a writer
// that records after another must have begun a leg since. It prints when work resumed after each
// stop.
func (c *crowd) judgeWriters(t *testing.T, done []struck) {
	t.Helper()
	signed, begun := c.signatures(t), c.begun(t)
	entries, handed, beside := 0, 0, 0
	for whose, of := range signed {
		last := map[string]time.Time{}
		for i, s := range of {
			entries++
			if i > 0 && of[i-1].writer != s.writer {
				handed++
				before, again := last[s.writer]
				if again && !beganSince(begun, s.writer, whose, before, s.at) {
					beside++
					t.Errorf("%s recorded something of %s beside %s", s.writer, whose, of[i-1].writer)
				}
			}
			last[s.writer] = s.at
		}
	}
	measure.Figure(t, "crash/stopped: %d entries of legs, a task went on elsewhere %d times, %d times somebody recorded beside a successor", entries, handed, beside)
	measure.Met(t, handed > 0, "crash/stopped: a task that went on elsewhere")
	reportGoesOn(t, signed, done)
}

// reportGoesOn prints how soon after each stop something was recorded: by the stopped worker, or by
// any process. Time in which another stop prevented it does not count.
func reportGoesOn(t *testing.T, signed map[string][]signature, done []struck) {
	t.Helper()
	after := map[fault][]time.Duration{}
	for _, s := range done {
		if s.Fault == stoodStill {
			continue
		}
		back := undisturbed(s.Back, done, func(other struck) bool { return other.Fault != pauseWorker || other.Who == s.Who })
		var on []time.Duration
		for _, of := range signed {
			for _, sign := range of {
				if !sign.at.Before(back) && (s.Fault != pauseWorker || sign.writer == s.Who) {
					on = append(on, sign.at.Sub(back))
				}
			}
		}
		if len(on) > 0 {
			after[s.Fault] = append(after[s.Fault], slices.Min(on))
			t.Logf("%s was away from %s on: something is recorded %v after it was back", s.Who, s.At.UTC().Format(time.TimeOnly), slices.Min(on).Round(time.Millisecond))
		}
	}
	for f, times := range after {
		slices.Sort(times)
		t.Logf("%-18s its work goes on after %v", f, times)
		measure.Most(t, fmt.Sprintf("crash/stopped: %s, something is recorded when it is back, after", f), times[len(times)-1], onAgainWithin)
	}
}

// undisturbed is the earliest time, not before the given one, at which no fault holds up work or is
// about to.
func undisturbed(from time.Time, done []struck, matters func(struck) bool) time.Time {
	slices.SortFunc(done, func(a, b struck) int { return a.At.Compare(b.At) })
	for _, s := range done {
		if matters(s) && s.At.Before(from.Add(settling)) && s.Back.After(from) {
			from = s.Back
		}
	}
	return from
}

// beganSince reports whether a worker began a leg of a task, or of one above it that carries it,
// between two times.
func beganSince(begun map[string][]time.Time, writer, whose string, from, to time.Time) bool {
	for i := len(whose); i > 0; i = strings.LastIndexByte(whose[:i], '/') {
		for _, at := range begun[writer+" "+whose[:i]] {
			if !at.Before(from) && !at.After(to) {
				return true
			}
		}
	}
	return false
}
