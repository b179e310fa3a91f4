package journal_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// TestChanges compares the changes of rows with testdata/changes.txt. All stores follow Changes, so
// only this test and the suite's own expectations notice when it is wrong.
func TestChanges(t *testing.T) {
	t.Parallel()
	in := journal.In{Agent: "main/1.0.0", Task: "main/1.0.0"}
	use := chat.Part{Kind: chat.PartToolUse, Call: "7.1", Tool: "read_file", Args: `{}`}
	text := chat.Part{Kind: chat.PartText, Text: "Two words, two."}
	reply := chat.Message{ID: "t7", Speaker: chat.Assistant, Parts: []chat.Part{text, use}}
	usage := chat.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Reasoning: 5, Cost: 6, Unpriced: 7}
	rows := []journal.Row{
		journal.Opened{By: "ann", Title: "a title", Workspace: "w", PrivateTo: "u1"},
		journal.Shared{By: "ann"},
		journal.Titled{ID: "1", Title: "another"},
		journal.Archived{By: "ann"},
		journal.MessageReceived{ID: "1", By: "ann", Parts: []chat.Part{text}},
		journal.MailPosted{ID: "said:1", Topic: "said", To: "main"},
		journal.MailDelivered{ID: "said:1"},
		journal.TaskAssigned{In: in, Parent: "main", Call: "1.0", Item: 2, Trigger: 3, Depth: 1, Role: "helper", RoleHash: "h", Background: true},
		journal.StatusChanged{In: in, Serial: 1, Status: chat.StatusWaiting, Reason: chat.WaitApproval},
		journal.TaskEnded{In: in, Status: chat.StatusFailed, ErrorKind: chat.ErrorKind("kind")},
		journal.MessageAdded{In: in, Turn: 7, Message: reply},
		journal.MessageAdded{In: journal.In{Agent: "main", Task: "main"}, Turn: 7, Message: reply},
		journal.MessageAdded{In: in, Turn: 8, Message: chat.Message{ID: "t8", Speaker: chat.Assistant, Parts: []chat.Part{text}}},
		journal.MessageAdded{In: in, Message: chat.Message{ID: "u", Speaker: chat.User, Parts: []chat.Part{text}}},
		journal.ReplyVoided{In: in, Turn: 7},
		journal.ModelCalled{In: in, Call: "7.1", Type: journal.RequestPrompt, Turn: 7, Attempt: 1, Model: "m", Prompt: "p", HoldTokens: 8, HoldCost: 9},
		journal.ModelReplied{In: in, Call: "7.1", Status: chat.StatusCompleted, Model: "m2", Usage: usage, Month: "2026-11", Reserved: 10},
		journal.ModelReplied{In: in, Call: "7.1", Status: chat.StatusFailed, Usage: usage, Month: "2026-11", Reserved: 10, Unmetered: true},
		journal.ToolStarted{In: in, Call: "7.1", Attempt: 2, Worker: "w1"},
		journal.ToolReturned{In: in, Call: "7.1", Status: journal.CallCompleted, Duration: 11},
		journal.ToolReturned{In: in, Call: "7.1", Status: journal.CallIndeterminate},
		journal.QuestionAsked{In: in, Question: "q", Call: "7.1", Until: 12},
		journal.QuestionRelayed{In: in, Question: "q"},
		journal.QuestionAnswered{In: in, Question: "q", By: "ann"},
		journal.ApprovalRequested{In: in, Call: "7.1", Tool: "write_file", Hash: "h", Until: 13},
		journal.ApprovalDecided{In: in, Call: "7.1", Allow: true, Scope: "once", By: "ann", Args: `{}`},
		journal.ApprovalClosed{In: in, Call: "7.1", Status: "approved", Scope: "once", By: "ann"},
		journal.Granted{In: in, Call: "7.1", Tool: "write_file", Pattern: "*.go"},
		journal.Stepped{In: in, N: 1},
		journal.Newer{Of: "later"},
	}
	// The model call is entry 5; the reply of turn 8 was voided before it was recorded.
	places := map[string]int64{"request/main/1.0.0#7.1": 5, "void/main/1.0.0#8": 6}
	var got strings.Builder
	for i, row := range rows {
		e := journal.Entry{Seq: int64(i + 20), At: time.UnixMilli(1000), Row: row}
		fmt.Fprintf(&got, "%s\n", row.Kind())
		ref := journal.Ref{Tenant: "acme", Conversation: "c"}
		for _, c := range journal.Changes(ref, e, func(key string) int64 { return places[key] }) {
			fmt.Fprintf(&got, "\t%s%+v\n", strings.TrimPrefix(fmt.Sprintf("%T", c), "journal."), c)
		}
	}
	want, err := os.ReadFile("testdata/changes.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("what rows mean for the tables (-want +got):\n%s\n%s", diff, got.String())
	}
}
