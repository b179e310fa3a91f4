package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/journal/journaltest"
	"github.com/retinue-dev/retinue/internal/journal/sqlite"
)

// TestStatements counts the statements of an append, begin and commit among them.
func TestStatements(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	var count journaltest.Counter
	sql.Register("counted "+path, &count)
	log, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Driver: "counted " + path})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close() //nolint:errcheck // the counts are read before
	const want = `opened 7
task_assigned 7
task_assigned 7
shared 6
titled 6
message_received 7
mail_posted 6
mail_delivered 6
status_changed 6
model_called 7
model_replied 9
message_added 7
tool_started 7
tool_returned 7
question_asked 6
question_relayed 6
question_answered 6
approval_requested 7
approval_decided 6
approval_closed 7
granted 6
reply_voided 7
stepped 5
task_ended 6
archived 6
model_called 7
model_replied + message_added + stepped 13
tool_returned + stepped + message_added 10
`
	if diff := cmp.Diff(want, journaltest.Statements(t, log, count.N.Load)); diff != "" {
		t.Errorf("statements of appends (-want +got):\n%s", diff)
	}
}
