package journal

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
)

// TestCallState compares the status of a call by its known facts.
func TestCallState(t *testing.T) {
	for want, c := range map[CallStatus]struct {
		result                   CallStatus
		started, waiting, voided bool
	}{
		CallPending: {}, CallWaiting: {waiting: true}, CallRunning: {started: true, waiting: true}, CallSkipped: {voided: true, started: true, waiting: true},
		CallFailed: {result: CallFailed, voided: true, started: true, waiting: true},
	} {
		if got := CallState(c.result, c.started, c.waiting, c.voided); got != want {
			t.Errorf("%+v is %s, want %s", c, got, want)
		}
	}
}

// TestMessageOf is what people and agents said, and that nothing else is a message.
func TestMessageOf(t *testing.T) {
	at, parts := time.UnixMilli(5), []chat.Part{{Kind: chat.PartText, Text: "Hello"}}
	reply := chat.Message{ID: "t1", Speaker: chat.Assistant, Parts: parts}
	for _, c := range []struct {
		row  Row
		want Message
	}{
		{MessageReceived{ID: "a", By: "ann", Parts: parts}, Message{Seq: 3, Number: 2, At: at, By: "ann", Message: chat.Message{ID: "a", Speaker: chat.User, Parts: parts}}},
		{MessageAdded{In: sub, Turn: 1, Message: reply, Reads: []int64{1}}, Message{Seq: 3, At: at, Agent: sub.Agent, Turn: 1, Reads: []int64{1}, Message: reply}},
		{NoteAdded{In: sub, Text: "Hello"}, Message{}},
	} {
		if diff := cmp.Diff(c.want, MessageOf(Entry{Seq: 3, Number: 2, At: at, Row: c.row})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.row.Kind(), diff)
		}
	}
}

// TestCursors reads the place of a line back, and refuses malformed ones.
func TestCursors(t *testing.T) {
	at := time.UnixMilli(1_800_000_000_000).UTC()
	c := Conversation{ID: "a/b", UpdatedAt: at}
	if got, id, err := ParseCursor(c.Cursor()); got != at || id != "a/b" || err != nil {
		t.Errorf("%s is %s %s, %v", c.Cursor(), got, id, err)
	}
	line := TaskLine{Task: Task{ID: "main/1.0.0", AssignedAt: at}, Conversation: "c"}
	place, err := TaskQuery{Cursor: line.Cursor()}.After()
	if want := (TaskCursor{At: at, Conversation: "c", Task: "main/1.0.0"}); place != want || err != nil {
		t.Errorf("%s is %+v, %v", line.Cursor(), place, err)
	}
	first, id, err := ParseCursor("")
	if err != nil || id != "" || first.Before(at.AddDate(1000, 0, 0)) {
		t.Errorf("the whole list begins at %s %s, %v", first, id, err)
	}
	if all, err := (TaskQuery{}).After(); err != nil || all != (TaskCursor{At: first}) {
		t.Errorf("the whole list of tasks begins at %+v, %v", all, err)
	}
	for _, text := range []string{"5", "x/c", "/", "5/c"} {
		_, _, err := ParseCursor(text)
		if wrong := text != "5/c"; wrong != (chat.CodeOf(err) == chat.CodeInvalid && err != nil) {
			t.Errorf("%q: %v", text, err)
		}
		if _, err := (TaskQuery{Cursor: text}).After(); err == nil || chat.CodeOf(err) != chat.CodeInvalid {
			t.Errorf("%q among tasks: %v", text, err)
		}
	}
}

// TestPagesAndSpans compares the defaults and the limits of pages and spans.
func TestPagesAndSpans(t *testing.T) {
	for limit, want := range map[int]int{-1: PageLimit, 0: PageLimit, 1: 1, PageMaxLimit + 1: PageMaxLimit} {
		if got := (Page{Limit: limit}).Size(); got != want {
			t.Errorf("a page of %d has %d", limit, got)
		}
	}
	if all, some := (Page{}).Most(), (Page{Bytes: 7}).Most(); all < 1<<60 || some != 7 {
		t.Errorf("without a bound %d bytes, with one of 7 %d", all, some)
	}
	day := time.Date(2026, 11, 30, 23, 30, 0, 0, time.FixedZone("", -3600))
	since, until := UsageQuery{Since: day}.Span()
	if since != day.UTC() || until.Before(day.AddDate(1000, 0, 0)) {
		t.Errorf("from %s to %s", since, until)
	}
	if since, until = (UsageQuery{Until: day}).Span(); !since.Equal(time.UnixMilli(0)) || until != day.UTC() {
		t.Errorf("from %s to %s", since, until)
	}
	if got := MonthOf(day); got != "2026-12" {
		t.Errorf("%s is in %s", day, got)
	}
}

// TestUnsettled follows what waits in a conversation, row by row.
func TestUnsettled(t *testing.T) {
	u := NewUnsettled()
	for i, c := range []struct {
		row   Row
		waits bool
	}{
		{Opened{By: "ann"}, false},
		{MailPosted{ID: "m"}, true},
		{MailDelivered{ID: "m"}, false},
		{QuestionAsked{In: sub, Question: "q"}, false}, // the orchestrator answers it, or hands it on
		{QuestionRelayed{In: sub, Question: "q"}, true},
		{QuestionRelayed{In: sub, Question: "q"}, true},
		{QuestionAnswered{In: sub, Question: "q"}, false},
		{QuestionRelayed{In: sub, Question: "q"}, false}, // too late
		{ApprovalRequested{In: sub, Call: "1.0"}, true},
		{ApprovalRequested{In: sub, Call: "1.1"}, true},
		{ApprovalDecided{In: sub, Call: "1.0"}, true},
		{ApprovalClosed{In: root, Call: "1.1"}, true}, // of another agent
		{ApprovalClosed{In: sub, Call: "1.1"}, false},
		{QuestionAsked{In: sub, Question: "r"}, false},
		{QuestionAnswered{In: sub, Question: "r"}, false},
		{QuestionRelayed{In: sub, Question: "r"}, false}, // it was answered before
	} {
		if u.Apply(c.row); u.Any() != c.waits {
			t.Errorf("after row %d, %s: something waits is %t", i, c.row.Kind(), u.Any())
		}
	}
}

// TestSums adds up the usage of agents and their reservations beyond that.
func TestSums(t *testing.T) {
	agents := []Agent{
		{ID: "main", Own: chat.Usage{Input: 1, Cost: 10}},
		{ID: "main/1.0.0", Parent: "main", Own: chat.Usage{Input: 2, Cost: 20}},
		{ID: "main/1.0.0/1.0.0", Parent: "main/1.0.0", Own: chat.Usage{Input: 4, Cost: 40}},
		{ID: "main/1.0.1", Parent: "main", Own: chat.Usage{Input: 8, Cost: 80}},
	}
	AddUp(agents)
	var below []int64
	for _, a := range agents {
		below = append(below, a.Subtree.Input)
	}
	if diff := cmp.Diff([]int64{15, 6, 4, 8}, below); diff != "" {
		t.Errorf("each with those below it (-want +got):\n%s", diff)
	}
	used, tokens, cost := Snapshot{Agents: agents, Leases: []Lease{{Tokens: 3, Cost: 5}, {Tokens: 4, Cost: 6}}}.Spent()
	if used != (chat.Usage{Input: 15, Cost: 150}) || tokens != 7 || cost != 11 {
		t.Errorf("used %+v, held %d tokens and %d", used, tokens, cost)
	}
	if got := (Record{PromptTokens: 3, CompletionTokens: 4}).TotalTokens(); got != 7 {
		t.Errorf("a record of 3 and 4 tokens has %d", got)
	}
}

// TestRowsOfALaterBuild are read, handed on as they are and never written; a body that does not fit
// its kind is an error.
func TestRowsOfALaterBuild(t *testing.T) {
	const body = `{"a": [1, 2]}`
	row, err := Read("later", []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(row)
	if row.Kind() != "later" || row.Key() != "" || err != nil || string(out) != `{"a":[1,2]}` {
		t.Errorf("%s %q %s, %v", row.Kind(), row.Key(), out, err)
	}
	known, err := Read(KindTitled, []byte(`{"id":"1","title":"x"}`))
	if err != nil || known != (Titled{ID: "1", Title: "x"}) {
		t.Errorf("%+v, %v", known, err)
	}
	if _, err := Read(KindTitled, []byte(`{"id":7}`)); err == nil || !strings.Contains(err.Error(), "decode row of kind "+string(KindTitled)) {
		t.Errorf("a body that does not fit: %v", err)
	}
}

// TestErasure checks the rest of an erased conversation, and the fate of the command that began it.
func TestErasure(t *testing.T) {
	if got := CommandOf([]string{`no`, `{"id":"erase:","command":""}`, `{"id":"erase:","command":"x"}`}); got != "x" {
		t.Errorf("it was erased by %q", got)
	}
	if got := CommandOf(nil); got != "" {
		t.Errorf("without a post it was erased by %q", got)
	}
	if ErasureKey() != (MailPosted{ID: Erasure, Topic: "erase", Command: "x"}).Key() {
		t.Errorf("%s is not the key of the post", ErasureKey())
	}
	if chat.CodeOf(Gone()) != chat.CodeConflict || chat.CodeOf(NotFound()) != chat.CodeNotFound {
		t.Errorf("%v, %v", Gone(), NotFound())
	}
	stop := Stop("1", "ann", "main/1.0.0")
	if diff := cmp.Diff(MailPosted{ID: "cancel:1", Topic: "cancel", By: "ann", Task: "main/1.0.0"}, stop, cmp.AllowUnexported(MailPosted{})); diff != "" || !stop.Stops() || (MailPosted{ID: "cancel:1"}).Stops() {
		t.Errorf("a command to stop (-want +got):\n%s", diff)
	}
}

// TestSettlesAMonth is what a tenant's month gains when a model call ends.
func TestSettlesAMonth(t *testing.T) {
	replied := ModelReplied{Usage: chat.Usage{Cost: 30}, Reserved: 100}
	if change, ok := replied.Settles("c"); change != -70 || !ok {
		t.Errorf("%d %t", change, ok)
	}
	unmetered, free := replied, replied
	unmetered.Unmetered, free.Reserved = true, 0
	for name, settled := range map[string]bool{"unmetered": true, "free": true, "imported": true} {
		r, conversation := map[string]ModelReplied{"unmetered": unmetered, "free": free, "imported": replied}[name], "c"
		if name == "imported" {
			conversation = ImportPrefix + "c"
		}
		if change, ok := r.Settles(conversation); ok == settled || change != 0 {
			t.Errorf("%s: %d %t", name, change, ok)
		}
	}
}

// TestWhoReads is for whom a journal is read, and that both marks stay out of each other's way.
func TestWhoReads(t *testing.T) {
	ctx := context.Background()
	if ViewerOf(ctx) != "" || IsReading(ctx) {
		t.Error("a program reads for somebody")
	}
	both := ForReading(For(ctx, "u1"))
	if ViewerOf(both) != "u1" || !IsReading(both) || IsReading(For(ctx, "u1")) || ViewerOf(ForReading(ctx)) != "" {
		t.Errorf("%q, %t", ViewerOf(both), IsReading(both))
	}
}
