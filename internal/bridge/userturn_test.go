package bridge

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/events"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/internal/progress"
)

// listened is a bus that says when somebody listens.
type listened struct {
	*live.Local
	joined chan struct{}
}

// Subscribe implements live.Bus.
func (l listened) Subscribe(ctx context.Context, topic live.Topic) (*live.Reader, error) {
	r, err := l.Local.Subscribe(ctx, topic)
	select {
	case l.joined <- struct{}{}:
	default: // it is known
	}
	return r, err
}

// room is a conversation in memory, and a service that reads it.
type room struct {
	t       *testing.T
	service *Service
	log     *journaltest.Memory
	bus     listened
	ref     journal.Ref
	main    journal.In
	began   int64
}

func newRoom(t *testing.T) *room {
	t.Helper()
	r := &room{
		t: t, log: journaltest.NewMemory(), bus: listened{live.NewLocal(0), make(chan struct{}, 1)},
		ref:  journal.Ref{Tenant: "t", Conversation: "c"},
		main: journal.In{Agent: "main", Task: "main"},
	}
	t.Cleanup(r.bus.Close)
	server := api.New(api.Options{Log: r.log, Bus: r.bus})
	t.Cleanup(server.Close)
	r.service = New(Options{Server: server, Log: r.log, Bus: r.bus, Poll: time.Hour})
	r.write(
		journal.Opened{By: "ada"},
		journal.TaskAssigned{In: r.main, Role: "main"},
		journal.MessageReceived{ID: "m1", By: "ada", Parts: words("Why?")},
		journal.StatusChanged{In: r.main, Serial: 1, Status: chat.StatusRunning},
		journal.MessageAdded{In: r.main, Message: chat.Message{ID: "u1", Speaker: chat.User, Parts: words("Why?")}},
	)
	return r
}

func words(text string) []chat.Part { return []chat.Part{{Kind: chat.PartText, Text: text}} }

func (r *room) write(rows ...journal.Row) {
	r.t.Helper()
	written, err := r.log.Append(r.t.Context(), r.ref, time.Now(), rows...)
	if err != nil {
		r.t.Fatal(err)
	}
	r.bus.Announce(live.Appended{Topic: live.Topic(r.ref), Seq: written[len(written)-1].Seq})
}

// reply records a message of the orchestrator.
func (r *room) reply(turn int, text string) {
	r.t.Helper()
	r.write(journal.MessageAdded{In: r.main, Turn: turn, Message: chat.Message{ID: "t1", Speaker: chat.Assistant, Parts: words(text)}})
}

// delta publishes text on its way. An offset of zero begins the message.
func (r *room) delta(offset int64, text string) {
	if offset == 0 {
		r.began++
	}
	r.bus.Publish(live.Delta{
		Topic: live.Topic(r.ref), Agent: "main", Message: "t1", Began: r.began, Kind: chat.PartText, Offset: offset, Text: text,
	})
}

func (r *room) find(message string) *UserTurn {
	r.t.Helper()
	state, err := r.log.Snapshot(r.t.Context(), r.ref)
	if err != nil {
		r.t.Fatal(err)
	}
	x, err := r.service.userTurn(r.t.Context(), r.ref, message, state)
	if err != nil {
		r.t.Fatal(err)
	}
	return x
}

// watch follows the first message in the background. Each piece of text arrives on the channel.
func (r *room) watch() (<-chan News, <-chan Result) {
	r.t.Helper()
	news, done := make(chan News, 100), make(chan Result, 1)
	x := r.find("m1")
	ctx, stop := context.WithTimeout(r.t.Context(), time.Minute)
	r.t.Cleanup(stop)
	go func() {
		result, err := x.Watch(ctx, func(n News) error {
			if n.Message != "" {
				news <- n
			}
			return nil
		})
		if err != nil {
			r.t.Error(err)
		}
		close(news)
		done <- result
	}()
	<-r.bus.joined
	return news, done
}

func ended(in journal.In) journal.Row {
	return journal.TurnEnded{In: in, Serial: 2, Turn: 1, Status: chat.StatusCompleted}
}

func TestTextIsWhatIsOnRecord(t *testing.T) {
	for name, c := range map[string]struct {
		deltas func(*room, func())
		want   []News
	}{
		"nothing came before": {
			func(*room, func()) {},
			[]News{{Message: "t1", Text: "Because.", Whole: "Because."}},
		},
		"some came before": {
			func(r *room, taken func()) { r.delta(0, "Be"); taken() },
			[]News{{Message: "t1", Text: "Be"}, {Message: "t1", Text: "cause.", Whole: "Because."}},
		},
		"a piece was lost": {
			func(r *room, taken func()) { r.delta(0, "Be"); taken(); r.delta(5, "se") },
			[]News{{Message: "t1", Text: "Be"}, {Message: "t1", Text: "cause.", Whole: "Because."}},
		},
		"begun again the same": {
			func(r *room, taken func()) { r.delta(0, "Bec"); taken(); r.delta(0, "Be"); r.delta(2, "caus"); taken() },
			[]News{{Message: "t1", Text: "Bec"}, {Message: "t1", Text: "aus"}, {Message: "t1", Text: "e.", Whole: "Because."}},
		},
		"begun again otherwise": {
			func(r *room, taken func()) { r.delta(0, "Well"); taken(); r.delta(0, "Because") },
			[]News{{Message: "t1", Text: "Well"}, {Message: "t1", Text: "Because.", Whole: "Because.", Again: true}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t)
			news, done := r.watch()
			var got []News
			c.deltas(r, func() { got = append(got, <-news) })
			r.reply(1, "Because.")
			r.write(ended(r.main))
			for n := range news {
				got = append(got, n)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if result := <-done; result.State != StateDone || result.Words() != "Because." {
				t.Errorf("result %+v", result)
			}
		})
	}
}

func TestSummariesForTheModelAreNotTold(t *testing.T) {
	x := newRoom(t).find("m1")
	x.sent = map[string]string{}
	var told []string
	tell := func(n News) error { told = append(told, n.Text); return nil }
	for turn, kind := range []journal.RequestType{journal.RequestPrompt, journal.RequestCompaction, journal.RequestContinuation} {
		said, _ := events.Of("c", journal.Entry{Row: journal.ModelCalled{In: journal.In{Agent: "main", Task: "main"}, Type: kind, Turn: turn + 1}})
		if err := x.apply(said, tell); err != nil {
			t.Fatal(err)
		}
		if err := x.draft(string(kind), "text of a "+string(kind), tell); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"text of a prompt", "text of a continuation"}, told); diff != "" {
		t.Error(diff)
	}
}

func TestWaitingIsSeenByWhoeverAsks(t *testing.T) {
	r := newRoom(t)
	child := journal.In{Agent: "main/1.0.0", Task: "main/1.0.0"}
	r.write(
		journal.TaskAssigned{In: child, Parent: "main", Call: "1.0", Role: "general", Depth: 1},
		journal.QuestionAsked{In: child, Question: "main/1.0.0#1.0", Call: "1.0", Text: "Which?"},
	)
	if result := r.look("m1"); result.State != StateRuns {
		t.Fatalf("before it was relayed: %+v", result)
	}
	r.write(journal.QuestionRelayed{In: r.main, Question: "main/1.0.0#1.0"})
	if result := r.look("m1"); result.State != StateRuns || len(result.Pending) != 1 {
		t.Fatalf("while others are at work: %+v", result)
	}
	r.write(
		journal.StatusChanged{In: r.main, Serial: 2, Status: chat.StatusWaiting, Reason: chat.WaitUserInput},
	)
	want := []progress.Pending{{Question: "main/1.0.0#1.0", Agent: child.Agent, Task: child.Task, Role: "general", Text: "Which?"}}
	if result := r.look("m1"); result.State != StateWaits || cmp.Diff(want, result.Pending) != "" {
		t.Fatalf("waiting: %+v", result)
	}
	r.write(journal.MessageReceived{ID: "m2", By: "ada", Parts: words("This."), InReplyTo: "main/1.0.0#1.0"})
	for _, message := range []string{"m1", "m2"} { // the answer is on its way, so nothing waits for the person
		if result := r.look(message); result.State != StateRuns || len(result.Pending) > 0 {
			t.Errorf("%s, answered: %+v", message, result)
		}
	}
	r.write(
		journal.QuestionAnswered{In: r.main, Question: "main/1.0.0#1.0", By: "user", Number: 2},
		journal.StatusChanged{In: r.main, Serial: 3, Status: chat.StatusRunning},
	)
	r.reply(1, "Done.")
	r.write(ended(r.main))
	for _, message := range []string{"m1", "m2"} {
		if result := r.look(message); result.State != StateDone || result.Words() != "Done." {
			t.Errorf("%s, ended: %+v", message, result)
		}
	}
}

func (r *room) look(message string) Result {
	r.t.Helper()
	result, err := r.find(message).Look(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return result
}

func TestAnApprovalThatIsDecidedWaitsNoLonger(t *testing.T) {
	r := newRoom(t)
	r.write(
		journal.MessageAdded{In: r.main, Turn: 1, Message: chat.Message{ID: "t1", Speaker: chat.Assistant, Parts: []chat.Part{
			{Kind: chat.PartToolUse, Call: "1.0", Tool: "read_file", Args: "{}"},
		}}},
		journal.ApprovalRequested{In: r.main, Call: "1.0", Tool: "read_file", Hash: "h"},
		journal.StatusChanged{In: r.main, Serial: 2, Status: chat.StatusWaiting, Reason: chat.WaitApproval},
	)
	if result := r.look("m1"); result.State != StateWaits {
		t.Fatalf("wanted: %+v", result)
	}
	r.write(journal.MessageReceived{ID: "m2", By: "ada", Parts: words("Yes.")})
	for _, message := range []string{"m1", "m2"} {
		if result := r.look(message); result.State != StateWaits {
			t.Errorf("%s: words approved it: %+v", message, result)
		}
	}
	r.write(journal.ApprovalDecided{In: r.main, Call: "1.0", Hash: "h", Allow: true, By: "ada"})
	for _, message := range []string{"m1", "m2"} {
		if result := r.look(message); result.State != StateRuns {
			t.Errorf("%s, decided: %+v", message, result)
		}
	}
}

func TestNamesAreReadAsTheyAreWritten(t *testing.T) {
	n := Name{Conversation: "a.b", Message: "m"}
	if got, err := ParseName(n.String()); err != nil || got != n {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"", ".", "a", "a.", ".a"} {
		if _, err := ParseName(text); chat.CodeOf(err) != chat.CodeNotFound {
			t.Errorf("%q: %v", text, err)
		}
	}
}
