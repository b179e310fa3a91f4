package progress_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/internal/progress"
	"github.com/retinue-dev/retinue/wire"
)

var ref = journal.Ref{Tenant: "acme", Conversation: "c"}

// write records rows, and has the bus say so if there is one.
func write(t *testing.T, log journal.Log, bus *live.Local, rows ...journal.Row) {
	t.Helper()
	written, err := log.Append(t.Context(), ref, start, rows...)
	if err != nil {
		t.Fatal(err)
	}
	if bus != nil {
		bus.Announce(live.Appended{Topic: live.Topic(ref), Seq: written[len(written)-1].Seq})
	}
}

// opened begins the conversation.
func opened(t *testing.T) *journaltest.Memory {
	t.Helper()
	log := journaltest.NewMemory()
	write(t, log, nil, journal.Opened{By: "ann", Title: "Plums"}, journal.TaskAssigned{In: root, Role: "main"})
	return log
}

func note(n int) journal.Row { return journal.NoteAdded{In: root, Serial: n, Note: "kept"} }

// await reads updates until one fits.
func await(t *testing.T, from <-chan progress.Update, fits func(progress.Update) bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		select {
		case u, ok := <-from:
			if !ok {
				t.Fatal("the follower has ended")
			}
			if fits(u) {
				return
			}
		case <-deadline:
			t.Fatal("it was not told")
		}
	}
}

// seqs reads updates until they go up to a place, and returns the events on the way.
func seqs(t *testing.T, from <-chan progress.Update, to int64) (list []int64) {
	t.Helper()
	await(t, from, func(u progress.Update) bool {
		if u.Err != nil {
			t.Error(u.Err)
		}
		for _, e := range u.Events {
			list = append(list, e.Seq)
		}
		return u.Seq == to
	})
	return list
}

// rarely is a poll that no test waits for.
const rarely = time.Hour

// TestAFollowerIsToldOfEachEventOnce follows from the middle, while more is written and announced.
// What is no event moves the place all the same.
func TestAFollowerIsToldOfEachEventOnce(t *testing.T) {
	t.Parallel()
	log, bus := opened(t), live.NewLocal(0)
	defer bus.Close()
	write(t, log, nil, note(1), note(2))
	ctx, cancel := context.WithCancel(t.Context())
	updates := progress.Follow(ctx, log, bus, ref, 3, rarely)
	if diff := cmp.Diff([]int64{4}, seqs(t, updates, 4)); diff != "" {
		t.Errorf("what was there (-want +got):\n%s", diff)
	}
	bus.Announce(live.Appended{Topic: live.Topic(ref), Seq: 4}) // it knows that
	for n := 3; n < 6; n++ {
		write(t, log, bus, note(n), journal.Stepped{In: root, N: n, Event: []byte(`{}`)})
	}
	if diff := cmp.Diff([]int64{5, 7, 9}, seqs(t, updates, 10)); diff != "" {
		t.Errorf("what came (-want +got):\n%s", diff)
	}
	cancel()
	deadline := time.After(time.Minute)
	for ended := false; !ended; {
		select {
		case _, more := <-updates:
			ended = !more
		case <-deadline:
			t.Fatal("it goes on when nobody reads any more")
		}
	}
}

// TestWhatNobodyAnnouncesIsFound has rows come without a notice.
func TestWhatNobodyAnnouncesIsFound(t *testing.T) {
	t.Parallel()
	log, bus := opened(t), live.NewLocal(0)
	defer bus.Close()
	updates := progress.Follow(t.Context(), log, bus, ref, 0, 10*time.Millisecond)
	seqs(t, updates, 2)
	write(t, log, nil, note(1))
	if diff := cmp.Diff([]int64{3}, seqs(t, updates, 3)); diff != "" {
		t.Errorf("what came (-want +got):\n%s", diff)
	}
}

// TestADraftGrowsUntilItIsBegunAgain publishes pieces of replies. A person sees the orchestrator's
// words, without what it thinks and calls and without the words of others.
func TestADraftGrowsUntilItIsBegunAgain(t *testing.T) {
	t.Parallel()
	log, bus := opened(t), live.NewLocal(0)
	defer bus.Close()
	updates := progress.Follow(t.Context(), log, bus, ref, 0, rarely)
	seqs(t, updates, 2)
	say := func(message string, began int64) *live.Feed {
		return live.NewFeed(bus, live.Delta{Topic: live.Topic(ref), Agent: "main", Message: message, Began: began})
	}
	var drafts []string
	upTo := func(text string) {
		t.Helper()
		await(t, updates, func(u progress.Update) bool {
			drafts = append(drafts, u.Message+": "+u.Draft)
			return u.Draft == text
		})
	}
	first := say("t1", 1)
	first.Write(0, chat.PartText, "", "Plums ")
	first.Write(1, chat.PartThinking, "", "Hm.")
	live.NewFeed(bus, live.Delta{Topic: live.Topic(ref), Agent: child.Agent, Message: "t1", Began: 1}).Write(0, chat.PartText, "", "Elsewhere.")
	first.Write(0, chat.PartText, "", "keep.")
	first.Write(2, chat.PartText, "", "For days.")
	upTo("Plums keep.\nFor days.")
	first.Restart(2)
	first.Write(0, chat.PartText, "", "Pears.")
	upTo("Pears.")
	say("t2", 1).Write(0, chat.PartText, "", "And apples.")
	upTo("And apples.")
	want := []string{"t1: Plums ", "t1: Plums keep.", "t1: Plums keep.\nFor days.", "t1: Pears.", "t2: And apples."}
	if diff := cmp.Diff(want, drafts); diff != "" {
		t.Errorf("the drafts (-want +got):\n%s", diff)
	}
}

// away is a journal and a bus that fail for a while.
type away struct {
	journal.Log
	*live.Local
	reads, joins atomic.Int64
}

func (a *away) Entries(ctx context.Context, ref journal.Ref, after int64, limit int) ([]journal.Entry, error) {
	if a.reads.Add(-1) >= 0 {
		return nil, errors.New("the journal is away")
	}
	return a.Log.Entries(ctx, ref, after, limit)
}

func (a *away) Subscribe(ctx context.Context, topic live.Topic) (*live.Reader, error) {
	if a.joins.Add(-1) >= 0 {
		return nil, errors.New("the bus is away")
	}
	return a.Local.Subscribe(ctx, topic)
}

// TestAnOutageIsSaidAndSurvived has the journal and the bus fail at the beginning. The person is
// told of both, and then of what happened.
func TestAnOutageIsSaidAndSurvived(t *testing.T) {
	t.Parallel()
	a := &away{Log: opened(t), Local: live.NewLocal(0)}
	defer a.Close()
	a.reads.Store(1)
	a.joins.Store(2)
	updates := progress.Follow(t.Context(), a, a, ref, 0, 10*time.Millisecond)
	var said []string
	var events []wire.EventType
	await(t, updates, func(u progress.Update) bool {
		if u.Err != nil {
			said = append(said, u.Err.Error())
		}
		for _, e := range u.Events {
			events = append(events, e.Type)
		}
		return u.Seq == 2
	})
	if text := strings.Join(said, ", "); !strings.Contains(text, "the bus is away") || !strings.Contains(text, "the journal is away") {
		t.Errorf("the person was told: %s", text)
	}
	if diff := cmp.Diff([]wire.EventType{wire.ConversationCreated, wire.AgentSpawned}, events); diff != "" {
		t.Errorf("what happened (-want +got):\n%s", diff)
	}
	await(t, updates, func(progress.Update) bool { return a.joins.Load() <= 0 }) // it has tried the bus again
}

// TestATreeThatBeginsLateRecallsWhoWaits makes a tree in the middle of a conversation: it knows who
// everyone is and what waits for a person, as one that was there from the beginning.
func TestATreeThatBeginsLateRecallsWhoWaits(t *testing.T) {
	t.Parallel()
	log := opened(t)
	write(t, log, nil,
		journal.TaskAssigned{In: child, Parent: "main", Call: "1.0", Depth: 1, Role: "researcher", Instruction: "Read a.md"},
		journal.StatusChanged{In: root, Serial: 1, Status: chat.StatusWaiting, Reason: chat.WaitUserInput},
		journal.StatusChanged{In: child, Serial: 1, Status: chat.StatusWaiting, Reason: chat.WaitApproval},
		journal.QuestionAsked{In: child, Question: "q", Text: "Which?", Options: []string{"this", "that"}},
		journal.QuestionAsked{In: child, Question: "unasked", Text: "Not yet."},
		journal.QuestionRelayed{In: root, Question: "q"},
		journal.ApprovalRequested{In: child, Call: "2.0", Tool: "shell", Hash: "h", Pattern: "ls *", Show: []byte(`{"command":"ls"}`)},
		journal.ApprovalRequested{In: child, Call: "3.0", Tool: "shell", Hash: "g"},
		journal.ApprovalClosed{In: child, Call: "3.0", Status: "approved"})
	state, err := log.Snapshot(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	open, err := log.Find(t.Context(), ref, progress.Open(state)...)
	if err != nil {
		t.Fatal(err)
	}
	tree := progress.New("c", "m9")
	tree.Recall(state, open)
	want := []progress.Pending{
		{Question: "q", Agent: child.Agent, Task: child.Task, Role: "researcher", Text: "Which?", Options: []string{"this", "that"}},
		{
			Approval: "main~1.0.0:2.0", Call: "2.0", Hash: "h", Agent: child.Agent, Task: child.Task, Role: "researcher", Tool: "shell", Text: `{"command":"ls"}`,
			Pattern: "ls *",
		},
	}
	if diff := cmp.Diff(want, tree.Pending()); diff != "" || !tree.Awaits() {
		t.Errorf("awaits a person: %t, pending (-want +got):\n%s", tree.Awaits(), diff)
	}
	var who []string
	for _, a := range tree.Agents() {
		who = append(who, a.ID+" "+a.Role+" "+string(a.Status)+" "+string(a.Reason))
	}
	if diff := cmp.Diff([]string{"main main waiting user_input", "main/1.0.0 researcher waiting approval"}, who); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
}

// TestAFailureIsExplained ends a turn and a task in failure. The person reads why, what it cost,
// and how far the agent's claims hold.
func TestAFailureIsExplained(t *testing.T) {
	t.Parallel()
	tree := progress.New("c", "m1")
	tell(tree, 1, begun()...)
	told := tell(tree, 20,
		journal.ModelCalled{In: child, Call: "1.2", Type: journal.RequestDelegation, Turn: 1},
		journal.ModelReplied{In: child, Call: "1.2", Status: chat.StatusFailed, ErrorKind: chat.KindAuth, Message: "no credit", Usage: chat.Usage{Input: 4, Cost: 1_500_000}},
		journal.TaskEnded{In: child, Status: chat.StatusFailed, ErrorKind: chat.KindAuth, Message: "no credit", Receipt: []byte(`{"verdict":"unverified"}`)},
		journal.ModelReplied{In: root, Call: "1.3", Status: chat.StatusFailed, ErrorKind: chat.KindRateLimit, Message: "too many requests"},
		journal.TurnEnded{In: root, Serial: 3, Turn: 2, Status: chat.StatusFailed, ErrorKind: chat.KindRateLimit, Reason: "model"})
	end, over := tree.Ended(second(30))
	want := progress.End{Status: chat.StatusFailed, Kind: chat.KindRateLimit, Reason: "model", Message: "too many requests", Answer: "I will."}
	if diff := cmp.Diff(want, end); diff != "" || !over || !tree.Stirred() {
		t.Errorf("over %t, end (-want +got):\n%s", over, diff)
	}
	ended := told[1]
	if ended.Type != wire.AgentFailed || ended.Message != "no credit" || ended.Usage == nil || ended.Usage.Cost != 1.5 ||
		ended.Receipt == nil || ended.Receipt.Verdict != "unverified" {
		t.Errorf("the end of the task is told as %+v", ended)
	}
	if spent := tree.Spent(); spent.Input != 14 || spent.Cost != 1.50003 {
		t.Errorf("spent %+v", spent)
	}
}
