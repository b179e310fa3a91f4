//go:build services

package crash

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
)

var scenarios = flag.Bool("scenarios", false, "play the short scenarios, each against a world of its own")

// overWithin is how long a scenario may take once nothing is away any more.
const overWithin = 40 * time.Second

// TestScenarios plays short runs in which one thing goes wrong at one time: the faults that the
// host is seeded with must each be seen in one of them.
func TestScenarios(t *testing.T) {
	if !*scenarios {
		t.Skip("run make crash/mutants")
	}
	for _, s := range []struct {
		name    string
		workers int
		play    func(*testing.T, *load)
	}{
		{"undisturbed", 1, func(t *testing.T, l *load) { t.Helper() }},
		{"database away", 1, databaseAway},
		{"database away at a reply", 1, databaseAwayAtReply},
		{"engine away", 1, engineAway},
		{"sleeper", 2, sleeper},
		{"die after an append", 1, func(t *testing.T, l *load) { t.Helper(); dies(t, l, host.PointLegAppended, 1, 5, 6) }},
		{"die after a once tool", 1, func(t *testing.T, l *load) { t.Helper(); dies(t, l, host.PointOnceRan, 1) }},
		{"die with a result on record", 1, resultOnRecord},
		{"die in a tool that can tell", 1, reconciled},
		{"chatter", 1, chatter},
		{"engine sleeps", 1, engineSleeps},
		{"workflow task fails", 1, taskFails},
		{"run ended from outside", 1, runEnded},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			scenario(t, s.workers, s.play)
		})
	}
}

// scenario plays one, and has a tree played after it that must go as ever.
func scenario(t *testing.T, workers int, play func(*testing.T, *load)) {
	t.Helper()
	w := newWorld(t, worldOptions{Workers: workers, Watch: true})
	l := &load{world: w, ledger: newLedger()}
	l.startClients("client", 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for _, p := range append(w.workers, l.clients...) {
		go w.supervise(ctx, p)
	}
	play(t, l)
	if !t.Failed() {
		l.tree(t, "last")
		l.convs = append(l.convs, "last")
	}
	open := l.drain(t.Context(), overWithin)
	v := l.judge(t, nil)
	for _, what := range append(v.Broken, open...) {
		t.Error(what)
	}
	if v.Refused > 0 {
		t.Errorf("the model refused %d requests", v.Refused)
	}
	if t.Failed() {
		t.Log(complains)
	}
}

// complains is the last that a scenario says which was played to its end and found something wrong.
const complains = "the scenario complains"

// conversation is where the scenarios talk.
const conversation = "c"

// begin opens the conversation, which the verdict will look at.
func (l *load) begin(t *testing.T) {
	t.Helper()
	l.do(t.Context(), 0, job{ID: "open", Do: "open", Conv: conversation})
	l.convs = append(l.convs, conversation)
}

// databaseAway has people talk while there is no database.
func databaseAway(t *testing.T, l *load) {
	t.Helper()
	l.begin(t)
	l.postgres.kill()
	acked := make(chan bool)
	for i := range 3 {
		go func() {
			id := fmt.Sprintf("m%d", i)
			acked <- l.do(t.Context(), 0, job{ID: id, Do: "say", Conv: conversation, Text: "plain " + id})
		}()
	}
	time.Sleep(time.Second)
	l.revive(l.postgres)
	for range 3 {
		<-acked
	}
}

// databaseAwayAtReply stops the database when the model delegates to a role that the worker has
// never seen.
func databaseAwayAtReply(t *testing.T, l *load) {
	t.Helper()
	l.begin(t)
	l.do(t.Context(), 0, job{ID: "m", Do: "say", Conv: conversation, Text: "late 1 m"})
	for l.model.Meter().Running == 0 && t.Context().Err() == nil {
		time.Sleep(20 * time.Millisecond)
	}
	l.postgres.kill()
	for l.model.Meter().Running > 0 && t.Context().Err() == nil {
		time.Sleep(20 * time.Millisecond)
	}
	time.Sleep(500 * time.Millisecond)
	l.revive(l.postgres)
}

// engineAway has people send messages without an engine, and repeats none.
func engineAway(t *testing.T, l *load) {
	t.Helper()
	l.begin(t)
	l.engine.kill()
	acked := make(chan bool)
	go func() { acked <- l.do(t.Context(), 0, job{ID: "m", Do: "say", Conv: conversation, Text: "fan 3 m"}) }()
	select {
	case <-acked:
		l.revive(l.engine)
	case <-time.After(overWithin):
		t.Error("nothing is acknowledged while the engine is away")
		l.revive(l.engine)
		<-acked
	}
}

// sleeps is how often sleeper tries to have the worker that slept finish before it learns that
// another has taken over. It sleeps for longer than the five seconds after which the engine gives
// its leg to another.
const (
	sleeps     = 4
	asleep     = 6500 * time.Millisecond
	unrecorded = "no lost leg recorded a step before its successor did" // then the test shows nothing; its mutant shows that it can
)

// sleeper puts a worker to sleep in the middle of a model call, for so long that another takes over
// and both end.
func sleeper(t *testing.T, l *load) {
	t.Helper()
	for i := range sleeps {
		conv := fmt.Sprint(conversation, i)
		l.do(t.Context(), 0, job{ID: conv + "o", Do: "open", Conv: conv})
		l.convs = append(l.convs, conv)
		l.do(t.Context(), 0, job{ID: conv + "m", Do: "say", Conv: conv, Text: "linger 1 " + conv})
		w := l.carrier(t, conv+" "+host.Root)
		if w == nil {
			return
		}
		time.Sleep(500 * time.Millisecond)
		w.signal(syscall.SIGSTOP)
		time.Sleep(asleep)
		w.signal(syscall.SIGCONT)
		// The other's call takes longer than this.
		if until(1200*time.Millisecond, func() bool { return slices.Contains(l.steps(conv, host.Root+"/1.0.0"), "Replied") }) {
			return
		}
	}
	t.Log(unrecorded)
}

// carrier finds the worker that has begun to work for an agent.
func (l *load) carrier(t *testing.T, whose string) *process {
	t.Helper()
	for deadline := time.Now().Add(overWithin); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		for _, w := range l.workers {
			if slices.Contains(l.part.carriedBy(w.pid()), whose) {
				return w
			}
		}
	}
	t.Error("no worker was seen with the slow call")
	return nil
}

// signLost is how long the engine sleeps for a sign of life to be lost: they come every half
// second, and the engine's client waits one second for each. It leaves the rest of the three
// seconds after which the engine gives a tool up to a machine that is busy.
const signLost = 1600 * time.Millisecond

// signDue is the most that may pass between the engine's falling asleep and its taking part again,
// if the tool is not to be given up with reason.
const signDue = 2300 * time.Millisecond

// engineSleeps puts the engine to sleep while a tool runs that must not be run twice. It is not for
// so long that the engine gives the tool up.
func engineSleeps(t *testing.T, l *load) {
	t.Helper()
	for i := range 3 {
		conv := fmt.Sprint(conversation, i)
		slept, got := l.sleepThrough(t, conv)
		switch ran := strings.Contains(got, `"text":"stamped"`) && !strings.Contains(got, `"failed":true`); {
		case ran:
			return
		case slept <= signDue: // not a bound: a machine that was slower is not judged
			t.Errorf("the tool ran to its end, but the model was told otherwise:\n%s", got)
			return
		}
		t.Logf("the engine was away for %v, so that it may have given the tool up; once more", slept.Round(time.Millisecond))
	}
}

// sleepThrough runs a tool while the engine sleeps. It returns the time and the transcript.
func (l *load) sleepThrough(t *testing.T, conv string) (slept time.Duration, said string) {
	t.Helper()
	l.do(t.Context(), 0, job{ID: conv + "o", Do: "open", Conv: conv})
	l.convs = append(l.convs, conv)
	before, _ := os.ReadFile(l.part.ledger())
	l.do(t.Context(), 0, job{ID: conv + "m", Do: "say", Conv: conv, Text: "labour 1 " + conv})
	for deadline := time.Now().Add(overWithin); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if now, _ := os.ReadFile(l.part.ledger()); len(now) > len(before) {
			break
		}
	}
	began := time.Now()
	l.engine.signal(syscall.SIGSTOP)
	time.Sleep(signLost)
	l.engine.signal(syscall.SIGCONT)
	ctx, cancel := context.WithTimeout(t.Context(), overWithin)
	defer cancel()
	_ = l.node.Client.Ready(ctx)
	slept = time.Since(began)
	l.quiet(ctx, conv)
	return slept, l.said(t, conv)
}

// dies plays trees in which a worker dies.
func dies(t *testing.T, l *load, point host.Point, times ...int) {
	t.Helper()
	want := l.tree(t, "undisturbed")
	l.convs = append(l.convs, "undisturbed")
	for _, n := range times {
		conv := fmt.Sprint("die", n)
		got, dead := l.kill(t, conv, point, n)
		l.convs = append(l.convs, conv)
		if !dead {
			t.Errorf("%s was not reached %d times", point, n)
		}
		if got != want {
			t.Errorf("%s, time %d: after the kill it ended otherwise:\n%s", point, n, cmp.Diff(want, got))
			return
		}
	}
}

// resultOnRecord has a worker die when the result of a tool that must not be run twice is recorded
// and nobody was told: the model reads what is on record.
func resultOnRecord(t *testing.T, l *load) {
	t.Helper()
	_, dead := l.kill(t, "die", host.PointOnceEnd, 1)
	l.convs = append(l.convs, "die")
	if diff := cmp.Diff([]string{"stamped", "Accepted."}, l.told(t, "die", "main/1.0.1")); !dead || diff != "" {
		t.Errorf("died: %v; what the model was told of its calls (-want +got):\n%s", dead, diff)
	}
}

// told are the texts for an agent's model about its calls.
func (l *load) told(t *testing.T, conv, agent string) []string {
	t.Helper()
	messages, err := l.node.Log.Transcript(t.Context(), placeOf(conv), agent, journal.Page{})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Kind == chat.PartToolResult {
				out = append(out, p.Text)
			}
		}
	}
	return out
}

// reconciled has a worker die before, after and at the end of a tool call that can be reconciled:
// it happens once, and the model reads the same as if nothing had been.
func reconciled(t *testing.T, l *load) {
	t.Helper()
	want := l.turn(t, "calm", shapeMend+" x")
	l.convs = append(l.convs, "calm")
	for i, point := range []host.Point{host.PointOnceStarted, host.PointOnceRan, host.PointOnceEnd} {
		conv := fmt.Sprint("mend", i)
		got, dead := l.killDuring(t, point, 1, func() string { return l.turn(t, conv, shapeMend+" x") })
		l.convs = append(l.convs, conv)
		if !dead || got != want {
			t.Errorf("%s: died: %v; it ended otherwise:\n%s", point, dead, cmp.Diff(want, got))
		}
		if diff := cmp.Diff([]string{"stamped", "Accepted."}, l.told(t, conv, "main/1.0.0")); diff != "" {
			t.Errorf("%s: what the model was told of its calls (-want +got):\n%s", point, diff)
		}
	}
}

// chatter sends messages all through a turn, at ever other moments of a leg.
func chatter(t *testing.T, l *load) {
	t.Helper()
	l.begin(t)
	l.do(t.Context(), 0, job{ID: "m", Do: "say", Conv: conversation, Text: "fan 8 m"})
	for i := range 120 {
		id := fmt.Sprintf("m%d", i)
		l.do(t.Context(), 0, job{ID: id, Do: "say", Conv: conversation, Text: "plain " + id})
		time.Sleep(time.Duration(i*7%23) * time.Millisecond)
	}
}
