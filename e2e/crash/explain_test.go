//go:build services

package crash

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/retinue-dev/retinue/internal/host"
	"github.com/retinue-dev/retinue/internal/journal"
)

// explainMost is how many open conversations are explained.
const explainMost = 3

// explain prints the data of engine and journal on conversations that did not come to rest: a
// person who reads this later has no logs.
func (l *load) explain(t *testing.T, open []string) {
	t.Helper()
	told := map[string]bool{}
	for _, line := range open {
		conv, _, _ := strings.Cut(line, ": ")
		if told[conv] || len(told) == explainMost {
			continue
		}
		told[conv] = true
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		for _, said := range append(l.engineOf(ctx, conv), l.journalOf(ctx, conv)...) {
			t.Logf("  %s: %s", conv, said)
		}
		cancel()
	}
}

// engineOf is what the engine has under way for an orchestrator.
func (l *load) engineOf(ctx context.Context, conv string) (out []string) {
	run, err := l.node.Client.Engine.DescribeWorkflowExecution(ctx, host.RunID(placeOf(conv), host.Root), "")
	if err != nil {
		return []string{"engine: " + err.Error()}
	}
	info := run.GetWorkflowExecutionInfo()
	out = append(out, fmt.Sprintf("engine: %v, %d events", info.GetStatus(), info.GetHistoryLength()))
	if task := run.GetPendingWorkflowTask(); task != nil {
		out = append(out, fmt.Sprintf("workflow task: %v, attempt %d, scheduled at %v, started at %v", task.GetState(), task.GetAttempt(),
			task.GetScheduledTime().AsTime(), task.GetStartedTime().AsTime()))
	}
	for _, a := range run.GetPendingActivities() {
		out = append(out, fmt.Sprintf("activity %s: %v, attempt %d on %s, last heard of at %v, next at %v, last failure %q",
			a.GetActivityType().GetName(), a.GetState(), a.GetAttempt(), a.GetLastWorkerIdentity(), a.GetLastHeartbeatTime().AsTime(),
			a.GetNextAttemptScheduleTime().AsTime(), a.GetLastFailure().GetMessage()))
	}
	return out
}

// journalOf is the last rows of a conversation, and the agents with mail.
func (l *load) journalOf(ctx context.Context, conv string) (out []string) {
	const last = 12
	ref := placeOf(conv)
	boxes, err := l.node.Log.Mailboxes(ctx, ref)
	if err != nil {
		return []string{"journal: " + err.Error()}
	}
	out = append(out, fmt.Sprintf("it is %v, mail waits for %v", time.Now().UTC().Format(time.TimeOnly), boxes))
	var rows []journal.Entry
	for after := int64(0); ; after = rows[len(rows)-1].Seq {
		page, err := l.node.Log.Entries(ctx, ref, after, journal.PageMaxLimit)
		if err != nil {
			return append(out, "journal: "+err.Error())
		}
		if len(page) == 0 {
			break
		}
		rows = append(rows, page...)
	}
	for _, e := range rows[max(0, len(rows)-last):] {
		out = append(out, fmt.Sprintf("row %d at %s: %s", e.Seq, e.At.UTC().Format(time.TimeOnly), e.Row.Key()))
	}
	return out
}
