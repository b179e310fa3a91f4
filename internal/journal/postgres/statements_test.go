//go:build services

package postgres_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/journal/postgres"
)

// TestStatements counts the statements of an append, begin and commit among them, and its round
// trips.
func TestStatements(t *testing.T) {
	t.Parallel()
	var count trips
	log, err := postgres.Open(t.Context(), postgres.Options{DSN: database(t), Role: postgres.Role, Tracer: &count, Connections: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	const want = `opened 11 2
task_assigned 9 1
task_assigned 9 1
shared 9 1
titled 8 1
message_received 8 1
mail_posted 8 1
mail_delivered 8 1
status_changed 8 1
model_called 9 1
model_replied 11 1
message_added 9 1
tool_started 9 1
tool_returned 9 1
question_asked 8 1
question_relayed 8 1
question_answered 8 1
approval_requested 9 1
approval_decided 8 1
approval_closed 9 1
granted 8 1
reply_voided 9 1
stepped 7 1
task_ended 8 1
archived 8 1
model_called 9 1
model_replied + message_added + stepped 12 1
tool_returned + stepped + message_added 10 1
`
	if diff := cmp.Diff(want, journaltest.Statements(t, log, count.counter.n.Load, count.n.Load)); diff != "" {
		t.Errorf("statements and round trips of appends (-want +got):\n%s", diff)
	}
}
