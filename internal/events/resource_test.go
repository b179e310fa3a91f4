package events_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/events"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/wire"
)

var (
	ref   = journal.Ref{Tenant: "acme", Conversation: "c"}
	main  = journal.In{Agent: "main", Task: "main"}
	child = journal.In{Agent: "main/1.0.0", Task: "main/1.0.0"}
	// noon is told by a clock east of Greenwich.
	noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.FixedZone("east", 3600))
)

// at is a moment of the story as the API says it.
func at(hours int) time.Time { return time.Date(2026, 1, 2, 11+hours, 0, 0, 0, time.UTC) }

func moment(hours int) *time.Time {
	m := at(hours)
	return &m
}

// story records rows, an hour apart, and returns their entries and what they lead to.
func story(t *testing.T, rows ...journal.Row) ([]journal.Entry, journal.Snapshot) {
	t.Helper()
	log := journaltest.NewMemory()
	for i, row := range rows {
		if _, err := log.Append(t.Context(), ref, noon.Add(time.Duration(i)*time.Hour), row); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := log.Entries(t.Context(), ref, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	state, err := log.Snapshot(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	return entries, state
}

// told is a private conversation in which a sub-agent has asked for everything that one can.
func told() []journal.Row {
	return []journal.Row{
		journal.Opened{By: "ann", Title: "Plums", Workspace: "w", PrivateTo: "u1"},
		journal.TaskAssigned{In: main, Role: "main"},
		journal.TaskAssigned{
			In: child, Parent: "main", Call: "1.0", Item: 2, Trigger: 3, Depth: 1, Role: "researcher", RoleHash: "h", Background: true,
			Instruction: "Look  at\nit.", Criteria: "It was seen.", Files: []string{"a.md"}, MaxIterations: 5, MaxDuration: 6, Brief: []byte(`{"b":1}`),
		},
		journal.StatusChanged{In: child, Serial: 1, Status: chat.StatusRunning},
		journal.ModelReplied{In: child, Call: "1.1", Status: chat.StatusCompleted, Usage: chat.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Reasoning: 5, Cost: 6, Unpriced: 7}},
		journal.QuestionAsked{In: child, Question: "q", Text: "Which?", Options: []string{"this"}, Until: noon.UnixMilli()},
		journal.QuestionRelayed{In: main, Question: "q"},
		journal.ApprovalRequested{
			In: child, Call: "1.0", Tool: "shell", Hash: "h", Pattern: "ls *", Show: []byte(`{"command":"ls"}`),
			Sources: []journal.Source{{Kind: "web", Name: "example.com"}},
		},
	}
}

// TestResourcesSayWhatTheJournalHas folds a story and reads it as the API says it: every time in
// UTC, and none that has not come.
func TestResourcesSayWhatTheJournalHas(t *testing.T) {
	t.Parallel()
	_, state := story(t, told()...)
	east(&state.Conversation.OpenedAt, &state.Conversation.UpdatedAt, &state.Tasks[0].AssignedAt, &state.Tasks[1].AssignedAt,
		&state.Tasks[1].StartedAt, &state.Questions[0].At, &state.Approvals[0].At)
	var got struct {
		Conversation wire.Conversation
		Agents       []wire.Agent
		Tasks        []wire.Task
		Questions    []wire.Question
		Approvals    []wire.Approval
	}
	want := got
	got.Conversation = events.Conversation(state.Conversation)
	want.Conversation = wire.Conversation{
		ID: "c", By: "ann", Title: "Plums", Workspace: "w", Visibility: wire.VisiblePrivate, OpenedAt: at(0), UpdatedAt: at(7), Seq: 8,
	}
	for _, a := range state.Agents {
		got.Agents = append(got.Agents, events.Agent(a))
	}
	used := wire.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Reasoning: 5, Cost: 6, Unpriced: 7}
	want.Agents = []wire.Agent{
		{ID: "main", Role: "main", Task: "main", Subtree: used},
		{ID: child.Agent, Parent: "main", Depth: 1, Role: "researcher", RoleHash: "h", Task: child.Task, Own: used, Subtree: used},
	}
	for _, task := range state.Tasks {
		got.Tasks = append(got.Tasks, events.Task(task))
	}
	want.Tasks = []wire.Task{
		{ID: "main", Agent: "main", Seq: 2, Status: "pending", AssignedAt: at(1)},
		{
			ID: child.Task, Agent: child.Agent, Parent: "main", Call: "1.0", Item: 2, Trigger: 3, Background: true, Seq: 3, Status: "running",
			AssignedAt: at(2), StartedAt: moment(3),
		},
	}
	for _, q := range state.Questions {
		got.Questions = append(got.Questions, events.Question(q))
	}
	want.Questions = []wire.Question{{ID: "q", Seq: 6, Agent: child.Agent, Task: child.Task, Status: "relayed", At: at(5), Until: moment(0)}}
	for _, a := range state.Approvals {
		got.Approvals = append(got.Approvals, events.Approval(a))
	}
	want.Approvals = []wire.Approval{{
		ID: events.ApprovalID(child.Agent, "1.0"), Seq: 8, Agent: child.Agent, Task: child.Task, Call: "1.0", Tool: "shell", Hash: "h",
		Status: "open", At: at(7),
	}}
	if diff := cmp.Diff(asText(t, want), asText(t, got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// east has a journal give times by a clock east of Greenwich.
func east(times ...*time.Time) {
	for _, moment := range times {
		*moment = moment.In(noon.Location())
	}
}

// asText is a value as it is sent: two times are the same only if they are written alike.
func asText(t *testing.T, value any) string {
	t.Helper()
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestWhatWaitsSaysWhatIsAsked completes lines of the inbox with the rows that they came from.
func TestWhatWaitsSaysWhatIsAsked(t *testing.T) {
	t.Parallel()
	entries, _ := story(t, told()...)
	waiting := journal.Waiting{Conversation: "c", At: noon, Agent: child.Agent, Task: child.Task, Until: noon.UnixMilli()}
	learn := func(seqs ...int) (line wire.Waiting) {
		for _, seq := range seqs {
			events.LearnWaiting(&line, waiting, entries[seq-1])
		}
		return line
	}
	want := wire.Waiting{Role: "researcher", Question: &wire.Question{
		ID: "q", Seq: 6, Agent: child.Agent, Task: child.Task, Status: "relayed", Text: "Which?", Options: []string{"this"}, At: at(0), Until: moment(0),
	}}
	if diff := cmp.Diff(asText(t, want), asText(t, learn(3, 4, 6))); diff != "" {
		t.Errorf("a question (-want +got):\n%s", diff)
	}
	want = wire.Waiting{Role: "researcher", Approval: &wire.Approval{
		ID: events.ApprovalID(child.Agent, "1.0"), Seq: 8, Agent: child.Agent, Task: child.Task, Call: "1.0", Tool: "shell", Hash: "h",
		Status: "open", Pattern: "ls *", Show: json.RawMessage(`{"command":"ls"}`), Sources: []wire.Source{{Kind: "web", Name: "example.com"}},
		At: at(0), Until: moment(0),
	}}
	if diff := cmp.Diff(asText(t, want), asText(t, learn(3, 8))); diff != "" {
		t.Errorf("an approval (-want +got):\n%s", diff)
	}
}

// TestALineOfATaskIsShort learns a line and a whole view of one task, of which every text is long.
func TestALineOfATaskIsShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("wört ", 200)
	files := strings.Fields(strings.Repeat("a.go ", 30))
	instruction := " First\n\tline " + long
	rows := []journal.Row{
		journal.TaskAssigned{In: child, Role: "r", Instruction: instruction, Criteria: "c", Files: files, ContextMode: "m", Brief: []byte(`{}`)},
		journal.TaskEnded{
			In: child, Summary: long, Message: long, Files: files, Iterations: 4, Result: []byte(`{"ok":true}`), Receipt: []byte(`{"verdict":"verified"}`),
		},
		journal.NoteAdded{In: child, Text: long},
	}
	var line wire.Task
	var view wire.TaskView
	for _, row := range rows {
		events.LearnTask(&line, row)
		events.LearnTaskView(&view, row)
	}
	for what, c := range map[string]struct {
		text, begins string
		runes        int
	}{
		"title": {line.Title, "First line wört wört", 200}, "summary": {line.Summary, "wört wört", 400}, "message": {line.Message, "wört wört", 400},
	} {
		if n := len([]rune(c.text)); n != c.runes || !strings.HasPrefix(c.text, c.begins) || !strings.HasSuffix(c.text, "…") {
			t.Errorf("the %s has %d characters: %s", what, n, c.text)
		}
	}
	for length, want := range map[int]int{199: 199, 200: 200, 201: 200} {
		var exact wire.Task
		events.LearnTask(&exact, journal.TaskAssigned{In: child, Instruction: strings.Repeat("ö", length)})
		if n := len([]rune(exact.Title)); n != want || strings.HasSuffix(exact.Title, "…") != (length > 200) {
			t.Errorf("a title of %d characters has %d: %s", length, n, exact.Title)
		}
	}
	if len(line.Changed) != 20 || line.ChangedCount != 30 || line.Verdict != "verified" || line.Iterations != 4 {
		t.Errorf("the line is %+v", line)
	}
	want := wire.TaskView{
		Task: line, Instruction: instruction, Criteria: "c", Files: files, ContextMode: "m",
		Brief: json.RawMessage(`{}`), Result: json.RawMessage(`{"ok":true}`), Receipt: json.RawMessage(`{"verdict":"verified"}`),
	}
	want.Summary, want.Message, want.Changed = long, long, files
	if diff := cmp.Diff(want, view); diff != "" {
		t.Errorf("the whole (-want +got):\n%s", diff)
	}
	for _, receipt := range []string{"", `{}`, `{"verdict":7}`, `nothing`} {
		events.LearnTask(&line, journal.TaskEnded{In: child, Receipt: []byte(receipt)})
		if line.Verdict != "none" {
			t.Errorf("the receipt %q says %s", receipt, line.Verdict)
		}
	}
}

// TestACallOfAModelIsLearntFromItsRows learns a call that failed over to another model.
func TestACallOfAModelIsLearntFromItsRows(t *testing.T) {
	t.Parallel()
	var got wire.ModelCallView
	began := journal.ModelCalled{In: child, Call: "1.1", Type: journal.RequestDelegation, Turn: 1, Attempt: 2, Model: "fast", Prompt: "p", ContextTokens: 9}
	events.LearnModelCall(&got, journal.Entry{Seq: 4, At: noon, Row: began})
	if got.Status != "running" || got.FinishedAt != nil {
		t.Errorf("while it runs: %+v", got)
	}
	ended := journal.ModelReplied{
		In: child, Call: "1.1", Status: chat.StatusCompleted, Model: "strong", Stop: "end", Provider: "msg_1", Usage: chat.Usage{Input: 1},
		First: 1, Waited: 2, Duration: 3, Tries: []journal.Try{{Model: "fast", Kind: chat.KindRateLimit}},
		Parts: []chat.Part{{Kind: chat.PartText, Text: "yes"}},
	}
	events.LearnModelCall(&got, journal.Entry{Seq: 5, At: noon.Add(time.Hour), Row: ended})
	events.LearnModelCall(&got, journal.Entry{Seq: 6, At: noon, Row: journal.ToolStarted{In: child, Call: "1.0"}})
	want := wire.ModelCallView{
		ModelCall: wire.ModelCall{
			Call: "1.1", Seq: 4, Agent: child.Agent, Task: child.Task, Type: "delegation", Turn: 1, Attempt: 2, Model: "strong", Prompt: "p",
			Status: "completed", Usage: wire.Usage{Input: 1}, StartedAt: moment(0), FinishedAt: moment(1),
		},
		Request: wire.ModelRequest{ContextTokens: 9}, Reply: []wire.Part{{Kind: "text", Text: "yes"}}, Stop: "end", Provider: "msg_1",
		First: 1, Waited: 2, Duration: 3, Tries: []wire.Try{{Model: "fast", Kind: "rate_limit"}},
	}
	if diff := cmp.Diff(asText(t, want), asText(t, got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAnEndHasTheTypeOfItsStatus ends things in every way that has a type of its own.
func TestAnEndHasTheTypeOfItsStatus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		row  journal.Row
		want wire.EventType
	}{
		{journal.TaskEnded{In: child, Status: chat.StatusCompleted}, wire.AgentCompleted},
		{journal.TaskEnded{In: child, Status: chat.StatusFailed}, wire.AgentFailed},
		{journal.TaskEnded{In: child, Status: chat.StatusTimedOut}, wire.AgentFailed},
		{journal.TaskEnded{In: child, Status: chat.StatusCancelled}, wire.AgentCancelled},
		{journal.TurnEnded{In: main, Status: chat.StatusCompleted}, wire.TurnCompleted},
		{journal.TurnEnded{In: main, Status: chat.StatusFailed}, wire.TurnFailed},
		{journal.TurnEnded{In: main, Status: chat.StatusCancelled}, wire.TurnCancelled},
		{journal.ModelReplied{In: child, Status: chat.StatusCompleted}, wire.AttemptCompleted},
		{journal.ModelReplied{In: child, Status: chat.StatusFailed}, wire.AttemptFailed},
		{journal.ToolReturned{In: child, Status: journal.CallCompleted}, wire.ToolReturned},
		{journal.ToolReturned{In: child, Status: journal.CallDenied}, wire.ToolDenied},
		{journal.ApprovalClosed{In: child, Status: "approved"}, wire.ApprovalResolved},
		{journal.ApprovalClosed{In: child, Status: "expired"}, wire.ApprovalExpired},
	} {
		if e, ok := events.Of("c", journal.Entry{Seq: 1, Row: c.row}); !ok || e.Type != c.want || e.Agent == "" {
			t.Errorf("%#v is %s of %q, want %s", c.row, e.Type, e.Agent, c.want)
		}
	}
}

// TestOnlySomeMailIsAnEvent posts and delivers mail of several topics. People are told of commands
// to stop, and of messages that the orchestrator has read.
func TestOnlySomeMailIsAnEvent(t *testing.T) {
	t.Parallel()
	for row, want := range map[journal.MailDelivered]wire.EventType{{ID: "message:m1"}: wire.MessageDelivered, {ID: "agent:1"}: ""} {
		e, ok := events.Of("c", journal.Entry{Seq: 1, Row: row})
		if ok != (want != "") || (ok && (e.Type != want || e.Data != wire.Delivered{Message: "m1"})) {
			t.Errorf("%+v is %t, %+v", row, ok, e)
		}
	}
	e, ok := events.Of("c", journal.Entry{Seq: 1, Row: journal.Stop("1", "ann", "main")})
	if want := (wire.Stopping{By: "ann", Task: "main"}); !ok || e.Type != wire.CancelRequested || e.Data != want {
		t.Errorf("a command to stop is %t, %+v", ok, e)
	}
	if e, ok := events.Of("c", journal.Entry{Seq: 1, Row: journal.Mail("agent", "1", "main")}); ok {
		t.Errorf("mail between agents is %+v", e)
	}
}

// TestTextsOfAnImportAreNoJSON reads arguments that are an object, and some that are not: the
// document promises an object.
func TestTextsOfAnImportAreNoJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]json.RawMessage{`{"a":1}`: json.RawMessage(`{"a":1}`), `{"a":`: nil, `[1]`: nil, "": nil, "ls -l": nil} {
		if diff := cmp.Diff(want, events.Object(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}
