package journaltest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// Statements appends rows of each kind that changes a table, one append for each, and then what an
// agent's turn writes. It returns a line for each append: the kind, and what the counters say that
// it took.
func Statements(t *testing.T, log journal.Log, counters ...func() int64) string {
	t.Helper()
	ref := journal.Ref{Tenant: "acme", Conversation: "counted"}
	in := journal.In{Agent: "main/1.0.0", Task: "main/1.0.0"}
	use := chat.Part{Kind: chat.PartToolUse, Call: "1.0", Tool: "read_file", Args: `{}`}
	appends := [][]journal.Row{
		{journal.Opened{By: "ann", PrivateTo: "ann"}},
		{journal.TaskAssigned{In: root, Role: "main"}},
		{journal.TaskAssigned{In: in, Parent: root.Agent, Depth: 1, Role: "helper"}},
		{journal.Shared{By: "ann"}},
		{journal.Titled{ID: "1", Title: "a title"}},
		{journal.MessageReceived{ID: "1", By: "ann", Parts: []chat.Part{{Kind: chat.PartText, Text: "Go."}}}},
		{journal.MailPosted{ID: "1", Topic: "said", To: "main"}},
		{journal.MailDelivered{ID: "1"}},
		{journal.StatusChanged{In: in, Serial: 1, Status: chat.StatusRunning}},
		{journal.ModelCalled{In: in, Call: "1.1", Turn: 1}},
		{journal.ModelReplied{In: in, Call: "1.1", Status: chat.StatusCompleted, Month: "2026-11", Reserved: 5}},
		{journal.MessageAdded{In: in, Turn: 1, Message: chat.Message{ID: "t1", Speaker: chat.Assistant, Parts: []chat.Part{use}}}},
		{journal.ToolStarted{In: in, Call: "1.0", Attempt: 1}},
		{journal.ToolReturned{In: in, Call: "1.0", Status: journal.CallCompleted}},
		{journal.QuestionAsked{In: in, Question: "q"}},
		{journal.QuestionRelayed{In: in, Question: "q"}},
		{journal.QuestionAnswered{In: in, Question: "q", By: "ann"}},
		{journal.ApprovalRequested{In: in, Call: "1.0", Tool: "write_file"}},
		{journal.ApprovalDecided{In: in, Call: "1.0", Allow: true, By: "ann"}},
		{journal.ApprovalClosed{In: in, Call: "1.0", Status: "approved"}},
		{journal.Granted{In: in, Call: "1.0", Tool: "write_file"}},
		{journal.ReplyVoided{In: in, Turn: 1}},
		{journal.Stepped{In: in, N: 1, Event: []byte(`{}`)}},
		{journal.TaskEnded{In: in, Status: chat.StatusCompleted}},
		{journal.Archived{By: "ann"}},
	}
	var lines strings.Builder
	for _, rows := range append(appends, Turn(root, 7)...) {
		before := make([]int64, len(counters))
		for i, count := range counters {
			before[i] = count()
		}
		write(t, log, ref, rows...)
		for i, row := range rows {
			fmt.Fprintf(&lines, "%s%s", strings.Repeat(" + ", min(i, 1)), row.Kind())
		}
		for i, count := range counters {
			fmt.Fprintf(&lines, " %d", count()-before[i])
		}
		lines.WriteByte('\n')
	}
	return lines.String()
}
