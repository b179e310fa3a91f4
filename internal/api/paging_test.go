package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

func TestPagesOfMessages(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path, ref := o.begin(t, "key-begin")
	var want []string
	for i := range 25 {
		o.send(t, http.MethodPost, path+"/messages", fmt.Sprint("key-message-", i), fmt.Sprintf(`{"text":"m%d"}`, i))
		want = append(want, fmt.Sprint("m", i))
	}
	for _, limit := range []int{1, 4, 5, 24, 25, 26} {
		var got []string
		pages := 0
		for before := int64(0); ; pages++ {
			var page wire.Page[wire.Message]
			o.send(t, http.MethodGet, fmt.Sprintf("%s/messages?limit=%d&before=%d", path, limit, before), "", "").into(t, 200, &page)
			var texts []string
			for _, m := range page.Items {
				texts = append(texts, m.Parts[0].Text)
			}
			got = append(texts, got...)
			if before = page.Before; before == 0 {
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || pages > 25/limit+1 {
			t.Errorf("in %d pages of %d: %s", pages, limit, diff)
		}
	}
	// A message that is written between two pages moves nothing.
	var last, before wire.Page[wire.Message]
	o.send(t, http.MethodGet, path+"/messages?limit=5", "", "").into(t, 200, &last)
	o.write(t, ref, journal.MessageReceived{ID: "late", By: "ann", Parts: []chat.Part{{Kind: chat.PartText, Text: "late"}}})
	o.send(t, http.MethodGet, fmt.Sprintf("%s/messages?limit=5&before=%d", path, last.Before), "", "").into(t, 200, &before)
	if before.Items[4].Parts[0].Text != "m19" || last.Items[0].Parts[0].Text != "m20" {
		t.Errorf("the pages are %+v and %+v", before.Items, last.Items)
	}
}

func TestPagesOfConversations(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	var want []string
	for i := range 11 {
		path, _ := o.begin(t, fmt.Sprint("key-begin-", i))
		want = append(want, path[len("/v1/conversations/"):])
	}
	slices.Reverse(want)
	for _, limit := range []int{1, 3, 10, 11, 12} {
		var got []string
		for cursor := ""; ; {
			var page wire.Conversations
			o.send(t, http.MethodGet, fmt.Sprintf("/v1/conversations?limit=%d&cursor=%s", limit, url.QueryEscape(cursor)), "", "").
				into(t, 200, &page)
			for _, c := range page.Items {
				got = append(got, c.ID)
			}
			if cursor = page.Cursor; cursor == "" {
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("in pages of %d: %s", limit, diff)
		}
	}
}

func TestReadsOfAgents(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path, ref := o.busyTalk(t)
	o.write(t, ref,
		journal.ModelCalled{In: hand, Call: "1", Type: journal.RequestDelegation, Turn: 1, Model: "m"},
		journal.ModelReplied{In: hand, Call: "1", Status: chat.StatusCompleted, Usage: chat.Usage{Input: 10, Output: 5, Cost: 7}},
		journal.MessageAdded{In: hand, Turn: 1, Message: chat.Message{ID: "s1", Speaker: chat.Assistant, Parts: []chat.Part{
			{Kind: chat.PartToolUse, Call: "1.0", Tool: "shell", Args: `{"command":"ls"}`},
		}}},
		journal.ToolReturned{In: hand, Call: "1.0", Status: journal.CallCompleted, Text: "a file"},
		journal.TaskEnded{In: hand, Status: chat.StatusCompleted, Summary: "done"})
	var agent wire.AgentView
	o.send(t, http.MethodGet, path+"/agents/main~1.0.0", "", "").into(t, 200, &agent)
	if agent.ID != "main/1.0.0" || agent.Role != "coder" || agent.Own.Cost != 7 || len(agent.Tasks) != 1 || agent.Tasks[0].Status != "completed" {
		t.Errorf("the agent is %+v", agent)
	}
	var below wire.Page[wire.Agent]
	o.send(t, http.MethodGet, path+"/agents/main/children", "", "").into(t, 200, &below)
	if len(below.Items) != 1 || below.Items[0].ID != "main/1.0.0" {
		t.Errorf("below main is %+v", below)
	}
	var task wire.TaskView
	o.send(t, http.MethodGet, path+"/tasks/main~1.0.0", "", "").into(t, 200, &task)
	if task.Summary != "done" || task.Parent != "main" {
		t.Errorf("the task is %+v", task)
	}
	var messages wire.Page[wire.Message]
	o.send(t, http.MethodGet, path+"/agents/main~1.0.0/messages", "", "").into(t, 200, &messages)
	var calls wire.Page[wire.ToolCall]
	o.send(t, http.MethodGet, path+"/agents/main~1.0.0/tool-calls", "", "").into(t, 200, &calls)
	var attempts wire.Page[wire.ModelCall]
	o.send(t, http.MethodGet, path+"/agents/main~1.0.0/model-calls", "", "").into(t, 200, &attempts)
	if len(messages.Items) != 1 || len(calls.Items) != 1 || len(attempts.Items) != 1 || calls.Items[0].Status != "completed" {
		t.Errorf("the agent has %+v, %+v and %+v", messages, calls, attempts)
	}
	var call wire.ToolCallView
	o.send(t, http.MethodGet, path+"/agents/main~1.0.0/tool-calls/1.0", "", "").into(t, 200, &call)
	if diff := cmp.Diff(wire.ToolCallView{
		Call: "1.0", Agent: "main/1.0.0", Tool: "shell", Args: `{"command":"ls"}`, Status: "completed", Text: "a file",
	}, call); diff != "" {
		t.Error(diff)
	}
	for _, nobody := range []string{"", "/children", "/messages", "/tool-calls", "/model-calls", "/tool-calls/1.0"} {
		o.refuses(t, nobody, o.send(t, http.MethodGet, path+"/agents/main~7"+nobody, "", ""), 404, "not_found")
		o.refuses(t, nobody, o.send(t, http.MethodGet, path+"x/agents/main"+nobody, "", ""), 404, "not_found")
	}
	// An agent that has done nothing yet has empty lists.
	o.send(t, http.MethodGet, path+"/agents/main/tool-calls", "", "").into(t, 200, &calls)
	if calls.Items == nil || len(calls.Items) != 0 {
		t.Errorf("main has the calls %+v", calls.Items)
	}
}

// TestApprovalsSayWhatWasRead shows a person, wherever they look, what the agent has read, and lets
// them decide about that call only.
func TestApprovalsSayWhatWasRead(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path, ref := o.busyTalk(t)
	o.write(t, ref, journal.ApprovalRequested{
		In: hand, Call: "2.0", Tool: "write_file", Hash: "h2", Show: json.RawMessage(`{"path":"a","content":"b"}`),
		Sources: []journal.Source{{Kind: "mcp", Name: "tracker"}, {Kind: "web", Name: "example.com"}},
	})
	want := []wire.Source{{Kind: "mcp", Name: "tracker"}, {Kind: "web", Name: "example.com"}}
	check := func(where string, list ...wire.Approval) {
		t.Helper()
		for _, a := range list {
			if a.Call == "2.0" {
				if diff := cmp.Diff(want, a.Sources); diff != "" {
					t.Errorf("%s: %s", where, diff)
				}
				return
			}
			if len(a.Sources) > 0 {
				t.Errorf("%s: call %s has %v", where, a.Call, a.Sources)
			}
		}
		t.Errorf("%s: it is not there", where)
	}
	var inbox wire.Page[wire.Waiting]
	o.send(t, http.MethodGet, "/v1/inbox", "", "").into(t, 200, &inbox)
	var waiting []wire.Approval
	for _, w := range inbox.Items {
		if w.Approval != nil {
			waiting = append(waiting, *w.Approval)
		}
	}
	check("inbox", waiting...)
	var list wire.Page[wire.Approval]
	o.send(t, http.MethodGet, path+"/approvals", "", "").into(t, 200, &list)
	check("list", list.Items...)
	var one wire.Approval
	o.send(t, http.MethodGet, path+"/approvals/main~1.0.0:2.0", "", "").into(t, 200, &one)
	check("one", one)
	o.refuses(t, "for the task", o.send(t, http.MethodPost, path+"/approvals/main~1.0.0:2.0/decision", "key-wide",
		`{"allow":true,"hash":"h2","scope":"task"}`), 422, "invalid")
	o.send(t, http.MethodPost, path+"/approvals/main~1.0.0:2.0/decision", "key-once", `{"allow":true,"hash":"h2"}`).into(t, 200, &one)
	if one.Status != "decided" || one.Scope != "once" {
		t.Errorf("the approval is %+v", one)
	}
}

func TestInboxHasWhatWaits(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path, ref := o.busyTalk(t)
	type inbox struct{ Items []wire.Waiting }
	var got inbox
	o.send(t, http.MethodGet, "/v1/inbox", "", "").into(t, 200, &got)
	if len(got.Items) != 2 || got.Items[0].Approval == nil || got.Items[1].Question == nil || got.Items[0].Role != "coder" ||
		got.Items[0].Conversation != ref.Conversation {
		t.Fatalf("the inbox has %+v", got)
	}
	var a wire.Approval
	o.send(t, http.MethodPost, path+"/approvals/"+got.Items[0].Approval.ID+"/decision", "key-decide",
		fmt.Sprintf(`{"allow":true,"hash":%q,"scope":"conversation"}`, got.Items[0].Approval.Hash)).into(t, 200, &a)
	if a.Status != "decided" || !a.Allow || a.By != "ann" || string(a.Show) != `{"command":"ls"}` {
		t.Errorf("the approval is %+v", a)
	}
	o.write(t, ref, journal.ApprovalClosed{In: hand, Call: "1.0", Status: "approved", By: "ann"},
		journal.QuestionAnswered{In: mainTask, Question: "main/1.0.0#1.1", By: "user", Text: "b"})
	got = inbox{}
	o.send(t, http.MethodGet, "/v1/inbox", "", "").into(t, 200, &got)
	if len(got.Items) != 0 {
		t.Errorf("the inbox still has %+v", got)
	}
}
