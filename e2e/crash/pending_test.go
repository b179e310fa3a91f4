//go:build services

package crash

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/durable"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/measure"
)

var pending = flag.Bool("pending", false, "have 500 approvals and questions wait while everything is killed")

// pendingWithin is how long one stage may take on a busy machine.
const pendingWithin = 3 * time.Minute

// TestPending has 500 approvals and questions wait, with -short 200, for a person through kills of
// worker and engine. They are decided in random order, some with other arguments, some twice and
// otherwise, some after they expired or were cancelled. An approved call runs once, with the
// arguments that the person gave it if they did, nothing else runs, and each question is answered
// once.
func TestPending(t *testing.T) {
	if !*pending {
		t.Skip("run make approvals")
	}
	*seed = measure.Seed(t, *seed)
	w := newWorld(t, worldOptions{Workers: 1})
	p := &petition{
		load: &load{world: w, ledger: newLedger()}, chance: rand.New(rand.NewPCG(*seed, 3)), seen: map[string]*books{},
		said: map[string]bool{}, edited: map[string]bool{},
	}
	began := time.Now()
	p.ask(t)
	t.Logf("%d approvals and %d questions wait after %s", p.open(wanted), p.open(questions), since(began))
	p.strike(t, nil, w.engine, w.workers[0])
	p.cancelSome(t)
	p.answer(t)
	p.answerLate(t)
	p.until(t, "everything has ended", func() bool { return len(p.unfinished(t)) == 0 })
	p.judge(t)
	t.Logf("took %s", since(began))
}

func since(at time.Time) time.Duration { return time.Since(at).Round(100 * time.Millisecond) }

// petition is an approval or a question, with the person's answer.
type petition struct {
	*load
	chance *rand.Rand
	seen   map[string]*books
	// said are the decisions, by conversation and key: whether it was a yes.
	said map[string]bool
	// edited are those that were allowed with other arguments.
	edited map[string]bool
	twice  int
	late   int
	kills  map[string]int
}

// books are the rows of a conversation that matter here, read as they come.
type books struct {
	after                       int64
	wanted                      map[string]journal.ApprovalRequested
	closed                      map[string]journal.ApprovalClosed
	results                     map[string]journal.ToolReturned
	started, answers, questions map[string]int
	tasks                       map[string]bool
}

// petitioners is how many conversations plead for approvals, with four sub-agents each, and how
// many inquire, with eight.
func petitioners() (pleading, inquiring int) {
	if testing.Short() {
		return 3, 2
	}
	return 8, 7
}

// talks are the conversations: the request of each, and its number of sub-agents.
func talks() map[string]string {
	out := map[string]string{}
	pleading, inquiring := petitioners()
	for i := range pleading {
		out[fmt.Sprint("p", i)] = shapePlead + " 4"
	}
	for i := range inquiring {
		out[fmt.Sprint("q", i)] = shapeInquire + " 8"
	}
	out["x0"] = shapePlead + " 2"
	return out
}

const (
	hasty     = "h0"
	cancelled = "x0"
)

// ask opens the conversations and waits until all of it waits. Those whose time is short come last.
func (p *petition) ask(t *testing.T) {
	t.Helper()
	p.kills = map[string]int{}
	p.startClients("client", 1)
	p.begin(t, talks())
	pleading, inquiring := petitioners()
	p.until(t, "all approvals and questions are open", func() bool {
		return p.open(wanted) >= (4*pleading+2)*pleas && p.open(questions) >= 8*inquiring
	})
	p.begin(t, map[string]string{hasty: shapeHurry + " 4"})
	p.until(t, "the hasty ones are open", func() bool { return len(p.seen[hasty].wanted) >= 4*pleas })
}

func (p *petition) begin(t *testing.T, talks map[string]string) {
	t.Helper()
	for conv, text := range talks {
		p.convs = append(p.convs, conv)
		p.do(t.Context(), 0, job{ID: conv + "o", Do: "open", Conv: conv})
		p.do(t.Context(), 0, job{ID: conv + "m", Do: "say", Conv: conv, Text: text + " " + conv})
	}
	slices.Sort(p.convs)
}

// until waits for something that the journal will show.
func (p *petition) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(pendingWithin); ; time.Sleep(200 * time.Millisecond) {
		p.read(t)
		if holds() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not after %s: %s; open %d and %d, unfinished %v", pendingWithin, what, p.open(wanted), p.open(questions), p.unfinished(t))
		}
	}
}

// read reads the new records.
func (p *petition) read(t *testing.T) {
	t.Helper()
	for _, conv := range p.convs {
		b := p.seen[conv]
		if b == nil {
			b = &books{
				wanted: map[string]journal.ApprovalRequested{}, closed: map[string]journal.ApprovalClosed{}, results: map[string]journal.ToolReturned{},
				started: map[string]int{}, answers: map[string]int{}, questions: map[string]int{}, tasks: map[string]bool{},
			}
			p.seen[conv] = b
		}
		for {
			entries, err := p.node.Log.Entries(t.Context(), placeOf(conv), b.after, journal.PageMaxLimit)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				b.after = e.Seq
				b.row(e.Row)
			}
			if len(entries) == 0 {
				break
			}
		}
	}
}

func (b *books) row(row journal.Row) {
	//nolint:gochecksumtype // the others do not matter here
	switch r := row.(type) {
	case journal.ApprovalRequested:
		b.wanted[r.Agent+"#"+r.Call] = r
	case journal.ApprovalClosed:
		b.closed[r.Agent+"#"+r.Call] = r
	case journal.ToolReturned:
		b.results[r.Agent+"#"+r.Call] = r
	case journal.ToolStarted:
		b.started[r.Agent+"#"+r.Call]++
	case journal.QuestionRelayed:
		b.questions[r.Question]++
	case journal.QuestionAnswered:
		b.answers[r.Question]++
	case journal.TaskAssigned:
		b.tasks[r.Task] = true
	case journal.TaskEnded:
		delete(b.tasks, r.Task)
	}
}

// waiting is something that a person has not decided.
type waiting struct{ conv, key string }

func wanted(b *books) (out []string) {
	for key := range b.wanted {
		if _, closed := b.closed[key]; !closed {
			out = append(out, key)
		}
	}
	return out
}

func questions(b *books) (out []string) {
	for key := range b.questions {
		if b.answers[key] == 0 {
			out = append(out, key)
		}
	}
	return out
}

// open counts what waits.
func (p *petition) open(of func(*books) []string) int {
	n := 0
	for _, b := range p.seen {
		n += len(of(b))
	}
	return n
}

// unfinished are the sub-agents that have no outcome.
func (p *petition) unfinished(t *testing.T) []string {
	t.Helper()
	var out []string
	for conv, b := range p.seen {
		for task := range b.tasks {
			if task != host.Root {
				out = append(out, conv+" "+task)
			}
		}
	}
	return out
}

// strike kills processes when no tool is under way: those that are cut off have tests of their own.
// Some things are decided while they are away.
func (p *petition) strike(t *testing.T, meanwhile []waiting, victims ...*process) {
	t.Helper()
	p.until(t, "no tool runs", p.still)
	for _, v := range victims {
		v.kill()
		p.kills[v.name]++
	}
	var wg sync.WaitGroup
	for i, w := range meanwhile {
		edit := p.mayEdit(w) && i%2 == 0
		p.said[w.conv+" "+w.key], p.edited[w.conv+" "+w.key] = true, edit
		wg.Go(func() { p.tell(t, w, true, edit) })
	}
	wait(t.Context(), time.Second)
	for _, v := range victims {
		p.revive(v)
	}
	wg.Wait()
}

// still reports whether no tool runs, nor is about to. The calls of an agent run in order, so that
// the first one without a result does as soon as it is decided.
func (p *petition) still() bool {
	for conv, b := range p.seen {
		for key := range b.started {
			if _, ended := b.results[key]; !ended {
				return false
			}
		}
		for _, key := range b.next() {
			if _, decided := p.said[conv+" "+key]; decided {
				return false
			}
		}
	}
	return true
}

// next is the first call without a result of each agent.
func (b *books) next() map[string]string {
	out, first := map[string]string{}, map[string]int{}
	for key, row := range b.wanted {
		_, ended := b.results[key]
		var turn, n int
		if _, err := fmt.Sscanf(row.Call, "%d.%d", &turn, &n); err != nil || ended {
			continue
		}
		if least, met := first[row.Agent]; !met || n < least {
			out[row.Agent], first[row.Agent] = key, n
		}
	}
	return out
}

// cancelSome stops a conversation whose approvals are open.
func (p *petition) cancelSome(t *testing.T) {
	t.Helper()
	p.do(t.Context(), 0, job{ID: "stop", Do: "cancel", Conv: cancelled})
	p.until(t, "the cancelled ones have ended", func() bool { return len(p.seen[cancelled].tasks) == 1 })
}

// answer decides everything in random order and kills on the way. The approvals of the hasty
// conversation are left to expire.
func (p *petition) answer(t *testing.T) {
	t.Helper()
	var all []waiting
	for conv, b := range p.seen {
		for _, key := range append(wanted(b), questions(b)...) {
			if conv != hasty {
				all = append(all, waiting{conv, key})
			}
		}
	}
	slices.SortFunc(all, func(a, b waiting) int { return strings.Compare(a.conv+a.key, b.conv+b.key) })
	p.chance.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	victims := [][]*process{{p.workers[0]}, {p.engine}, {p.engine, p.workers[0]}}
	for i, batch := range slices.Collect(slices.Chunk(all, len(all)/4+1)) {
		meanwhile := batch[len(batch)-min(6, len(batch)):]
		if i >= len(victims) {
			meanwhile = nil
		}
		for _, w := range batch[:len(batch)-len(meanwhile)] {
			yes := p.chance.IntN(10) < 7
			p.decide(t, w, yes, yes && p.mayEdit(w) && p.chance.IntN(3) == 0)
			if p.chance.IntN(8) == 0 {
				p.twice++
				p.decide(t, w, false, false)
			}
		}
		if i < len(victims) {
			p.strike(t, meanwhile, victims[i]...)
		}
	}
}

// decide has the person decide about a petition. The first recorded decision counts.
func (p *petition) decide(t *testing.T, w waiting, yes, edit bool) {
	t.Helper()
	if _, before := p.said[w.conv+" "+w.key]; !before {
		p.said[w.conv+" "+w.key], p.edited[w.conv+" "+w.key] = yes, edit
	}
	p.tell(t, w, yes, edit)
}

// mayEdit reports whether something that waits is a call.
func (p *petition) mayEdit(w waiting) bool {
	_, approval := p.seen[w.conv].wanted[w.key]
	return approval
}

func (p *petition) tell(t *testing.T, w waiting, yes, edit bool) {
	t.Helper()
	row, approval := p.seen[w.conv].wanted[w.key]
	args := ""
	if edit {
		args = strings.ReplaceAll(string(row.Show), swift, swift+" "+amended)
	}
	for try := 0; ; try++ {
		var err error
		if approval {
			err = p.node.Client.Decide(t.Context(), placeOf(w.conv), journal.ApprovalDecided{
				In: row.In, Call: row.Call, Hash: row.Hash, Allow: yes, Scope: string(agent.ScopeOnce), By: "somebody", Args: args,
			})
		} else {
			_, err = p.node.Client.Say(t.Context(), placeOf(w.conv), durable.Message{
				ID: fmt.Sprint(w.key, yes), By: "somebody", InReplyTo: w.key,
				Parts: []chat.Part{{Kind: chat.PartText, Text: "plain answer"}},
			})
		}
		switch {
		case err == nil || chat.CodeOf(err) == chat.CodeConflict:
			return
		case try > 100:
			t.Error(err)
			return
		}
		wait(t.Context(), 100*time.Millisecond)
	}
}

// answerLate decides what has expired or was cancelled.
func (p *petition) answerLate(t *testing.T) {
	t.Helper()
	p.until(t, "the hasty ones have expired", func() bool { return len(wanted(p.seen[hasty])) == 0 })
	for _, conv := range []string{hasty, cancelled} {
		for key := range p.seen[conv].wanted {
			p.late++
			p.decide(t, waiting{conv, key}, true, false)
		}
	}
}

// judge compares the journal and the effects of tools with the person's decisions.
func (p *petition) judge(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(p.part.ledger())
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]int{}
	for line := range strings.Lines(string(text)) {
		_, id, _ := strings.Cut(strings.TrimSpace(line), " ")
		ran[id]++
	}
	count := map[string]int{}
	for conv, b := range p.seen {
		if err := journaltest.Verify(context.WithoutCancel(t.Context()), p.node.Log, placeOf(conv)); err != nil {
			t.Error(err)
		}
		for key := range b.wanted {
			closed, times := b.closed[key], ran[conv+"/"+key]
			want := map[bool]int{true: 1}[p.said[conv+" "+key] && conv != hasty && conv != cancelled]
			text, edited := b.results[key].Text, want == 1 && p.edited[conv+" "+key]
			if ranSo := strings.HasSuffix(text, "stamped as "+amended) && strings.HasPrefix(text, "The user changed the arguments"); ranSo != edited {
				t.Errorf("%s of %s was edited: %t, and gave %q", key, conv, edited, text)
			}
			count["edited"] += map[bool]int{true: 1}[edited]
			count[closed.Status]++
			count["runs"] += times
			if times != want || b.started[key] != want || closed.Status == "" || (closed.Status == "approved") != (want == 1) {
				t.Errorf("%s of %s was %s and ran %d times, it began %d times, result %+v", key, conv, closed.Status, times, b.started[key], b.results[key])
			}
		}
		for key := range b.questions {
			count["questions"]++
			if b.answers[key] != 1 || b.results[key].Text != "plain answer" {
				t.Errorf("question %s of %s has %d answers: %+v", key, conv, b.answers[key], b.results[key])
			}
		}
	}
	t.Logf("killed             %v", p.kills)
	measure.Figure(t, "approvals: through kills, %d approved, %d denied, %d expired, %d cancelled; %d decided twice, %d late",
		count["approved"], count["denied"], count["expired"], count["cancelled"], p.twice, p.late)
	measure.Figure(t, "approvals: %d runs of %d approved, %d with other arguments", count["runs"], count["approved"], count["edited"])
	t.Logf("questions          %d, each answered once", count["questions"])
	least := 500
	if testing.Short() {
		least = 200
	}
	if n := count["approved"] + count["denied"] + count["expired"] + count["cancelled"] + count["questions"]; n < least {
		t.Errorf("only %d waited, want %d", n, least)
	}
}
