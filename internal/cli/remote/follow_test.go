package remote

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/client"
	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/agent/receipt"
	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/events"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/progress"
	"github.com/retinue-dev/retinue/wire"
)

var (
	ref   = journal.Ref{Tenant: apitest.Tenant, Conversation: "c1"}
	root  = journal.In{Agent: "main", Task: "main"}
	child = journal.In{Agent: "main/1.0.0", Task: "main/1.0.0"}
)

// began is when everything in the story happens.
var began = time.UnixMilli(1_700_000_000_000)

func says(text string) []chat.Part { return []chat.Part{{Kind: chat.PartText, Text: text}} }

func calls(id, tool, args string) chat.Part {
	return chat.Part{Kind: chat.PartToolUse, Call: id, Tool: tool, Args: args}
}

func spoke(in journal.In, turn int, id string, speaker chat.Speaker, parts ...chat.Part) journal.MessageAdded {
	return journal.MessageAdded{In: in, Turn: turn, Message: chat.Message{ID: id, Speaker: speaker, Parts: parts}}
}

// episode has every kind of row that people are shown something of.
func episode(t *testing.T) []journal.Row {
	t.Helper()
	seen, err := json.Marshal(receipt.Receipt{Verdict: receipt.Unverified})
	if err != nil {
		t.Fatal(err)
	}
	usage := chat.Usage{Input: 10, Output: 2, CacheRead: 3, CacheWrite: 4, Reasoning: 1, Cost: 30, Unpriced: 1}
	return []journal.Row{
		journal.Opened{By: "ann", Title: "Look", Workspace: "w"},
		journal.TaskAssigned{In: root, Role: "main"},
		journal.MessageReceived{ID: "m1", By: "ann", Parts: says("Look at <it>")},
		journal.StatusChanged{In: root, Serial: 1, Status: chat.StatusRunning},
		spoke(root, 0, "u0", chat.User, says("Look at <it>")...),
		journal.ModelCalled{In: root, Call: "1.1", Type: journal.RequestPrompt, Turn: 1, Attempt: 1, Model: "m"},
		journal.ModelReplied{In: root, Call: "1.1", Status: chat.StatusFailed, ErrorKind: chat.KindNetwork, Message: "cut & lost"},
		journal.ModelReplied{In: root, Call: "1.2", Status: chat.StatusCompleted, Usage: usage},
		spoke(root, 1, "a1", chat.Assistant, chat.Part{Kind: chat.PartText, Text: "I will."}, calls("1.0", "spawn_agents", `{"tasks":[]}`)),
		journal.TaskAssigned{In: child, Parent: "main", Call: "1.0", Depth: 1, Role: "researcher", Instruction: "Read a.md", Background: true},
		journal.StatusChanged{In: child, Serial: 1, Status: chat.StatusRunning},
		spoke(child, 1, "b1", chat.Assistant, calls("1.0", "shell", `{"command":"a > b"}`)),
		journal.ApprovalRequested{In: child, Call: "1.0", Tool: "shell", Hash: "h", Pattern: "a *", Show: json.RawMessage(`{"command":"a"}`)},
		journal.StatusChanged{In: child, Serial: 2, Status: chat.StatusWaiting, Reason: chat.WaitApproval},
		journal.ApprovalClosed{In: child, Call: "1.0", Status: string(agent.ApprovalExpired), By: "bob"},
		journal.StatusChanged{In: child, Serial: 3, Status: chat.StatusRunning},
		journal.ToolReturned{In: child, Call: "1.0", Status: journal.CallDenied, Text: "no", Reason: string(agent.DeniedHeadless), Duration: 7},
		journal.QuestionAsked{In: child, Question: "q1", Text: "Which?", Options: []string{"red", "blue"}},
		journal.QuestionRelayed{In: child, Question: "q1"},
		journal.MessageReceived{ID: "m2", By: "ann", Parts: says("blue"), InReplyTo: "q1"},
		journal.QuestionAnswered{In: child, Question: "q1", By: "user", Text: "blue", Number: 2},
		journal.QuestionAsked{In: child, Question: "q2", Text: "And then?"},
		journal.QuestionRelayed{In: child, Question: "q2"},
		journal.ApprovalRequested{
			In: child, Call: "2.0", Tool: "shell", Hash: "h2", Show: json.RawMessage(`{"command":"c"}`),
			Sources: []journal.Source{{Kind: "web", Name: "example.com"}},
		},
		journal.TaskEnded{In: child, Status: chat.StatusFailed, ErrorKind: chat.KindNoResult, Reason: "none", Message: "nothing", Summary: "half", Receipt: seen},
		spoke(root, 2, "a2", chat.Assistant, says("It is so.")...),
		journal.TurnEnded{In: root, Serial: 1, Turn: 2, Status: chat.StatusCompleted, Reason: "done", Cut: true},
	}
}

// retold is all that progress makes of entries.
type retold struct {
	Events     []progress.Event
	Agents     []progress.Agent
	Pending    []progress.Pending
	Usage      chat.Usage
	End        progress.End
	Ended      bool
	Unattended int
	Stirred    bool
}

func (k *retold) hear(tree *progress.Tree, list []wire.Event) {
	for _, e := range list {
		k.Events = append(k.Events, tree.Apply(e)...)
	}
	k.Agents, k.Pending, k.Usage = tree.Agents(), tree.Pending(), tree.Usage()
	k.End, k.Ended = tree.Ended(began.Add(time.Hour))
	k.Unattended, k.Stirred = tree.Unattended(), tree.Stirred()
}

// serverOf is how a command reaches a server.
func serverOf(s *apitest.Server, key string) *Server {
	return &Server{Client: &client.Client{BaseURL: s.URL, Key: key}, Address: s.URL}
}

// followed is what a server tells until the turn has ended.
func followed(t *testing.T, s *apitest.Server, after int64) retold {
	t.Helper()
	var got retold
	tree := progress.New(ref.Conversation, "m1")
	for u := range serverOf(s, apitest.Token).News(t.Context(), ref.Conversation, after) {
		if u.Err != nil {
			t.Fatal(u.Err)
		}
		if got.hear(tree, u.Events); got.Ended {
			return got
		}
	}
	t.Fatal("it ended before the turn did")
	return got
}

// recorded is the same, out of the journal itself.
func recorded(t *testing.T, s *apitest.Server, after int64) retold {
	t.Helper()
	var want retold
	tree := progress.New(ref.Conversation, "m1")
	for {
		entries, err := s.Log.Entries(t.Context(), ref, after, 500)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) == 0 {
			return want
		}
		var list []wire.Event
		for _, entry := range entries {
			if e, ok := events.Of(ref.Conversation, entry); ok {
				list = append(list, e)
			}
		}
		want.hear(tree, list)
		after = entries[len(entries)-1].Seq
	}
}

func record(t *testing.T, s *apitest.Server, rows ...journal.Row) {
	t.Helper()
	if _, err := s.Log.Append(t.Context(), ref, began, rows...); err != nil {
		t.Fatal(err)
	}
}

// TestWhatIsShownIsTheSame compares what is shown over HTTP with what is shown of the journal.
func TestWhatIsShownIsTheSame(t *testing.T) {
	s := apitest.Start(t, nil)
	rows := episode(t)
	for _, row := range rows {
		record(t, s, row)
	}
	for _, after := range []int64{0, 2} {
		want, got := recorded(t, s, after), followed(t, s, after)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("after %d, the journal (-) and the server (+):\n%s", after, diff)
		}
		if after == 0 && (len(got.Events) < 20 || len(got.Pending) != 2 || len(got.Pending[1].Sources) != 1 || got.Unattended != 2) {
			t.Errorf("the story is too short: %d events, pending %v", len(got.Events), got.Pending)
		}
	}
}

// TestWhatIsMissedIsFilledIn comes so late that the stream no longer sends what was missed.
func TestWhatIsMissedIsFilledIn(t *testing.T) {
	s := apitest.Start(t, nil)
	rows := episode(t)
	record(t, s, rows[:3]...)
	var many []journal.Row
	for i := range 10_100 {
		many = append(many, journal.NoteAdded{In: root, Serial: i, Note: fmt.Sprint(i)})
	}
	record(t, s, many...)
	record(t, s, rows[3:]...)
	if diff := cmp.Diff(recorded(t, s, 1), followed(t, s, 1)); diff != "" {
		t.Errorf("the journal (-) and the server (+):\n%s", diff)
	}
	if s.API.Counts().Resyncs != 1 {
		t.Errorf("%d readers were sent to the snapshot, want this one", s.API.Counts().Resyncs)
	}
}

// TestARefusalEndsIt shows that nobody waits for what will not come.
func TestARefusalEndsIt(t *testing.T) {
	s := apitest.Start(t, nil)
	record(t, s, journal.Opened{By: "ann"})
	for _, c := range []struct {
		key, conversation string
		want              chat.Code
	}{
		{"rtl_of_another", ref.Conversation, chat.CodeDenied},
		{apitest.Token, "c2", chat.CodeNotFound},
	} {
		var errs []error
		for u := range serverOf(s, c.key).News(t.Context(), c.conversation, 0) {
			errs = append(errs, u.Err)
		}
		if len(errs) != 1 || chat.CodeOf(errs[0]) != c.want {
			t.Errorf("got %v, want one error with code %s", errs, c.want)
		}
	}
}
