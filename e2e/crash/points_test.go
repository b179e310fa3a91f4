//go:build services

package crash

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/measure"
)

var (
	each = flag.Int("each", 0, "at how many of the times that a point is reached the process dies; zero skips the test")
	only = flag.String("only", "", "only points, or mutants, whose name contains this")
)

const (
	// killWithin is how long a run whose process dies once should take at most.
	killWithin = 40 * time.Second
	// killPatience is how long a test waits for such a run. It is longer than the engine waits for a
	// leg that nobody releases: that run takes too long, and still has to end the same.
	killPatience = 3 * time.Minute
)

// TestPoints kills a process once at every named point of a run of depth 2 that asks a question and
// uses tools, and compares the final transcripts with those of an undisturbed run.
//
// Covers: P1, P2, P4, P6, P7.
func TestPoints(t *testing.T) {
	if *each == 0 {
		t.Skip("run make crash/points")
	}
	for name, o := range map[string]worldOptions{
		"one effect a leg": {LegEffects: 1}, "a family of one, and others with runs of their own": {Family: 1}, "a family": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testPoints(t, o)
		})
	}
}

func testPoints(t *testing.T, o worldOptions) {
	o.Workers, o.Watch = 1, true
	w := newWorld(t, o)
	l := &load{world: w, ledger: newLedger()}
	l.startClients("client", 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for _, p := range []*process{w.workers[0], l.clients[0]} {
		go w.supervise(ctx, p)
	}
	want := l.tree(t, "undisturbed")
	times := l.times(t)
	if again := l.tree(t, "again"); again != want {
		t.Fatalf("two undisturbed runs differ, so nothing can be compared:\n%s", cmp.Diff(want, again))
	}
	chance, died, missed, longest := rand.New(rand.NewPCG(*seed, 7)), 0, 0, time.Duration(0)
	for _, point := range slices.Sorted(keys(times)) {
		if !strings.Contains(string(point), *only) {
			continue
		}
		for _, n := range draw(chance, times[point]) {
			name := strings.ReplaceAll(fmt.Sprintf("%s.%d", point, n), "/", ".")
			began := time.Now()
			got, dead := l.kill(t, name, point, n)
			if !dead && n == 1 { // the last of the play before may have come to it first
				got, dead = l.kill(t, name+".again", point, n)
			}
			longest = max(longest, time.Since(began))
			switch {
			case !dead && n == 1:
				t.Errorf("%s was not reached, and was by the run that nothing disturbed", point)
			case !dead:
				missed++
				t.Logf("%-28s was not reached %d times", point, n)
			case got != want:
				diff := cmp.Diff(want, got)
				t.Errorf("%s, time %d: after the kill it ended otherwise:\n%s", point, n, diff)
				measure.Figure(t, "crash/points: %s, time %d: %s", point, n, changed(diff))
			default:
				died++
				t.Logf("%-28s time %2d of %2d: the same after %v", point, n, times[point], time.Since(began).Round(100*time.Millisecond))
			}
		}
	}
	var v verdict
	l.judgeEffects(t, &v)
	for _, b := range v.Broken {
		t.Error(b)
	}
	if why := l.refusals(); len(why) > 0 {
		t.Errorf("the model refused %d requests: %v", len(why), why)
	}
	measure.Figure(t, "crash/points: %d points, %d kills with the same end, %d not reached; seed %d", len(times), died, missed, *seed)
	measure.Most(t, "crash/points: the longest run with a kill", longest.Round(100*time.Millisecond), killWithin)
	if died == 0 {
		t.Error("nothing died, so nothing is shown")
	}
}

// changed is the first line of a difference, for a summary: the unexpected result of the run.
func changed(diff string) string {
	for line := range strings.Lines(diff) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "+") {
			return line[:min(len(line), 300)]
		}
	}
	return "something is missing"
}

func keys[K comparable, V any](m map[K]V) func(func(K) bool) {
	return func(yield func(K) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// draw picks the first time and some others.
func draw(chance *rand.Rand, times int) []int {
	out := []int{1}
	for len(out) < min(*each, times) {
		if n := 2 + chance.IntN(times-1); !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// times counts how often each point was reached.
func (l *load) times(t *testing.T) map[host.Point]int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(l.dir, "reached.*"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[host.Point]int{}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(filepath.Base(file), "reached.")
		out[host.Point(strings.Replace(name, ".", "/", 1))] = int(info.Size() / 2)
	}
	return out
}

// kill plays the tree and has a process die when it reaches the point the n-th time.
func (l *load) kill(t *testing.T, name string, point host.Point, n int) (string, bool) {
	t.Helper()
	return l.killDuring(t, point, n, func() string { return l.tree(t, name) })
}

// killDuring kills a worker when it reaches a point for the nth time, during a play.
func (l *load) killDuring(t *testing.T, point host.Point, n int, play func() string) (string, bool) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(l.dir, "reached.*"))
	for _, file := range append(files, filepath.Join(l.dir, "died")) {
		_ = os.Remove(file)
	}
	if err := putFile(l.part.fate(), fmt.Sprintf("%s %d", point, n)); err != nil {
		t.Fatal(err)
	}
	got := play()
	_ = os.Remove(l.part.fate())
	_, err := os.Stat(filepath.Join(l.dir, "died"))
	return got, err == nil
}

// tree plays one run and returns its transcripts.
func (l *load) tree(t *testing.T, conv string) string {
	t.Helper()
	return l.turn(t, conv, shapeTree+" x")
}

// turn sends a message in a new conversation and returns the final transcripts.
func (l *load) turn(t *testing.T, conv, text string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), killPatience)
	defer cancel()
	l.do(ctx, 0, job{ID: conv + "o", Do: "open", Conv: conv})
	l.do(ctx, 0, job{ID: conv + "m", Do: "say", Conv: conv, Text: text})
	within, stop := context.WithTimeout(ctx, killWithin)
	defer stop()
	if !l.quiet(within, conv) {
		measure.Figure(t, "%s takes more than %v: %v; legs %v", conv, killWithin, l.unrest(ctx, conv), l.legs(ctx, conv))
	}
	if !l.quiet(ctx, conv) {
		return fmt.Sprintf("not over after %s: %v", killPatience, l.unrest(t.Context(), conv))
	}
	if err := journaltest.Verify(ctx, l.node.Log, placeOf(conv)); err != nil {
		return err.Error()
	}
	return l.said(t, conv)
}

// legs are what the engine says about the legs of a conversation, to find out why one takes long.
func (l *load) legs(ctx context.Context, conv string) (out []string) {
	s, err := l.node.Log.Snapshot(ctx, placeOf(conv))
	if err != nil {
		return []string{err.Error()}
	}
	for _, task := range s.Tasks {
		run, err := l.node.Client.Engine.DescribeWorkflowExecution(ctx, host.RunID(placeOf(conv), task.ID), "")
		if err != nil {
			continue // it is carried by another, or has ended
		}
		for _, a := range run.GetPendingActivities() {
			out = append(out, fmt.Sprintf("%s is %s at %s, attempt %d", task.ID, a.GetState(), a.GetLastWorkerIdentity(), a.GetAttempt()))
		}
	}
	return out
}

// facts differ from run to run: times, and counts of texts with times in them.
var facts = regexp.MustCompile(`"(duration_ms|usage)":(\d+|\{[^}]*\})`)

// lost begins the text for the model about a call that must not be repeated and whose worker died.
const lost = "The worker was lost"

// said is every transcript and every end, as text. A call whose worker was killed may have an
// unknown end; that is left out here and counted elsewhere.
func (l *load) said(t *testing.T, conv string) string {
	t.Helper()
	ctx, ref := t.Context(), placeOf(conv)
	s, err := l.node.Log.Snapshot(ctx, ref)
	if err != nil {
		return err.Error()
	}
	var out strings.Builder
	for _, a := range s.Agents {
		messages, err := l.node.Log.Transcript(ctx, ref, a.ID, journal.Page{Limit: journal.PageMaxLimit})
		if err != nil {
			return err.Error()
		}
		for _, m := range messages {
			for i, p := range m.Parts {
				if p.Kind == chat.PartToolResult && strings.HasPrefix(p.Text, lost) {
					m.Parts[i].Text, m.Parts[i].Failed = "stamped", false
				}
			}
			if m.Speaker == chat.User {
				m.ID = "" // Its number depends on what else the core had to say, and when.
			}
			body, err := json.Marshal(m.Message)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&out, "%s %s\n", a.ID, body)
		}
	}
	for _, task := range s.Tasks {
		fmt.Fprintln(&out, task.ID, task.Status, task.Kind)
	}
	for _, q := range s.Questions {
		fmt.Fprintln(&out, q.ID, q.Status, q.By)
	}
	plain := strings.ReplaceAll(out.String(), `\"`, `"`)
	return facts.ReplaceAllString(plain, `"$1":0`)
}
