package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/measure"
	"github.com/retinue-dev/retinue/wire"
)

// TestSnapshotAndEvents compares what a client comes to know by a snapshot and the events after it
// with a later snapshot. Rows are drawn.
func TestSnapshotAndEvents(t *testing.T) {
	t.Parallel()
	seed := measure.Seed(t, 0)
	for round := range 5 {
		o, chance := newOffice(t), rand.New(rand.NewPCG(seed, uint64(round)))
		path, ref := o.begin(t, "key-begin")
		p := &plot{chance: chance, tasks: []journal.In{mainTask}}
		early := []wire.Snapshot{o.snapshot(t, path)} // one there is even if all is written before the next
		written := make(chan error, 1)
		go func() { // somebody reads while it happens
			var err error
			for i := range 250 {
				if _, err = o.log.Append(t.Context(), ref, o.clock.Add(time.Duration(i)*time.Millisecond), p.row()); err != nil {
					break
				}
				if i%10 == 0 {
					time.Sleep(time.Millisecond)
				}
			}
			written <- err
		}()
		for len(written) == 0 && len(early) < 20 {
			early = append(early, o.snapshot(t, path))
		}
		if err := <-written; err != nil {
			t.Fatal(err)
		}
		o.clock = o.clock.Add(time.Second)
		o.write(t, ref, journal.NoteAdded{In: mainTask, Serial: 1 << 20, Note: "last"})
		late := o.snapshot(t, path)
		for _, state := range early {
			from := state.Conversation.Seq
			o.follow(t, path, &state, late.Conversation.Seq)
			if diff := cmp.Diff(late, state, cmpopts.IgnoreFields(wire.Snapshot{}, "HeldTokens", "HeldCost"),
				cmpopts.IgnoreFields(wire.Message{}, "State", "Reads")); diff != "" {
				t.Fatalf("seed %d, round %d: snapshot %d and the events after it differ from snapshot %d:\n%s",
					seed, round, from, late.Conversation.Seq, diff)
			}
		}
	}
}

// talkative is a journal in which somebody says something whenever the chat is read.
type talkative struct {
	*journaltest.Memory
	said int
}

func (l *talkative) Chat(ctx context.Context, ref journal.Ref, page journal.Page) ([]journal.Message, error) {
	l.said++
	row := journal.MessageReceived{ID: strconv.Itoa(l.said), By: "ann", Parts: []chat.Part{{Kind: chat.PartText, Text: "between"}}}
	if _, err := l.Append(ctx, ref, time.Now(), row); err != nil {
		return nil, err
	}
	return l.Memory.Chat(ctx, ref, page)
}

// TestSnapshotIsOfOneMoment has a message come while a snapshot is made: it is in the events after
// the snapshot, so it is not in the snapshot.
func TestSnapshotIsOfOneMoment(t *testing.T) {
	t.Parallel()
	o := newOfficeOn(t, &talkative{Memory: journaltest.NewMemory()})
	path, _ := o.begin(t, "key-begin")
	for range 3 {
		state := o.snapshot(t, path)
		if int64(len(state.Messages)) != state.Conversation.Number {
			t.Errorf("a snapshot after %d messages has %d", state.Conversation.Number, len(state.Messages))
		}
	}
}

func (o *office) snapshot(t *testing.T, path string) (out wire.Snapshot) {
	t.Helper()
	o.send(t, http.MethodGet, path, "", "").into(t, http.StatusOK, &out)
	return out
}

// follow applies the events after a snapshot, up to one.
func (o *office) follow(t *testing.T, path string, state *wire.Snapshot, to int64) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, o.URL+path+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+officeToken)
	r.Header.Set("Last-Event-ID", strconv.FormatInt(state.Conversation.Seq, 10))
	answer, err := o.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // a stream
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		text, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e event
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Fatal(err)
		}
		if err := e.apply(state); err != nil {
			t.Fatalf("apply %s: %v", text, err)
		}
		if e.Seq == to {
			return
		}
	}
	t.Fatalf("the stream ended before %d: %v", to, lines.Err())
}

// event is one as a client reads it.
type event struct{ wire.Event }

// apply takes an event into the state that a client keeps.
func (e event) apply(s *wire.Snapshot) error {
	s.Conversation.Seq, s.Conversation.UpdatedAt = e.Seq, e.At
	//nolint:exhaustive // the others are sorted below
	switch e.Type {
	case wire.ConversationRenamed:
		return with(e, func(d wire.Renamed) { s.Conversation.Title = d.Title })
	case wire.ConversationShared:
		return with(e, func(wire.Actor) { s.Conversation.Visibility = wire.VisibleToTenant })
	case wire.ConversationArchived:
		s.Conversation.Archived = true
	case wire.MessageReceived:
		return with(e, func(d wire.Received) {
			s.Conversation.Number = d.Number
			s.Messages = append(s.Messages, d.Message)
		})
	case wire.MessageCompleted:
		return with(e, func(d wire.Message) {
			if e.Agent == "main" && d.Speaker == "assistant" {
				s.Messages = append(s.Messages, d)
			}
		})
	case wire.MessageVoided:
		return with(e, func(d wire.Voided) {
			s.Messages = slices.DeleteFunc(s.Messages, func(m wire.Message) bool { return m.Agent == e.Agent && m.Turn == d.Turn && m.Number == 0 })
		})
	case wire.NoteAdded:
		return with(e, func(d wire.Noted) {
			s.Notes = append(s.Notes, wire.Note{Seq: e.Seq, At: e.At, Agent: e.Agent, Task: e.Task, Noted: d})
		})
	case wire.TurnCompleted, wire.TurnFailed, wire.TurnCancelled:
		return with(e, func(d wire.TurnEnd) {
			s.Turns = append(s.Turns, wire.EndedTurn{Seq: e.Seq, At: e.At, Agent: e.Agent, Task: e.Task, TurnEnd: d})
		})
	case wire.AttemptCompleted, wire.AttemptFailed:
		return with(e, func(d wire.AttemptEnd) { e.spend(s, d.Usage) })
	default:
		if strings.HasPrefix(string(e.Type), "agent.") {
			return e.applyTask(s)
		}
		return e.applyAsk(s)
	}
	return nil
}

// spend adds what a call used to its agent and to all above it.
func (e event) spend(s *wire.Snapshot, u wire.Usage) {
	add := func(to *wire.Usage) {
		to.Input, to.Output, to.CacheRead, to.CacheWrite = to.Input+u.Input, to.Output+u.Output, to.CacheRead+u.CacheRead, to.CacheWrite+u.CacheWrite
		to.Reasoning, to.Cost, to.Unpriced = to.Reasoning+u.Reasoning, to.Cost+u.Cost, to.Unpriced+u.Unpriced
	}
	add(&s.Used)
	for i := range s.Agents {
		a := &s.Agents[i]
		if a.ID == e.Agent {
			add(&a.Own)
		}
		if a.ID == e.Agent || strings.HasPrefix(e.Agent, a.ID+"/") {
			add(&a.Subtree)
		}
	}
}

func (e event) applyTask(s *wire.Snapshot) error {
	at := slices.IndexFunc(s.Tasks, func(t wire.Task) bool { return t.ID == e.Task })
	//nolint:exhaustive // the others are moves
	switch e.Type {
	case wire.AgentSpawned:
		return with(e, func(d wire.Spawned) {
			s.Tasks = append(s.Tasks, wire.Task{
				ID: e.Task, Agent: e.Agent, Parent: d.Parent, Call: d.Call, Item: d.Item, Trigger: d.Trigger, Background: d.Background,
				Seq: e.Seq, Status: "pending", AssignedAt: e.At, Title: d.Instruction, MaxIterations: d.MaxIterations,
				MaxDuration: d.MaxDuration,
			})
			if i := slices.IndexFunc(s.Agents, func(a wire.Agent) bool { return a.ID == e.Agent }); i >= 0 {
				s.Agents[i].Task = e.Task
				return
			}
			s.Agents = append(s.Agents, wire.Agent{
				ID: e.Agent, Parent: d.Parent, Depth: d.Depth, Role: d.Role, RoleHash: d.RoleHash, Task: e.Task,
			})
		})
	case wire.AgentCompleted, wire.AgentFailed, wire.AgentCancelled:
		return with(e, func(d wire.Finished) {
			t := &s.Tasks[at]
			t.Status, t.Reason, t.Kind, t.FinishedAt, t.Verdict = d.Status, "", d.Kind, &e.At, "none"
			t.Summary, t.Message, t.Changed, t.ChangedCount, t.Iterations = d.Summary, d.Message, d.Files, len(d.Files), d.Iterations
			if d.Receipt != nil {
				t.Verdict = "verified"
			}
		})
	case wire.AgentPatched:
		return nil
	default:
		return with(e, func(d wire.Moved) {
			if s.Tasks[at].FinishedAt != nil {
				return
			}
			s.Tasks[at].Status, s.Tasks[at].Reason = d.Status, d.Reason
			if d.Status == "running" && s.Tasks[at].StartedAt == nil {
				s.Tasks[at].StartedAt = &e.At
			}
		})
	}
}

func (e event) applyAsk(s *wire.Snapshot) error {
	question := func(id string, change func(*wire.Question)) {
		if i := slices.IndexFunc(s.Questions, func(q wire.Question) bool { return q.ID == id }); i >= 0 {
			change(&s.Questions[i])
		}
	}
	approval := func(id string, change func(*wire.Approval)) {
		if i := slices.IndexFunc(s.Approvals, func(a wire.Approval) bool { return a.ID == id }); i >= 0 {
			change(&s.Approvals[i])
		}
	}
	//nolint:exhaustive // the others are no part of the state
	switch e.Type {
	case wire.QuestionAsked:
		return with(e, func(d wire.Question) { s.Questions = append(s.Questions, d) })
	case wire.QuestionRelayed:
		return with(e, func(d wire.Relayed) { question(d.Question, func(q *wire.Question) { q.Status = "relayed" }) })
	case wire.QuestionAnswered:
		return with(e, func(d wire.Answered) {
			question(d.Question, func(q *wire.Question) { q.Status, q.By, q.Text, q.Options = "closed", d.By, "", nil })
		})
	case wire.ApprovalRequested:
		return with(e, func(d wire.Approval) { s.Approvals = append(s.Approvals, d) })
	case wire.ApprovalDecided:
		return with(e, func(d wire.Decided) {
			approval(d.Approval, func(a *wire.Approval) {
				a.Status, a.Allow, a.Scope, a.By, a.Show, a.Pattern = "decided", d.Allow, d.Scope, d.By, nil, ""
				a.Edited = len(d.Args) > 0
			})
		})
	case wire.ApprovalResolved, wire.ApprovalExpired:
		return with(e, func(d wire.Closed) {
			approval(d.Approval, func(a *wire.Approval) { a.Status, a.Show, a.Pattern = d.Status, nil, "" })
		})
	default:
		return nil
	}
}

func with[T any](e event, do func(T)) error {
	data, ok := e.Data.(T)
	if !ok {
		return fmt.Errorf("its data is a %T, want %T", e.Data, data)
	}
	do(data)
	return nil
}

// plot draws rows that could have happened.
type plot struct {
	chance    *rand.Rand
	serial    int
	tasks     []journal.In
	questions []journal.QuestionRelayed
	approvals []journal.ApprovalRequested
}

func (p *plot) next() int {
	p.serial++
	return p.serial
}

// row draws the next row.
func (p *plot) row() journal.Row {
	n, in := p.next(), p.tasks[p.chance.IntN(len(p.tasks))]
	switch p.chance.IntN(13) {
	case 0:
		child := journal.In{Agent: fmt.Sprintf("%s/%d", in.Agent, n)}
		child.Task = child.Agent
		p.tasks = append(p.tasks, child)
		return journal.TaskAssigned{
			In: child, Parent: in.Agent, Call: "1.0", Item: n, Trigger: int64(n), Depth: chat.AgentPath(child.Agent).Depth(), Role: "coder",
			RoleHash: "h", Background: n%2 == 0, Instruction: fmt.Sprint("do ", n), MaxIterations: n, MaxDuration: int64(n),
		}
	case 1, 2:
		status := []chat.Status{chat.StatusRunning, chat.StatusWaiting, chat.StatusRunning, chat.StatusCompleted}[n%4]
		return journal.StatusChanged{In: in, Serial: n, Status: status, Reason: map[bool]chat.WaitReason{true: chat.WaitApproval}[status == chat.StatusWaiting]}
	case 3:
		if in == mainTask {
			return journal.Titled{ID: strconv.Itoa(n), Title: fmt.Sprint("title ", n)}
		}
		return journal.TaskEnded{
			In: in, Status: []chat.Status{chat.StatusCompleted, chat.StatusFailed, chat.StatusCancelled}[n%3], ErrorKind: chat.KindAuth,
			Summary: fmt.Sprint("did ", n), Message: "why", Files: []string{"a", "b"}, Iterations: n,
			Receipt: []json.RawMessage{nil, json.RawMessage(`{"verdict":"verified"}`)}[n%2],
		}
	case 4:
		return journal.MessageReceived{ID: strconv.Itoa(n), By: "ann", Parts: []chat.Part{{Kind: chat.PartText, Text: fmt.Sprint("said ", n)}}}
	case 5, 6:
		return journal.MessageAdded{In: in, Turn: n, Message: chat.Message{
			ID: strconv.Itoa(n), Speaker: []chat.Speaker{chat.Assistant, chat.User}[n%2], Parts: []chat.Part{{Kind: chat.PartText, Text: fmt.Sprint("spoke ", n)}},
		}}
	case 7:
		return journal.Stepped{In: in, N: n, Event: json.RawMessage(`{}`)}
	case 8:
		return journal.ModelReplied{In: in, Call: strconv.Itoa(n), Status: chat.StatusCompleted, Usage: chat.Usage{Input: int64(n), Output: 1, Cost: 3}}
	case 9:
		return journal.Stop(fmt.Sprint(n), "ann", "")
	case 10:
		return p.question(in, n)
	case 11:
		if n%2 == 0 {
			return journal.TurnEnded{In: mainTask, Serial: n, Turn: n, Status: chat.StatusCompleted, Cut: n%4 == 0}
		}
		return journal.NoteAdded{In: in, Serial: n, Note: "answered", Text: fmt.Sprint("note ", n)}
	}
	return p.approval(in, n)
}

func (p *plot) question(in journal.In, n int) journal.Row {
	if len(p.questions) == 0 || n%3 == 0 {
		id := fmt.Sprint(in.Agent, "#", n)
		p.questions = append(p.questions, journal.QuestionRelayed{In: in, Question: id})
		return journal.QuestionAsked{In: in, Question: id, Text: "Which?", Options: []string{"a"}}
	}
	q := p.questions[len(p.questions)-1]
	if n%2 == 0 {
		return q
	}
	p.questions = p.questions[:len(p.questions)-1]
	return journal.QuestionAnswered{In: q.In, Question: q.Question, By: "user", Text: "a"}
}

func (p *plot) approval(in journal.In, n int) journal.Row {
	if len(p.approvals) == 0 || n%3 == 0 {
		w := journal.ApprovalRequested{In: in, Call: fmt.Sprint(n, ".0"), Tool: "shell", Hash: "h", Pattern: "ls *", Show: json.RawMessage(`{"a":1}`)}
		p.approvals = append(p.approvals, w)
		return w
	}
	w := p.approvals[len(p.approvals)-1]
	if n%2 == 0 {
		d := journal.ApprovalDecided{In: w.In, Call: w.Call, Hash: "h", Allow: true, Scope: "once", By: "ann"}
		if n%4 == 0 {
			d.Args = `{"a":2}`
		}
		return d
	}
	p.approvals = p.approvals[:len(p.approvals)-1]
	return journal.ApprovalClosed{In: w.In, Call: w.Call, Status: []string{"approved", "expired"}[n/2%2]}
}
