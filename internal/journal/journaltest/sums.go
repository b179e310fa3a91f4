package journaltest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

// usage sums a tree of three agents.
//
// Covers: R-214, E-114, P11.
func usage(t *testing.T, f Fixture) {
	rows := opening()
	use := func(in journal.In, call string, cost int64, unmetered bool) {
		rows = append(rows,
			journal.ModelCalled{In: in, Call: call, Type: journal.RequestPrompt, HoldTokens: 100, HoldCost: 50},
			journal.ModelReplied{
				In: in, Call: call, Status: chat.StatusCompleted, Unmetered: unmetered,
				Usage: chat.Usage{Input: 10, Output: 1, Cost: cost},
			})
	}
	child := journal.In{Agent: "root/1.0.0", Task: "root/1.0.0"}
	grand := journal.In{Agent: "root/1.0.0/2.0.0", Task: "root/1.0.0/2.0.0"}
	use(root, "1.1", 5, false)
	rows = append(rows, journal.TaskAssigned{In: child, Parent: "root", Role: "coder", Depth: 1})
	use(child, "1.1", 7, false)
	rows = append(rows, journal.TaskAssigned{In: grand, Parent: child.Agent, Role: "tester", Depth: 2})
	use(grand, "1.1", 11, true)
	use(grand, "2.1", 13, false)
	rows = append(rows, journal.ModelCalled{In: root, Call: "2.1", Type: journal.RequestPrompt, HoldTokens: 9, HoldCost: 3})
	for _, row := range rows {
		write(t, f.Log, ref, row)
	}
	s, err := f.Log.Snapshot(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	costs := map[string][2]int64{}
	for _, a := range s.Agents {
		costs[a.ID] = [2]int64{a.Own.Cost, a.Subtree.Cost}
	}
	want := map[string][2]int64{"root": {5, 36}, child.Agent: {7, 31}, grand.Agent: {24, 24}}
	if diff := cmp.Diff(want, costs); diff != "" {
		t.Errorf("own and subtree cost (+) against the wanted (-):\n%s", diff)
	}
	used, tokens, cost := s.Spent()
	if used.Cost != 36 || used.Tokens() != 44 || tokens != 109 || cost != 53 {
		t.Errorf("spent %+v and holds %d tokens and %d; want 36, 44, 109, 53", used, tokens, cost)
	}
}

// usageBy asks what two conversations used, by everything that it can be asked by.
func usageBy(t *testing.T, f Fixture) {
	child := journal.In{Agent: "root/1.0.0", Task: "root/1.0.0"}
	at := start
	for _, c := range []string{"c1", "c2"} {
		for _, rows := range [][]journal.Row{
			append(opening(), journal.TaskAssigned{In: child, Parent: "root", Role: "coder", Depth: 1}),
			{
				journal.ModelCalled{In: root, Call: "1.1", Turn: 1, Model: "m1"},
				journal.ModelReplied{In: root, Call: "1.1", Status: chat.StatusCompleted, Usage: chat.Usage{Input: 10, Cost: 5}},
			},
			{
				journal.ModelCalled{In: child, Call: "1.1", Turn: 1, Model: "m1"},
				journal.ModelReplied{
					In: child, Call: "1.1", Status: chat.StatusCompleted, Model: "m2", Usage: chat.Usage{Output: 3, Cost: 7, Unpriced: 1},
				},
				journal.ModelCalled{In: child, Call: "1.2", Turn: 1, Model: "m2"},
			},
		} {
			if _, err := f.Log.Append(t.Context(), journal.Ref{Tenant: "acme", Conversation: c}, at, rows...); err != nil {
				t.Fatal(err)
			}
			at = at.Add(time.Second)
		}
	}
	tests := []struct {
		query journal.UsageQuery
		want  []string
	}{
		{journal.UsageQuery{By: journal.UsageByConversation}, []string{"c1 3 10 3 12 1", "c2 3 10 3 12 1"}},
		{journal.UsageQuery{By: journal.UsageByRole}, []string{"main 2 20 0 10 0", "coder 4 0 6 14 2"}},
		{journal.UsageQuery{By: journal.UsageByModel, Conversation: "c2"}, []string{"m1 1 10 0 5 0", "m2 2 0 3 7 1"}},
		{journal.UsageQuery{By: journal.UsageByAgent, Conversation: "c1"}, []string{"root 1 10 0 5 0", "root/1.0.0 2 0 3 7 1"}},
		{journal.UsageQuery{By: journal.UsageByTurn, Conversation: "c1"}, []string{"root#1 1 10 0 5 0", "root/1.0.0#1 2 0 3 7 1"}},
		{journal.UsageQuery{By: journal.UsageByModel, Since: start.Add(2 * time.Second), Until: start.Add(4 * time.Second)}, []string{"m2 2 0 3 7 1"}},
		{journal.UsageQuery{By: journal.UsageByModel, Conversation: "c9"}, nil},
	}
	for _, test := range tests {
		used, err := f.Log.Usage(t.Context(), "acme", test.query)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, u := range used {
			got = append(got, fmt.Sprint(u.Name, " ", u.Calls, " ", u.Usage.Input, " ", u.Usage.Output, " ", u.Usage.Cost, " ", u.Usage.Unpriced))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("usage by %s (+) against the wanted (-):\n%s", test.query.By, diff)
		}
	}
	if used, err := f.Log.Usage(t.Context(), "other", journal.UsageQuery{By: journal.UsageByModel}); err != nil || len(used) > 0 {
		t.Errorf("another tenant sees %v, %v", used, err)
	}
}

// recordTree asks for the flat records of a run of depth 2.
//
//
func recordTree(t *testing.T, f Fixture) {
	child := journal.In{Agent: "root/1.0.0", Task: "root/1.0.0"}
	grand := journal.In{Agent: "root/1.0.0/1.0.0", Task: "root/1.0.0/1.0.0"}
	call := func(in journal.In) []journal.Row {
		return []journal.Row{
			journal.MessageAdded{In: in, Message: chat.Message{ID: "u1", Speaker: chat.User, Parts: []chat.Part{
				{Kind: chat.PartText, Text: "do it"},
			}}},
			journal.ModelCalled{In: in, Call: "1.1", Turn: 1, Attempt: 1, Type: journal.RequestPrompt, Model: "m", Prompt: "p"},
			journal.ModelReplied{In: in, Call: "1.1", Status: chat.StatusCompleted, Usage: chat.Usage{Input: 3, Output: 2}, Duration: 8},
			journal.MessageAdded{In: in, Turn: 1, Message: chat.Message{ID: "t1", Speaker: chat.Assistant, Parts: []chat.Part{
				{Kind: chat.PartText, Text: "on it"},
				{Kind: chat.PartToolUse, Call: "1.0", Tool: "spawn_agents", Args: `{}`},
			}}},
		}
	}
	rows := slices.Concat(opening(), call(root), []journal.Row{
		journal.TaskAssigned{In: child, Parent: "root", Call: "1.0", Role: "coder", Depth: 1, Instruction: "code"},
	}, call(child), []journal.Row{
		journal.TaskAssigned{In: grand, Parent: child.Agent, Call: "1.0", Role: "tester", Depth: 2, MaxIterations: 20},
	}, call(grand), []journal.Row{
		journal.TaskEnded{In: grand, Status: chat.StatusTimedOut, ErrorKind: chat.KindTimedOut, Reason: "time", Message: "too slow"},
		journal.TaskEnded{In: child, Status: chat.StatusCompleted, Summary: "done", Files: []string{"a.go"}, Iterations: 1},
	})
	for i, row := range rows {
		if _, err := f.Log.Append(t.Context(), ref, start.Add(time.Duration(i)*time.Second), row); err != nil {
			t.Fatal(err)
		}
	}
	records, err := f.Log.Records(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	type line struct {
		ID, Parent      int64
		Role            string
		Depth           int
		Type            journal.RequestType
		Request, Answer string
		Status          chat.Status
		Tokens          int64
		Why             string
	}
	var got []line
	for _, r := range records {
		got = append(got, line{
			r.ID, r.Parent, r.Role, r.Depth, r.RequestType, r.Request, r.Response, r.Status,
			r.TotalTokens(), r.Bailout + r.Error,
		})
	}
	want := []line{
		{4, 0, "main", 0, "prompt", "do it", "on it", "completed", 5, ""},
		{7, 4, "coder", 1, "delegation", "code", "done", "completed", 0, ""},
		{9, 7, "coder", 1, "prompt", "do it", "on it", "completed", 5, ""},
		{12, 9, "tester", 2, "delegation", "", "", "timed_out", 0, "timetoo slow"},
		{14, 12, "tester", 2, "prompt", "do it", "on it", "completed", 5, ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (+) against the wanted (-):\n%s", diff)
	}
}

// RecordColumns are the columns of the view of records, tenant aside. People's own reports are
// written against them.
var RecordColumns = []string{
	"id", "session_id", "parent_message_id", "started_at", "completed_at", "duration_ms",
	"agent_role", "agent_depth", "model_id", "system_prompt_id", "request_type", "request_content",
	"context_mode", "context_token_count", "response_content", "response_summary",
	"tool_calls_json", "files_modified_json", "prompt_tokens", "completion_tokens", "total_tokens",
	"iteration_count", "max_iterations", "max_duration_ms", "bailout_reason", "status",
	"error_message", "metadata_json",
}
