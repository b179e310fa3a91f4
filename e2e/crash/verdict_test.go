//go:build services

package crash

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
)

// verdict is the result of a run.
type verdict struct {
	Conversations, Acked, Lost, Doubled int
	// Inverted counts messages that came to be after one that was said later.
	Inverted int
	// Commands were answered over HTTP, Ambiguous requests were sent and not answered.
	Commands, Ambiguous int
	// Streams were opened to watch, and Events seen through them.
	Streams, Events              int
	Agents, Missing, Unfinished  int
	Ends                         map[string]int
	Turns                        map[string]int
	Once, Repeats, Indeterminate int
	Idempotent, Rerun            int
	Requests, Refused            int
	Open                         []string
	Broken                       []string
	Resume                       []time.Duration
	ResumeAlone                  []time.Duration
	Slow                         []string
	// Drained is how long open work took to end when the faults had stopped.
	Drained            time.Duration
	TailOK, TailErrors int
}

// drain waits until nothing is open, for as long as it may take.
func (l *load) drain(ctx context.Context, most time.Duration) []string {
	deadline := time.Now().Add(most)
	for {
		open := l.open(ctx)
		if len(open) == 0 || time.Now().After(deadline) {
			return open
		}
		wait(ctx, 500*time.Millisecond)
	}
}

// open lists the work under way, by the journal and by the engine.
func (l *load) open(ctx context.Context) []string {
	var out []string
	for _, conv := range l.convs {
		for _, what := range l.unrest(ctx, conv) {
			out = append(out, conv+": "+what)
		}
	}
	if len(out) > 0 {
		return out
	}
	running, err := l.node.Client.Running(ctx)
	if err != nil {
		return []string{err.Error()}
	}
	for _, id := range running {
		if !strings.HasSuffix(id, "/"+host.Root) {
			out = append(out, id+" is open in the engine")
		}
	}
	return out
}

// refusals is why the model refused requests, but for those whose sender died in the middle.
func (l *load) refusals() []string {
	var out []string
	for _, a := range l.model.Meter().Attempts {
		if a.Status == 400 && a.Message != halfSent {
			out = append(out, a.Message)
		}
	}
	return out
}

// judge checks the journal against the ledgers.
func (l *load) judge(t *testing.T, done []struck) verdict {
	t.Helper()
	v := verdict{Conversations: len(l.convs), Ends: map[string]int{}, Turns: map[string]int{}}
	steps := map[string][]time.Time{}
	for _, conv := range l.convs {
		l.judgeOne(t, conv, &v, steps)
	}
	l.judgeEffects(t, &v)
	v.Commands, v.Ambiguous = len(l.ledger.done), l.ledger.ambiguous
	v.Broken = append(v.Broken, l.ledger.wrong...)
	v.Requests = l.model.Meter().Requests
	for _, why := range l.refusals() {
		v.Refused++
		v.Broken = append(v.Broken, "the model refused a request: "+why)
	}
	for _, s := range done {
		v.resumed(s, done, steps)
	}
	slices.Sort(v.Resume)
	slices.Sort(v.ResumeAlone)
	return v
}

// judgeOne checks one conversation against the ledger of promises.
func (l *load) judgeOne(t *testing.T, conv string, v *verdict, steps map[string][]time.Time) {
	t.Helper()
	ctx, ref := t.Context(), placeOf(conv)
	if err := journaltest.Verify(ctx, l.node.Log, ref); err != nil {
		v.Broken = append(v.Broken, fmt.Sprintf("verify %s: %v", conv, err))
	}
	letters, err := l.letters(ctx, conv)
	if err != nil {
		t.Error(err)
		return
	}
	at := map[string]int{} // where each message is
	for _, id := range l.ledger.order {
		j := l.ledger.done[id]
		if j.Conv != conv || j.Do != "say" {
			continue
		}
		v.Acked++
		n := 0
		for i, text := range letters {
			if text == j.Text {
				n++
				at[id] = i
			}
		}
		for _, before := range l.ledger.order[:l.ledger.asked[id]] {
			if earlier, said := at[before]; n > 0 && said && at[id] < earlier {
				v.Inverted++
				v.Broken = append(v.Broken, fmt.Sprintf("message %s of %s comes before %s, which was said earlier", j.ID, conv, before))
				break
			}
		}
		switch {
		case n == 0:
			v.Lost++
			v.Broken = append(v.Broken, fmt.Sprintf("message %s of %s is lost", j.ID, conv))
		case n > 1:
			v.Doubled++
			v.Broken = append(v.Broken, fmt.Sprintf("message %s of %s is recorded %d times", j.ID, conv, n))
		}
	}
	v.rows(ctx, t, l.node.Log, conv, steps)
	l.judgeCommands(t, conv, v)
}

// judgeCommands counts what people did in a conversation by its list: each command is in it once.
func (l *load) judgeCommands(t *testing.T, conv string, v *verdict) {
	t.Helper()
	found := map[string]int{}
	for after := int64(0); ; {
		entries, err := l.node.Log.Entries(t.Context(), placeOf(conv), after, journal.PageMaxLimit)
		if err != nil {
			t.Error(err)
			return
		}
		if len(entries) == 0 {
			break
		}
		for _, e := range entries {
			after = e.Seq
			//nolint:gochecksumtype // people write no others
			switch r := e.Row.(type) {
			case journal.MessageReceived:
				found["message"]++
			case journal.ApprovalDecided:
				found["decision"]++
			case journal.MailPosted:
				if r.Stops() {
					found["cancel"]++
				}
			}
		}
	}
	kinds := map[string]string{"say": "message", "answer": "message", "decide": "decision", "cancel": "cancel"}
	asked := map[string]int{}
	l.ledger.mu.Lock()
	defer l.ledger.mu.Unlock()
	for _, jobs := range []map[string]job{l.ledger.done, l.ledger.open} {
		for _, j := range jobs {
			if j.Conv == conv {
				asked[kinds[j.Do]]++
			}
		}
	}
	for kind, n := range found {
		if n > asked[kind] {
			v.Doubled += n - asked[kind]
			v.Broken = append(v.Broken, fmt.Sprintf("%s has %d of kind %s, only %d were asked for", conv, n, kind, asked[kind]))
		}
	}
}

// rows counts what the rows of a conversation say.
func (v *verdict) rows(
	ctx context.Context, t *testing.T, log journal.Log, conv string, steps map[string][]time.Time,
) {
	t.Helper()
	c := tally{
		spawned: map[string]bool{}, ended: map[string]int{}, turns: map[string]string{}, replies: map[string]int{},
		wanted: map[string]int{},
	}
	for after := int64(0); ; {
		entries, err := log.Entries(ctx, placeOf(conv), after, journal.PageMaxLimit)
		if err != nil {
			t.Error(err)
			return
		}
		if len(entries) == 0 {
			break
		}
		for _, e := range entries {
			after = e.Seq
			c.row(v, e.Row)
			if task := worksOn(e.Row); task != "" {
				stepped(steps, conv, task, e.At)
			}
		}
	}
	for turn, n := range c.replies {
		if n > 1 {
			v.Broken = append(v.Broken, fmt.Sprintf("%s of %s has %d replies on record", turn, conv, n))
		}
	}
	for call, n := range c.wanted {
		if n != 0 {
			v.Broken = append(v.Broken, fmt.Sprintf("call %s of %s waits for a person", call, conv))
		}
	}
	for task := range c.spawned {
		v.Agents++
		if c.ended[task] != 1 {
			v.Missing++
			v.Broken = append(v.Broken, fmt.Sprintf("%s of %s has %d outcomes", task, conv, c.ended[task]))
		}
	}
}

// tally sums up one conversation's rows.
type tally struct {
	spawned map[string]bool
	ended   map[string]int
	// turns says which turn a model call was for, and replies how many each got.
	turns   map[string]string
	replies map[string]int
	// wanted are the calls that wait for a person.
	wanted map[string]int
}

func (c tally) row(v *verdict, row journal.Row) {
	//nolint:gochecksumtype // the others are not counted
	switch r := row.(type) {
	case journal.ModelCalled:
		if r.Turn > 0 {
			c.turns[r.Task+"#"+r.Call] = fmt.Sprintf("%s, turn %d", r.Task, r.Turn)
		}
	case journal.ModelReplied:
		if turn, ok := c.turns[r.Task+"#"+r.Call]; ok && r.Status == chat.StatusCompleted {
			c.replies[turn]++
		}
	case journal.TaskAssigned:
		if r.Task != host.Root {
			c.spawned[r.Task] = true
		}
	case journal.TaskEnded:
		c.ended[r.Task]++
		v.Ends[strings.TrimSpace(string(r.Status)+" "+r.Reason)]++
	case journal.TurnEnded:
		v.Turns[strings.TrimSpace(string(r.Status)+" "+r.Reason)]++
	case journal.ToolReturned:
		if r.Status == journal.CallFailed && !strings.HasPrefix(r.Text, lost) {
			v.Broken = append(v.Broken, fmt.Sprintf("call %s of %s failed: %s", r.Call, r.Agent, r.Text))
		}
	case journal.ApprovalRequested:
		c.wanted[r.Agent+"#"+r.Call]++
	case journal.ApprovalClosed:
		c.wanted[r.Agent+"#"+r.Call]--
	case journal.Stepped:
		event, err := agent.UnmarshalEvent(r.Event)
		if done, ok := event.(agent.ToolDone); err == nil && ok && done.Result == agent.ToolIndeterminate {
			v.Indeterminate++
		}
	}
}

// worksOn is the task that a row moves forward: it takes a step, asks a model, or begins a call
// that must not run twice.
func worksOn(row journal.Row) string {
	switch r := row.(type) {
	case journal.Stepped:
		return r.Task
	case journal.ModelCalled:
		return r.Task
	case journal.ToolStarted:
		return r.Task
	default:
		return ""
	}
}

// stepped notes that a task moved, for it and for all above it.
func stepped(steps map[string][]time.Time, conv, task string, at time.Time) {
	for i := len(task); i > 0; i = strings.LastIndexByte(task[:i], '/') {
		whose := conv + " " + task[:i]
		steps[whose] = append(steps[whose], at)
	}
}

// judgeEffects reads the ledger of what tools did.
func (l *load) judgeEffects(t *testing.T, v *verdict) {
	t.Helper()
	text, err := os.ReadFile(l.part.ledger())
	if err != nil && !os.IsNotExist(err) {
		t.Error(err)
	}
	seen := map[string]int{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		class, call, _ := strings.Cut(line, " ")
		seen[line]++
		again := seen[line] > 1
		switch chat.EffectClass(class) {
		case chat.ClassOnce:
			if v.Once++; again {
				v.Repeats++
				v.Broken = append(v.Broken, fmt.Sprintf("%s ran %d times", call, seen[line]))
			}
		case chat.ClassIdempotent:
			if v.Idempotent++; again {
				v.Rerun++
			}
		case chat.ClassReconcilable:
			if again {
				v.Broken = append(v.Broken, fmt.Sprintf("%s ran %d times", call, seen[line]))
			}
		case chat.ClassPure:
		}
	}
}

// resumed measures how long the tasks that a killed worker carried stood still: until they or a
// task below them moved. Alone are those that had an engine, a database and workers all the while.
func (v *verdict) resumed(s struck, all []struck, steps map[string][]time.Time) {
	if s.Fault != killWorker {
		return
	}
	for _, whose := range s.Carried {
		at := steps[whose]
		slices.SortFunc(at, time.Time.Compare)
		i := slices.IndexFunc(at, func(x time.Time) bool { return x.After(s.At) })
		if i < 0 {
			continue
		}
		took := at[i].Sub(s.At)
		v.Resume = append(v.Resume, took)
		var others []string
		for _, o := range all {
			again := o.Fault == killWorker && !slices.Contains(o.Carried, whose)
			if o.At != s.At && o.Fault != killClient && o.Fault != killServer && !again && o.At.Before(at[i]) && o.Back.Add(settling).After(s.At) {
				others = append(others, fmt.Sprintf("%s at %v for %v", o.Fault, o.At.Sub(s.At).Round(100*time.Millisecond),
					o.Back.Sub(o.At).Round(100*time.Millisecond)))
			}
		}
		if len(others) == 0 {
			v.ResumeAlone = append(v.ResumeAlone, took)
		}
		if took > *resume { // not a bound: it is what the report explains
			v.Slow = append(v.Slow, fmt.Sprintf("%s stood still for %v: %v", whose, took.Round(100*time.Millisecond), others))
		}
	}
}

// halfSent is the model's answer to a request whose sender died in the middle of it.
const halfSent = "The request could not be read"

// settling is how long the effects of a fault last after its end.
const settling = 2 * time.Second

// percentile of sorted times.
func percentile(of []time.Duration, p float64) time.Duration {
	if len(of) == 0 {
		return 0
	}
	return of[min(int(float64(len(of))*p), len(of)-1)]
}
