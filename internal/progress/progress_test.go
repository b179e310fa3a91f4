package progress_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/agent"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/events"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/progress"
	"github.com/retinue-dev/retinue/wire"
)

var (
	start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	root  = journal.In{Agent: "main", Task: "main"}
	child = journal.In{Agent: "main/1.0.0", Task: "main/1.0.0"}
)

// second is a moment of the story, a second after the one before.
func second(n int) time.Time { return start.Add(time.Duration(n) * time.Second) }

// tell applies rows, a second apart, and returns their events.
func tell(t *progress.Tree, from int, rows ...journal.Row) []progress.Event {
	var told []progress.Event
	for i, row := range rows {
		e, ok := events.Of("c", journal.Entry{Seq: int64(from + i), At: second(from + i), Row: row})
		if ok {
			told = append(told, t.Apply(e)...)
		}
	}
	return told
}

func text(s string) []chat.Part { return []chat.Part{{Kind: chat.PartText, Text: s}} }

func spoke(in journal.In, turn int, speaker chat.Speaker, parts ...chat.Part) journal.MessageAdded {
	return journal.MessageAdded{In: in, Turn: turn, Message: chat.Message{ID: "m", Speaker: speaker, Parts: parts}}
}

func call(id, tool, args string) chat.Part {
	return chat.Part{Kind: chat.PartToolUse, Call: id, Tool: tool, Args: args}
}

// begun is the story up to a sub-agent that reads a file.
func begun() []journal.Row {
	return []journal.Row{
		journal.TaskAssigned{In: root, Role: "main"},
		journal.MessageReceived{ID: "m1", By: "ann", Parts: text("Look at it")},
		journal.StatusChanged{In: root, Serial: 1, Status: chat.StatusCompleted},
		spoke(root, 0, chat.User, text("Look at it")...),
		journal.StatusChanged{In: root, Serial: 2, Status: chat.StatusRunning},
		journal.ModelReplied{In: root, Call: "1.1", Status: chat.StatusCompleted, Usage: chat.Usage{Input: 10, Output: 2, Cost: 30}},
		spoke(root, 1, chat.Assistant, chat.Part{Kind: chat.PartText, Text: "I will."}, call("1.0", "spawn_agents", `{"tasks":[]}`)),
		journal.TaskAssigned{In: child, Parent: "main", Call: "1.0", Depth: 1, Role: "researcher", Instruction: "Read a.md"},
		journal.StatusChanged{In: child, Serial: 1, Status: chat.StatusRunning},
		spoke(child, 1, chat.Assistant, call("1.0", "read_file", `{"path":"a.md"}`)),
	}
}

func TestTreeOfTwo(t *testing.T) {
	tree := progress.New("c", "m1")
	events := tell(tree, 1, begun()...)
	want := []progress.Agent{
		{
			ID: "main", Role: "main", Status: chat.StatusRunning, Began: second(5),
			Usage: chat.Usage{Input: 10, Output: 2, Cost: 30}, Doing: "spawn_agents",
		},
		{
			ID: "main/1.0.0", Parent: "main", Depth: 1, Role: "researcher", Task: "Read a.md", Status: chat.StatusRunning,
			Began: second(8), Doing: "read_file a.md",
		},
	}
	if diff := cmp.Diff(want, tree.Agents()); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
	var types []wire.EventType
	for _, e := range events {
		types = append(types, e.Type)
	}
	wantTypes := []wire.EventType{
		wire.MessageReceived, wire.AgentStarted, wire.MessageCompleted, progress.ToolCalled,
		wire.AgentSpawned, wire.AgentStarted, progress.ToolCalled,
	}
	if diff := cmp.Diff(wantTypes, types); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	wantLast := progress.Event{
		Type: progress.ToolCalled, Seq: 10, At: second(10), Conversation: "c", Agent: "main/1.0.0", Role: "researcher",
		Call: "1.0", Tool: "read_file", Args: json.RawMessage(`{"path":"a.md"}`),
	}
	if diff := cmp.Diff(wantLast, events[len(events)-1]); diff != "" {
		t.Errorf("last event (-want +got):\n%s", diff)
	}
	if _, over := tree.Ended(second(100)); over {
		t.Error("it is over before the turn has ended")
	}
}

func TestEndOfTheTurnThatTookTheMessageUp(t *testing.T) {
	end := journal.TurnEnded{In: root, Serial: 3, Turn: 2, Status: chat.StatusCompleted}
	answer := spoke(root, 2, chat.Assistant, text("All is well.")...)

	tree := progress.New("c", "m1")
	tell(tree, 1, append(begun(), answer, end)...)
	got, over := tree.Ended(second(12))
	want := progress.End{Status: chat.StatusCompleted, Answer: "All is well."}
	if diff := cmp.Diff(want, got); diff != "" || !over {
		t.Errorf("over %v, end (-want +got):\n%s", over, diff)
	}

	other := progress.New("c", "m2")
	results := spoke(root, 0, chat.User, chat.Part{Kind: chat.PartToolResult, Call: "1.0", Text: "read"})
	tell(other, 1, append(begun(), journal.MessageReceived{ID: "m2", Parts: text("And?")}, results, answer, end)...)
	if _, over := other.Ended(second(20)); over {
		t.Error("the end of an earlier turn is taken for that of a message it did not take up")
	}
	tell(other, 30, journal.StatusChanged{In: root, Serial: 4, Status: chat.StatusRunning}, spoke(root, 0, chat.User, text("And?")...), answer, end)
	if _, over := other.Ended(second(40)); !over {
		t.Error("the end of the turn that took the message up is not noticed")
	}
}

func TestBackgroundIsWaitedFor(t *testing.T) {
	tree := progress.New("c", "m1")
	rows := begun()
	rows[7] = journal.TaskAssigned{In: child, Parent: "main", Call: "1.0", Depth: 1, Role: "researcher", Background: true}
	tell(tree, 1, append(rows, journal.TurnEnded{In: root, Serial: 3, Status: chat.StatusCompleted})...)
	if _, over := tree.Ended(second(60)); over {
		t.Fatal("over while a background task runs")
	}
	tell(tree, 20, journal.TaskEnded{In: child, Status: chat.StatusCompleted, Summary: "read"})
	if _, over := tree.Ended(second(21)); over {
		t.Fatal("over before its report was told")
	}
	tell(tree, 22,
		journal.StatusChanged{In: root, Serial: 5, Status: chat.StatusRunning},
		spoke(root, 3, chat.Assistant, text("It was read.")...),
		journal.TurnEnded{In: root, Serial: 6, Status: chat.StatusCompleted})
	if end, over := tree.Ended(second(24)); !over || end.Answer != "It was read." {
		t.Errorf("over %v, %+v", over, end)
	}
}

func TestWhatWaitsForAPerson(t *testing.T) {
	tree := progress.New("c", "m1")
	tell(tree, 1, begun()...)
	tell(tree, 20,
		journal.QuestionAsked{In: child, Question: "q", Text: "Which?", Options: []string{"this", "that"}},
		journal.QuestionRelayed{In: root, Question: "q"},
		journal.ApprovalRequested{In: child, Call: "2.0", Tool: "shell", Hash: "h", Show: json.RawMessage(`{"command":"sort \u003c a \u0026\u0026 echo '\\u003e'"}`)})
	want := []progress.Pending{
		{
			Question: "q", Agent: child.Agent, Task: child.Task, Role: "researcher", Text: "Which?",
			Options: []string{"this", "that"},
		},
		{
			Approval: "main~1.0.0:2.0", Call: "2.0", Hash: "h", Agent: child.Agent, Task: child.Task, Role: "researcher", Tool: "shell",
			Text: `{"command":"sort < a && echo '\\u003e'"}`,
		},
	}
	if diff := cmp.Diff(want, tree.Pending()); diff != "" {
		t.Errorf("pending (-want +got):\n%s", diff)
	}
	tell(tree, 30,
		journal.QuestionAnswered{In: root, Question: "q", By: string(agent.ByUser), Text: "this"},
		journal.ApprovalClosed{In: child, Call: "2.0", Status: string(agent.ApprovalApproved)})
	if got := tree.Pending(); len(got) > 0 || tree.Unattended() > 0 {
		t.Errorf("still pending %v, unattended %d", got, tree.Unattended())
	}
}

// TestTheFirstMessage follows a conversation whose first message has an id that nobody told.
func TestTheFirstMessage(t *testing.T) {
	known, unknown := progress.New("c", "m1"), progress.New("c", "")
	for _, tree := range []*progress.Tree{known, unknown} {
		tell(tree, 1, begun()...)
		tell(tree, 20,
			journal.MessageReceived{ID: "m2", By: "ann", Parts: []chat.Part{{Kind: chat.PartText, Text: "And more"}}},
			journal.TurnEnded{In: root, Serial: 1, Turn: 2, Status: chat.StatusCompleted})
	}
	want, wanted := known.Ended(time.Now())
	got, ended := unknown.Ended(time.Now())
	if diff := cmp.Diff(want, got); diff != "" || !wanted || !ended {
		t.Errorf("with the id (-) %v and without (+) %v:\n%s", wanted, ended, diff)
	}
}

func TestNobodyWasThere(t *testing.T) {
	for name, row := range map[string]journal.Row{
		"question": journal.QuestionAnswered{In: root, Question: "q", By: string(agent.ByNobody)},
		"approval": journal.ToolReturned{In: child, Call: "1.0", Status: journal.CallDenied, Reason: string(agent.DeniedHeadless)},
		"expired":  journal.ApprovalClosed{In: child, Call: "1.0", Status: string(agent.ApprovalExpired)},
	} {
		tree := progress.New("c", "m1")
		tell(tree, 1, append(begun(), row)...)
		if got := tree.Unattended(); got != 1 {
			t.Errorf("%s: %d were left to nobody", name, got)
		}
	}
	tree := progress.New("c", "m1")
	tell(tree, 1, append(begun(), journal.ToolReturned{In: child, Call: "1.0", Status: journal.CallDenied, Text: "Denied by policy."})...)
	if got := tree.Unattended(); got != 0 {
		t.Errorf("a rule's denial counts as a person's absence: %d", got)
	}
}

func TestShort(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"a  b\n\tc", 10, "a b c"},
		{"\x1b[31mred\x1b[0m \u009bhi", 20, "[31mred[0m hi"},
		{"0123456789ab", 10, "012345678…"},
		{"anything", 0, ""},
	} {
		if got := progress.Short(c.in, c.width); got != c.want {
			t.Errorf("%q in %d is %q, want %q", c.in, c.width, got, c.want)
		}
	}
}

// TestWhyAPersonIsAsked is what people read of an agent's sources, and of arguments that those may
// have written.
func TestWhyAPersonIsAsked(t *testing.T) {
	if got := progress.Because(nil); got != "" {
		t.Errorf("nothing was read: %q", got)
	}
	got := progress.Because([]wire.Source{
		{Kind: "file", Name: "vendor/a.txt"},
		{Kind: "mcp", Name: "tracker"},
		{Kind: "web", Name: "example.com"},
		{Kind: "agent", Name: "main/1.0.0"},
		{Kind: "more"},
	})
	want := "Asked because this agent has read vendor/a.txt, the MCP server tracker, example.com, what agent main/1.0.0 has read, others. " +
		"Rules do not apply."
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	args := "{\"path\":\"a  b\u202e\u200b\U000e0041\x1b\"}"
	if got, want := progress.Exact(args), `{"path":"a  b\u202e\u200b\udb40\udc41\u001b"}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
