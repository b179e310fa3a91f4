package chaos

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/model"
	"github.com/retinue-dev/retinue/internal/model/scripted"
)

// outcome is which ends a fault may come to.
type outcome int

const (
	either outcome = iota
	reply
	failure
)

// row is one fault of the plan with its required outcome.
type row struct {
	id string
	// vary is the trouble of one run; frames is how many a reply without trouble has.
	vary func(run, frames int) scripted.Trouble
	ends outcome
	// kinds are the errors it may end in; any that may be tried again when empty.
	kinds []chat.ErrorKind
	// idle is how long the caller waits for a sign of life.
	idle func(run int) time.Duration
	// short replies are for faults that count every byte.
	short bool
	also  func(t *testing.T, run int, e end)
}

// at varies the place or the variant of a fault over n values.
func at(n int) func(int, int) scripted.Trouble {
	return func(run, _ int) scripted.Trouble { return scripted.Trouble{At: run % n} }
}

func lasting(d time.Duration) func(int, int) scripted.Trouble {
	return func(int, int) scripted.Trouble { return scripted.Trouble{Wait: d} }
}

// sized plays a fault once at its full size and then at a smaller one, which must come to the same.
func sized(size int) func(int, int) scripted.Trouble {
	return func(run, _ int) scripted.Trouble {
		if run == 0 {
			return scripted.Trouble{}
		}
		return scripted.Trouble{Size: size}
	}
}

func patient(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }

var (
	limited = []chat.ErrorKind{chat.KindRateLimit}
	broken  = []chat.ErrorKind{chat.KindServerError}
	network = []chat.ErrorKind{chat.KindNetwork}
)

func unmetered(want bool) func(*testing.T, int, end) {
	return func(t *testing.T, _ int, e end) {
		if e.err != nil && e.err.Unmetered != want {
			t.Errorf("unmetered is %t, want %t: %v", e.err.Unmetered, want, e.err)
		}
	}
}

// rows is the plan, fault by fault. L1 and L2 never reach the server and are in network_test.go;
// L20 is in storm_test.go.
var rows = []row{
	{id: "L3", ends: failure, vary: lasting(time.Hour), idle: patient(30 * time.Millisecond)},
	{
		id: "L4", short: true,
		vary: func(run, _ int) scripted.Trouble {
			return scripted.Trouble{Wait: []time.Duration{time.Microsecond, time.Hour}[run%2]}
		},
		idle: func(run int) time.Duration { return []time.Duration{time.Minute, 30 * time.Millisecond}[run%2] },
		also: func(t *testing.T, run int, e end) {
			if (e.err != nil) != (run%2 == 1) {
				t.Errorf("a drip that is alive and one that is not end alike: %v", e.err)
			}
		},
	},
	{
		id: "L5", ends: failure, kinds: limited,
		vary: func(run, _ int) scripted.Trouble {
			return scripted.Trouble{Wait: time.Duration(run+1) * 100 * time.Millisecond}
		},
		also: func(t *testing.T, run int, e end) {
			if want := time.Duration(run+1) * 100 * time.Millisecond; e.err.RetryAfter != want {
				t.Errorf("retry after %v, want %v", e.err.RetryAfter, want)
			}
		},
	},
	{id: "L6", ends: failure, kinds: limited, also: unmetered(false)},
	{id: "L7", ends: failure, kinds: broken},
	{id: "L8", ends: failure, kinds: broken},
	{id: "L9", ends: failure, kinds: broken},
	{id: "L10", ends: failure, kinds: broken, also: unmetered(true)},
	{
		id:   "L11",
		vary: func(run, frames int) scripted.Trouble { return scripted.Trouble{At: run % (frames + 1)} },
		also: unmetered(true),
	},
	{
		id: "L12", vary: at(2),
		also: func(t *testing.T, run int, e end) {
			if run%2 == 0 && (e.err == nil || !e.err.Unmetered) {
				t.Errorf("a stream that never said why it stopped is taken for a reply: %+v", e)
			}
		},
	},
	{id: "L13"},
	{
		id: "L14",
		vary: func(run, frames int) scripted.Trouble {
			return scripted.Trouble{At: []int{0, frames - 1, frames - 2, frames - 3}[run%4]}
		},
	},
	{id: "L15"},
	{id: "L16", ends: failure, vary: lasting(time.Hour), idle: patient(20 * time.Millisecond)},
	{id: "L17", also: func(t *testing.T, _ int, e end) {
		for _, p := range e.reply.Parts {
			if !utf8.ValidString(p.Text) {
				t.Errorf("text is not UTF-8: %q", p.Text)
			}
		}
	}},
	{id: "L18", ends: failure, vary: sized(32 << 20)},
	{id: "L19", ends: failure, vary: sized(16 << 20)},
	{id: "L20", ends: failure, kinds: limited, vary: lasting(time.Hour)},
	{
		id: "X1", ends: failure, kinds: broken,
		vary: func(run, frames int) scripted.Trouble { return scripted.Trouble{At: 1 + run%frames} },
		also: unmetered(true),
	},
	{id: "L21", ends: reply, also: malformed(1)},
	{id: "L22", ends: reply, also: malformed(1)},
	{id: "L23", ends: reply, vary: at(4), also: malformed(1)},
	{id: "L24", ends: reply, also: malformed(0)},
	{id: "L25", ends: reply, also: malformed(0)},
	{id: "L26"},
	{id: "L27"},
	{id: "L28", vary: sized(1000)},
	{id: "L29", ends: reply, vary: sized(1 << 20)},
	{id: "L30", also: func(t *testing.T, _ int, e end) {
		if e.err == nil && len(e.reply.Parts) > 0 {
			t.Errorf("content out of nothing: %+v", e.reply.Parts)
		}
	}},
	{id: "L31", kinds: []chat.ErrorKind{chat.KindContentFilter}, also: func(t *testing.T, _ int, e end) {
		if e.err == nil && e.reply.Stop != model.StopRefusal {
			t.Errorf("stop is %s", e.reply.Stop)
		}
	}},
	{id: "L32", ends: reply, vary: at(3), also: func(t *testing.T, _ int, e end) {
		if !e.reply.Estimated {
			t.Errorf("a count that cannot be is believed: %+v", e.reply.Usage)
		}
	}},
	{id: "L33", ends: reply, also: malformed(0)},
	{id: "L34", ends: reply, also: malformed(0)},
	{id: "L35", ends: reply, also: malformed(0)},
	{id: "L36", ends: reply, also: malformed(0)},
	{id: "L37", ends: reply, vary: at(2), also: malformed(0)},
	{id: "L38", ends: reply, also: malformed(0)},
	{id: "L39", ends: reply, also: malformed(0)},
	{id: "L40", ends: reply, also: func(t *testing.T, _ int, e end) {
		if e.reply.Model != "m-other" {
			t.Errorf("model is %q", e.reply.Model)
		}
	}},
}

func malformed(n int) func(*testing.T, int, end) {
	return func(t *testing.T, _ int, e end) {
		if len(e.reply.Malformed) != n {
			t.Errorf("malformed are %v, want %d", e.reply.Malformed, n)
		}
	}
}

// TestThePlanIsCovered wants a row for every fault that the scripted model knows.
func TestThePlanIsCovered(t *testing.T) {
	covered := []string{"L1", "L2"} // TestConnectionsThatFail
	for _, r := range rows {
		covered = append(covered, r.id)
	}
	for _, f := range scripted.Faults() {
		if !slices.Contains(covered, f.ID) {
			t.Errorf("%s (%s) is not played", f.ID, f.Name)
		}
	}
}

// plain is the reply that faults are tried on.
var plain = scripted.Reply{
	Thinking: "Two files. Both are worth a look.", Text: "Let me see what there is.", Chunk: 7,
	Calls: []scripted.Call{
		{Tool: "read_file", Args: map[string]any{"path": "a.md"}},
		{Tool: "read_file", Args: map[string]any{"path": "b.md", "why": "it is \"there\""}},
	},
}

// TestFaults plays every fault on both wires, again and again.
func TestFaults(t *testing.T) {
	for _, r := range rows {
		for _, a := range adapters {
			t.Run(r.id+" "+string(a.provider), func(t *testing.T) {
				t.Parallel()
				play(t, r, a)
			})
		}
	}
	t.Cleanup(func() { // when all have been played
		measure.Figure(t, "chaos: %d faults on %d wires, each %d times or more, all as the plan says: %t", len(rows), len(adapters), *runs, !t.Failed())
	})
}

// play runs one fault on one wire and compares the books with the server's.
func play(t *testing.T, r row, a adapter) {
	base := plain
	if r.short {
		base = scripted.Reply{Text: "Good day."}
	}
	clean := serve(t, &scripted.Script{Default: &base}, scripted.Options{})
	if e := call(t, a.dial(t, clean, "k"), request("clean")); e.err != nil {
		t.Fatalf("without any fault: %v", e.err)
	}
	frames := settled(t, clean).Attempts[0].Frames
	n := *runs
	if r.id == "L11" {
		n = max(n, frames+1) // every boundary
	}

	script, twin := &scripted.Script{Name: r.id}, &scripted.Script{Name: "twin"}
	for run := range n {
		spoilt := base
		if r.vary != nil {
			spoilt.Fault = r.vary(run, frames)
		}
		spoilt.Fault.Name = r.id
		when := scripted.Match{Text: fmt.Sprintf("^run %d$", run)}
		script.Rules = append(script.Rules, scripted.Rule{When: when, Reply: spoilt})
		if !ofContent(r.id) {
			spoilt.Fault = scripted.Trouble{}
		}
		twin.Rules = append(twin.Rules, scripted.Rule{When: when, Reply: spoilt})
	}
	server, oracle := serve(t, script, scripted.Options{}), serve(t, twin, scripted.Options{})
	client, next := a.dial(t, server, "k"), a.dial(t, clean, "k")
	var books ledger
	calls := 0
	try := func(run int) {
		calls++
		req := request(fmt.Sprintf("run %d", run))
		if r.idle != nil {
			req.Idle = r.idle(run)
		}
		e := call(t, client, req)
		books.add(req, e)
		r.judge(t, run, e)
		if e.err == nil {
			faithful(t, r, e, plainly(t, oracle, fmt.Sprintf("run %d", run)))
			sendOn(t, next, req, e.reply)
		}
		if t.Failed() {
			t.Fatalf("run %d: %+v", run, script.Rules[run].Reply.Fault)
		}
	}
	for run := range n {
		try(run)
	}
	// Somebody in a hurry may give up before anything was sent, but not every time.
	for r.idle != nil && settled(t, server).Requests == 0 && calls < n+500 {
		try(0)
	}
	m := settled(t, server)
	books.hold(t, m)
	if m.Requests > calls || (m.Requests < calls && r.idle == nil) || m.Requests == 0 || m.Refused != 0 {
		t.Errorf("%d requests for %d calls, %d refused", m.Requests, calls, m.Refused)
	}
	if m := settled(t, clean); m.Refused != 0 {
		t.Errorf("%d replies cannot be sent on", m.Refused)
	}
}

// ofContent reports whether a fault is in the model's reply, so that it must be delivered.
func ofContent(id string) bool {
	return strings.HasPrefix(id, "L2") && id > "L20" || strings.HasPrefix(id, "L3") && id != "L3" || id == "L40"
}

// judge compares an end with its row.
func (r row) judge(t *testing.T, run int, e end) {
	t.Helper()
	if (r.ends == reply && e.err != nil) || (r.ends == failure && e.err == nil) {
		t.Errorf("ended in %+v, %v", e.reply, e.err)
		return
	}
	if e.err != nil {
		ok := e.err.Kind.Retryable()
		if len(r.kinds) > 0 {
			ok = slices.Contains(r.kinds, e.err.Kind)
		}
		if !ok {
			t.Errorf("error of kind %s: %v", e.err.Kind, e.err)
		}
	}
	if r.also != nil {
		r.also(t, run, e)
	}
}
