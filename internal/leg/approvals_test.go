package leg

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/config/role"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/internal/model"
)

var (
	sequences = flag.Int("sequences", 300, "how many sequences of asking, changing and deciding are played")
	seed      = flag.Uint64("seed", 0, "play the sequence of this seed, or as many from it on as -sequences says")
)

// TestApprovals plays random sequences of agents' calls, people's decisions and changes by others,
// through the core, the records and the check that activities use, on real files. An oracle that
// knows only the calls that the person saw and their decisions judges each call that runs.
func TestApprovals(t *testing.T) {
	first, count := measure.Seed(t, *seed), *sequences
	if *seed != 0 && !flagged("sequences") {
		count = 1
	}
	g, total := newGrounds(t), map[string]int{}
	for n := range count {
		tr := newTrial(t, g, first+uint64(n))
		tr.play()
		for what, times := range tr.counts {
			total[what] += times
		}
		if t.Failed() {
			t.Fatalf("play it again with -seed=%d", first+uint64(n))
		}
	}
	for _, what := range slices.Sorted(maps.Keys(total)) {
		t.Logf("%-24s %d", what, total[what])
	}
	measure.Figure(t, "approvals: %d sequences from seed %d: %d authorised executions, %d unauthorised", count, first, total["ran"], total["unauthorised"])
	measure.Figure(t, "walls 1.3: %d attempts, %d succeeded", total["forged"], total["unauthorised"])
	measure.Figure(t, "taint: %d agents tainted, %d calls ran that a person decided on, %d others",
		total["tainted"], total["ran although tainted"], total["unauthorised"])
	edited, barred := total["ran with other arguments"], total["ran although tainted"]
	if count >= 5000 && (total["ran"] <= 1000 || edited <= 200 || barred <= 100) {
		t.Errorf("only %d calls ran, %d with other arguments, %d although tainted: what never runs is never wrong", total["ran"], edited, barred)
	}
}

func flagged(name string) bool {
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}

// trial is one sequence.
type trial struct {
	*testing.T
	g      *grounds
	h      *Carrier
	o      oracle
	chance *rand.Rand
	clock  int64
	tours  []*tour
	counts map[string]int
	// crash is the point at which the worker is lost next.
	crash host.Point
}

// tour is one agent's run.
type tour struct {
	*leg
	old []agent.RunTool
}

// errLost is how a lost worker leaves.
type errLost struct{}

func newTrial(t *testing.T, g *grounds, seed uint64) *trial {
	t.Helper()
	g.reset(t)
	tr := &trial{
		T: t, g: g, o: oracle{calls: map[string]*asked{}, tainted: map[string]bool{}}, chance: rand.New(rand.NewPCG(seed, 1)), clock: 1_000_000,
		counts: map[string]int{},
	}
	g.ran = tr.ran
	tr.h = New(Options{
		Host: host.Options{
			Log: journaltest.NewMemory(), Catalog: rules{on: g}, Tools: g, Name: "w",
			Now: func() time.Time { return time.UnixMilli(tr.clock) },
			Fault: func(p host.Point, ref journal.Ref, task string) {
				if tr.crash == p {
					tr.crash = ""
					panic(errLost{})
				}
			},
		},
		Live: live.NewLocal(1), Engine: &register{},
	})
	coder := role.Role{Name: "coder", Rules: []role.Rule{{Tool: "shell", Pattern: "go list free", Verdict: agent.PolicyAllow}}}
	snapshot, err := coder.Snapshot()
	tr.must(err)
	hash := journal.HashOf(string(snapshot))
	for _, conv := range []string{"a", "b"} {
		_, err := tr.h.Keep(t.Context(), journal.Ref{Tenant: "t", Conversation: conv}, string(snapshot))
		tr.must(err)
	}
	for _, whose := range []string{"a main/1.0.0", "a main/1.0.1", "b main/1.0.0"} {
		conv, id, _ := strings.Cut(whose, " ")
		tr.tours = append(tr.tours, tr.begin(conv, id, hash))
	}
	return tr
}

func (tr *trial) must(err error) {
	tr.Helper()
	if err != nil {
		tr.Fatal(err)
	}
}

// begin starts an agent.
func (tr *trial) begin(conv, id, role string) *tour {
	tools := []string{"edit_file", "shell", "write_file"}
	limits := agent.DefaultLimits()
	limits.Iterations, limits.Time, limits.ApprovalTime = 1000, 1<<50, 60_000
	brief := agent.Brief{
		Conversation: conv, Agent: id, Task: id, Parent: host.Root, Depth: 1, Role: "coder", RoleHash: role, Tools: tools,
		Authority: agent.Authority{Tools: tools, Write: true}, Limits: limits, Model: agent.Model{MaxOutput: 1000},
	}
	body, err := json.Marshal(brief)
	tr.must(err)
	run := host.RunRef{Ref: journal.Ref{Tenant: "t", Conversation: conv}, Agent: id, Task: id, Workspace: "w"}
	_, err = tr.h.Log.Append(tr.Context(), run.Ref, tr.h.Now(), journal.Opened{By: "ann"},
		journal.TaskAssigned{In: journal.In{Agent: host.Root, Task: host.Root}, Role: "main"},
		journal.TaskAssigned{In: run.In(), Parent: host.Root, Depth: 1, Role: "coder", RoleHash: role, Brief: body})
	tr.must(err)
	to := &tour{leg: tr.h.newLeg(Input{RunRef: run, Parent: host.Root, Mode: ModeDetour})}
	to.family = newFamily(tr.h.Now(), Watch{}, false)
	tr.take(to, completion{event: agent.Begun{At: tr.h.At(), Brief: brief}})
	return to
}

func (tr *trial) take(to *tour, end completion) {
	tr.Helper()
	tr.must(to.take(tr.Context(), end))
	for len(to.landed) > 0 { // a call that was given up before it began
		tr.must(to.take(tr.Context(), <-to.landed))
	}
}

// play plays the sequence.
func (tr *trial) play() {
	for range 12 + tr.chance.IntN(14) {
		to := tr.tours[tr.chance.IntN(len(tr.tours))]
		tr.clock += int64(tr.chance.IntN(2000))
		switch tr.chance.IntN(18) {
		case 0, 1, 2:
			tr.ask(to)
		case 3, 4, 5, 6:
			tr.decide(to)
		case 7, 8:
			tr.mutate()
		case 9, 10, 11, 12:
			tr.execute(to)
		case 13:
			tr.attack(to)
		case 14:
			if tr.chance.IntN(3) == 0 {
				tr.cancel(to)
			}
		case 15:
			if tr.chance.IntN(3) == 0 {
				tr.clock += 60_000
				tr.take(to, completion{event: agent.Ticked{At: tr.h.At()}})
				tr.counts["expiries"]++
			}
		case 16:
			if tr.chance.IntN(3) == 0 {
				tr.taint(to)
			}
		case 17:
			tr.forget(to)
		}
	}
	for _, to := range tr.tours {
		for range 4 {
			tr.execute(to)
			tr.attack(to)
		}
	}
}

// ask has the model call a few tools.
func (tr *trial) ask(to *tour) {
	i := slices.IndexFunc(to.todo, func(e agent.Effect) bool { return strings.HasPrefix(e.Key(), "model/") })
	if i < 0 {
		return
	}
	call, _ := to.todo[i].(agent.CallModel)
	to.todo = slices.Delete(to.todo, i, i+1)
	var parts []chat.Part
	for n := range 1 + tr.chance.IntN(2) {
		name, args := tr.draw()
		parts = append(parts, chat.Part{Kind: chat.PartToolUse, Tool: name, Args: args, Call: fmt.Sprintf("%d.%d", call.Turn, n)})
	}
	end := to.replied(tr.Context(), call, to.position.State.Brief, model.Reply{Parts: parts, Stop: model.StopTools}, journal.ModelReplied{})
	end.rows = end.rows[1:]
	tr.take(to, end)
	tr.counts["asked"] += len(parts)
	if tr.o.tainted[to.id("")] != (len(to.position.State.Taint) > 0) {
		tr.Errorf("%s asks, and its core knows that it has read %v", to.id(""), to.position.State.Taint)
	}
	for _, p := range parts {
		d, _ := tr.g.set.Find(p.Tool)
		a := &asked{
			conversation: to.in.Ref.Conversation, agent: to.in.Agent, tool: p.Tool, args: p.Args, class: d.Class, free: strings.Contains(p.Args, "free"),
		}
		a.shown, a.pattern = tr.g.see(p.Tool, p.Args)
		if c := openCall(to, p.Call); c != nil {
			a.open, a.until = c.Status == agent.CallWants, c.Until
		}
		if a.open && tr.offers(to, p.Call) == "" {
			a.pattern = ""
		}
		tr.o.calls[to.id(p.Call)] = a
	}
}

func openCall(to *tour, call string) *agent.OpenCall {
	if r := to.position.State.Round; r != nil {
		for i := range r.Calls {
			if r.Calls[i].ID == call {
				return &r.Calls[i]
			}
		}
	}
	return nil
}

// id is the call's name for tools.
func (to *tour) id(call string) string {
	return to.in.Ref.Conversation + "/" + to.in.Agent + "#" + call
}

// draw is a call.
func (tr *trial) draw() (name, args string) {
	path := []string{"notes.md", "plan.md", "alias.md"}[tr.chance.IntN(3)]
	n := tr.chance.IntN(4)
	switch tr.chance.IntN(7) {
	case 0:
		return "shell", `{"command":"lint check"}`
	case 1:
		return "shell", fmt.Sprintf(`{"command":"sh check %d"}`, n)
	case 2:
		return "shell", fmt.Sprintf(`{"command":"go list %d"}`, n)
	case 3:
		return "shell", `{"command":"go list free"}`
	case 4:
		return "edit_file", fmt.Sprintf(`{"path":%q,"old":"One","new":"Two %d"}`, path, n)
	default:
		return "write_file", fmt.Sprintf(`{"path":%q,"content":"Three %d.\n"}`, path, n)
	}
}

// decide has the person decide about a call, the right one or not, once or again.
func (tr *trial) decide(to *tour) {
	ids := slices.Sorted(maps.Keys(tr.o.calls))
	ids = slices.DeleteFunc(ids, func(id string) bool { return !strings.HasPrefix(id, to.id("")) })
	if len(ids) == 0 {
		return
	}
	id := ids[tr.chance.IntN(len(ids))]
	if i := slices.IndexFunc(ids, func(id string) bool { return tr.o.calls[id].open }); i >= 0 && tr.chance.IntN(4) > 0 {
		id = ids[i]
	}
	call := strings.TrimPrefix(id, to.id(""))
	if tr.chance.IntN(4) == 0 {
		tr.edit(to, id, call)
		return
	}
	e := agent.Decided{
		At: tr.h.At(), Call: call, Hash: tr.shown(to, call), Allow: tr.chance.IntN(5) > 0, By: "ann",
		Scope: []agent.Scope{agent.ScopeOnce, agent.ScopeOnce, agent.ScopeTask, agent.ScopeChat}[tr.chance.IntN(4)],
	}
	right := true
	if tr.chance.IntN(6) == 0 { // a decision on the same call of another run
		other := tr.shown(tr.tours[tr.chance.IntN(len(tr.tours))], call)
		right, e.Hash = other == e.Hash, other
		tr.counts["decided for another"]++
	}
	if tr.chance.IntN(6) == 0 { // an intruder who reaches only the engine says so in the person's name
		e.Allow, right = true, false
		tr.counts["forged"]++
	} else if !tr.record(to, e) {
		return // it was decided before, and the engine is told so
	}
	for range 1 + tr.chance.IntN(2) { // the double click
		if right && e.Hash != "" {
			tr.o.decided(id, e.Allow, e.Scope, tr.clock)
		}
		tr.take(to, completion{event: e})
		tr.counts["decided"]++
	}
}

// record writes a decision, as a client does before it tells the engine.
func (tr *trial) record(to *tour, e agent.Decided) (first bool) {
	written, err := tr.h.Log.Append(tr.Context(), to.in.Ref, tr.h.Now(), journal.ApprovalDecided{
		In: to.in.In(), Call: e.Call, Hash: e.Hash, Allow: e.Allow, Scope: string(e.Scope), By: e.By,
	})
	tr.must(err)
	return !written[0].Existed
}

// edit has the person allow a call with other arguments, as a client does: they are on record,
// looked at, decided, and told to the core.
func (tr *trial) edit(to *tour, id, call string) {
	ctx, a := tr.Context(), tr.o.calls[id]
	name, args := tr.draw()
	for name != a.tool {
		name, args = tr.draw()
	}
	row := journal.EditProposed{In: to.in.In(), Call: call, Edit: journal.HashOf(args), Args: args, By: "ann"}
	_, err := tr.h.Log.Append(ctx, to.in.Ref, tr.h.Now(), row)
	tr.must(err)
	kept, err := tr.h.Review(ctx, ReviewInput{RunRef: to.in.RunRef, Call: call, Edit: row.Edit})
	tr.must(err)
	reviewed, err := kept.Verdict(ctx, tr.h.Log, to.in.Ref)
	tr.must(err)
	would, pattern := tr.g.see(name, args)
	if reviewed.Problem != "" {
		if denied := tr.denies(name, args, pattern); !denied && args != a.args {
			tr.Errorf("%s with %s: %s", id, args, reviewed.Problem)
		}
		tr.counts["edits refused"]++
		return
	}
	if tr.denies(name, args, pattern) {
		tr.Errorf("%s may be edited to what is denied: %s", id, args)
	}
	body, err := json.Marshal(reviewed.Call)
	tr.must(err)
	d := journal.ApprovalDecided{
		In: to.in.In(), Call: call, Hash: tr.shown(to, call), Allow: true, Scope: string(agent.ScopeOnce), By: "ann", Args: args, Edited: body,
	}
	written, err := tr.h.Log.Append(ctx, to.in.Ref, tr.h.Now(), d)
	tr.must(err)
	if written[0].Existed {
		return // it was decided otherwise before
	}
	if d.Hash != "" {
		tr.o.edited(id, args, would, pattern, tr.clock)
	}
	for range 1 + tr.chance.IntN(2) {
		tr.take(to, completion{event: agent.Decided{
			At: tr.h.At(), Call: call, Hash: d.Hash, Allow: true, Scope: agent.ScopeOnce, By: "ann", Edited: &reviewed.Call,
		}})
		tr.counts["edited"]++
	}
}

// shown is the call that the person was asked about.
func (tr *trial) shown(to *tour, call string) string {
	entries, err := tr.h.Log.Find(tr.Context(), to.in.Ref, journal.ApprovalRequested{In: to.in.In(), Call: call}.Key())
	tr.must(err)
	if len(entries) == 0 {
		return ""
	}
	row, _ := entries[0].Row.(journal.ApprovalRequested)
	return row.Hash
}

// mutate changes something that decides what a call does.
func (tr *trial) mutate() {
	tr.counts["changed"]++
	n := tr.chance.IntN(3)
	switch tr.chance.IntN(7) {
	case 0:
		tr.g.write(tr.T, fmt.Sprintf("d%d/check", 1+n%2), fmt.Sprint("script ", n))
	case 1:
		tr.g.write(tr.T, []string{"bin1/lint", "bin1/sh", "bin1/go"}[n], fmt.Sprint("program ", tr.chance.IntN(3)))
	case 2:
		slices.Reverse(tr.g.path)
	case 3:
		tr.g.link(tr.T, "cwd", []string{"d1", "d2", "d1"}[n])
	case 4:
		tr.g.write(tr.T, []string{"notes.md", "plan.md", "notes.md"}[n], fmt.Sprintf("One %d.\n", tr.chance.IntN(3)))
	case 5:
		tr.g.link(tr.T, "alias.md", []string{"notes.md", "plan.md", "plan.md"}[n])
	case 6:
		tr.g.denied = [][]role.Rule{nil, {denyLint}, {denyPlan}}[n]
	}
}

var (
	denyLint = role.Rule{Tool: "shell", Pattern: "lint *", Verdict: agent.PolicyDeny}
	denyPlan = role.Rule{Tool: "write_file", Pattern: "plan.md", Verdict: agent.PolicyDeny}
)

// denies reports what the keeper of the machine says of a call, by the test's own reading.
func (tr *trial) denies(name, args, pattern string) bool {
	if len(tr.g.denied) == 0 {
		return false
	}
	if tr.g.denied[0] == denyLint {
		return name == "shell" && strings.Contains(args, `"lint `)
	}
	return name == "write_file" && (pattern == "plan.md" || strings.Contains(args, `"plan.md"`))
}

// cancel stops an agent: no call of it runs any more, even after a later decision.
func (tr *trial) cancel(to *tour) {
	tr.counts["cancelled"]++
	tr.take(to, completion{event: agent.CancelRequested{At: tr.h.At(), ID: fmt.Sprint(tr.clock), Reason: agent.CancelUser}})
	for id, a := range tr.o.calls {
		if strings.HasPrefix(id, to.id("")) {
			a.open, a.covered = false, false
		}
	}
	to.todo = slices.DeleteFunc(to.todo, func(e agent.Effect) bool { return strings.HasPrefix(e.Key(), "tool/") })
}

// execute runs a call that the core ordered; at times the worker is lost on the way.
func (tr *trial) execute(to *tour) {
	i := slices.IndexFunc(to.todo, func(e agent.Effect) bool { return strings.HasPrefix(e.Key(), "tool/") })
	if i < 0 {
		return
	}
	run, _ := to.todo[i].(agent.RunTool)
	at := []host.Point{"", "", "", host.PointToolRun, host.PointToolRan}[tr.chance.IntN(5)]
	tr.crash = at
	end, lost := tr.perform(to, run)
	if tr.crash = ""; lost {
		tr.counts["lost at "+string(at)]++
		if a := tr.o.calls[to.id(run.Call)]; at == host.PointToolRun { // it had begun, though it did nothing
			tr.starts(to.id(run.Call), a.tool, cmp.Or(a.edited, a.args))
		}
		return
	}
	to.old = append(to.old, run)
	to.todo = slices.Delete(to.todo, i, i+1)
	if done, ok := end.event.(agent.ToolDone); ok && done.Result == agent.ToolDenied {
		tr.counts["stopped: "+string(done.Reason)]++
	}
	tr.take(to, end)
	if a := tr.o.calls[to.id(run.Call)]; a != nil {
		a.ended = true
	}
}

// attack orders what the core never did: a call again, in another run, under the approval of
// another, or before anybody has decided.
func (tr *trial) attack(to *tour) {
	from := tr.tours[tr.chance.IntN(len(tr.tours))]
	ids := slices.Sorted(maps.Keys(tr.o.calls))
	if len(ids) == 0 {
		return
	}
	id := ids[tr.chance.IntN(len(ids))]
	call, a := id[strings.IndexByte(id, '#')+1:], tr.o.calls[id]
	run := agent.RunTool{Call: call, Tool: a.tool, Class: a.class, Hash: agent.Digest(a.tool, a.args).Hash, Bound: tr.shown(to, call)}
	if len(from.old) > 0 && tr.chance.IntN(3) > 0 {
		run = from.old[tr.chance.IntN(len(from.old))]
		switch was := run.Call; tr.chance.IntN(6) {
		case 0:
			run.Call = call
		case 1:
			run.Call, run.By = call, was
		case 2:
			run.Call, run.Hash, run.Bound = call, "", ""
		}
	}
	run.Approved = run.Approved || tr.chance.IntN(4) > 0
	tr.counts["attacks"]++
	before := tr.counts["ran"]
	tr.perform(to, run)
	tr.counts["attacks that did no harm"] += tr.counts["ran"] - before
}

// perform runs a call as an activity does.
func (tr *trial) perform(to *tour, run agent.RunTool) (end completion, lost bool) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case errLost:
			lost = true
		default:
			panic(p)
		}
	}()
	ctx := tr.Context()
	p, err := to.permit(ctx, run)
	if err != nil {
		return completion{}, false // there is no such call there
	}
	switch {
	case !run.Class.Repeatable():
		end = completionOf(to.RunOnce(ctx, p))
		tr.must(end.err)
	case run.Approved:
		end = completionOf(tr.h.RunApproved(ctx, p))
	default:
		tr.crash = ""
		rows, begin, err := to.prepareTool(ctx, run)
		tr.must(err)
		if len(rows) > 0 {
			_, err = tr.h.Log.Append(ctx, to.in.Ref, tr.h.Now(), rows...)
			tr.must(err)
		}
		begin()
		end = <-to.landed
		delete(to.running, end.key)
	}
	return end, false
}

// ran is told of each call that runs.
func (tr *trial) ran(id, name, args string) {
	tr.starts(id, name, args)
	tr.counts["ran"]++
	if a := tr.o.calls[id]; a != nil && tr.o.tainted[a.whose()] {
		tr.counts["ran although tainted"]++
	}
	if a := tr.o.calls[id]; a != nil && a.edited != "" && a.edited == args {
		tr.counts["ran with other arguments"]++
	}
}

// starts asks the oracle whether a call that begins may run.
func (tr *trial) starts(id, name, args string) {
	would, pattern := tr.g.see(name, args)
	a := tr.o.calls[id]
	if !tr.o.may(id, would, pattern, tr.denies(name, args, pattern)) {
		tr.counts["unauthorised"]++
		tr.Errorf("%s ran without leave: %s %s (%+v)", id, name, args, a)
		return
	}
	a.began++
}
