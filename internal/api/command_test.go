package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

// hand is a sub-agent of the conversations here.
var hand = journal.In{Agent: "main/1.0.0", Task: "main/1.0.0"}

// busyTalk is a conversation in which an approval and a question wait for a person.
func (o *office) busyTalk(t *testing.T) (string, journal.Ref) {
	t.Helper()
	path, ref := o.begin(t, "key-begin")
	o.write(t, ref,
		journal.TaskAssigned{In: hand, Parent: "main", Call: "1.0", Role: "coder", Depth: 1},
		journal.ApprovalRequested{In: hand, Call: "1.0", Tool: "shell", Hash: "h1", Pattern: "ls", Show: json.RawMessage(`{"command":"ls"}`)},
		journal.QuestionAsked{In: hand, Question: "main/1.0.0#1.1", Text: "Which?", Options: []string{"a", "b"}},
		journal.QuestionRelayed{In: mainTask, Question: "main/1.0.0#1.1"})
	return path, ref
}

// command is one of the five, as a client sends it.
type command struct {
	name, method, path, body string
	// other is the same command with another content; empty if it has none.
	other  string
	status int
}

// commands are all that write, in a conversation.
func commands(path string) []command {
	return []command{
		{"create", http.MethodPost, "/v1/conversations", `{"title":"one"}`, `{"title":"two"}`, 201},
		{"message", http.MethodPost, path + "/messages", `{"text":"hello"}`, `{"text":"goodbye"}`, 201},
		{
			"answer", http.MethodPost, path + "/messages", `{"text":"b","in_reply_to":"main/1.0.0#1.1"}`,
			`{"text":"a","in_reply_to":"main/1.0.0#1.1"}`, 201,
		},
		{
			"decision", http.MethodPost, path + "/approvals/main~1.0.0:1.0/decision", `{"allow":true,"hash":"h1"}`,
			`{"allow":false,"hash":"h1"}`, 200,
		},
		{"cancel", http.MethodPost, path + "/cancel", `{"task":"main/1.0.0"}`, `{"task":"main"}`, 202},
		{"cancel all", http.MethodPost, path + "/cancel", `{}`, `{"task":"main/1.0.0"}`, 202},
		{"archive", http.MethodPost, path + "/archive", "", "", 202},
	}
}

func TestCommandsAreOnceEach(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path, ref := o.busyTalk(t)
	for _, c := range commands(path) {
		key := "key-" + c.name
		first := o.send(t, c.method, c.path, key, c.body)
		if first.Status != c.status {
			t.Errorf("%s is answered %d: %s", c.name, first.Status, first.Body)
			continue
		}
		before := o.seq(t, ref)
		for range 3 {
			if again := o.send(t, c.method, c.path, key, c.body); again.Status != c.status || string(again.Body) != string(first.Body) {
				t.Errorf("%s is answered %s, and then %s", c.name, first.Body, again.Body)
			}
		}
		if c.other != "" {
			o.refuses(t, c.name+" with a key that was used", o.send(t, c.method, c.path, key, c.other), 409, "conflict")
		}
		o.refuses(t, c.name+" without a key", o.send(t, c.method, c.path, "", c.body), 422, "invalid")
		o.refuses(t, c.name+" with a short key", o.send(t, c.method, c.path, "short", c.body), 422, "invalid")
		if after := o.seq(t, ref); after != before {
			t.Errorf("%s wrote %d rows more when it was sent again", c.name, after-before)
		}
	}
}

func TestCommandsToNobody(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path, ref := o.busyTalk(t)
	before := o.seq(t, ref)
	for _, c := range commands("/v1/conversations/unknown")[1:] {
		o.refuses(t, c.name, o.send(t, c.method, c.path, "key-"+c.name, c.body), 404, "not_found")
	}
	o.refuses(t, "delete", o.send(t, http.MethodDelete, "/v1/conversations/unknown", "key-delete", ""), 404, "not_found")
	for what, body := range map[string]string{
		path + "/messages":                            `{"text":"b","in_reply_to":"nothing"}`,
		path + "/cancel":                              `{"task":"main/9"}`,
		path + "/approvals/main~1.0.0:9/decision":     `{"allow":true,"hash":"h1"}`,
		path + "/approvals/nothing/decision":          `{"allow":true,"hash":"h1"}`,
		path + "/approvals/main~9.0.0:1/decision":     `{"allow":true,"hash":"h1"}`,
		"/v1/conversations/" + path[18:] + "x/cancel": `{}`,
	} {
		o.refuses(t, what, o.send(t, http.MethodPost, what, "key-of-nothing", body), 404, "not_found")
	}
	o.refuses(t, "another hash", o.send(t, http.MethodPost, path+"/approvals/main~1.0.0:1.0/decision", "key-hash",
		`{"allow":true,"hash":"h2"}`), 409, "conflict")
	if after := o.seq(t, ref); after != before {
		t.Errorf("refused commands wrote %d rows", after-before)
	}
}

func TestBeginWithAMessage(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	var first, again wire.Conversation
	for _, c := range []*wire.Conversation{&first, &again} {
		o.send(t, http.MethodPost, "/v1/conversations", "key-begin", `{"title":"a","message":"hello"}`).into(t, 201, c)
	}
	if diff := cmp.Diff(first, again); diff != "" {
		t.Error(diff)
	}
	var state wire.Snapshot
	o.send(t, http.MethodGet, "/v1/conversations/"+first.ID, "", "").into(t, 200, &state)
	if len(state.Messages) != 1 || state.Messages[0].Parts[0].Text != "hello" || state.Messages[0].By != "ann" {
		t.Errorf("messages are %+v", state.Messages)
	}
	for _, other := range []string{
		`{"title":"a","message":"bye"}`, `{"title":"a"}`, `{"message":"hello"}`, `{"title":"a","message":"hello","workspace":"w"}`,
		`{"title":"a","message":"hello","role":"coder"}`, `{"title":"a","message":"hello","model":"strong"}`,
		`{"title":"a","message":"hello","headless":true}`, `{"title":"a","message":"hello","max_cost_micro_usd":5}`,
		`{"title":"a","message":"hello","max_duration_ms":60000}`,
	} {
		o.refuses(t, other, o.send(t, http.MethodPost, "/v1/conversations", "key-begin", other), 409, "conflict")
	}
	o.write(t, journal.Ref{Tenant: "t", Conversation: first.ID}, journal.Titled{ID: "1", Title: "another"})
	o.send(t, http.MethodPost, "/v1/conversations", "key-begin", `{"title":"a","message":"hello"}`).into(t, 201, &again)
	if again.ID != first.ID || again.Title != "another" {
		t.Errorf("sent again after it got a title, it is %+v", again)
	}
}

// TestTextsThatCannotBeKept are recorded with another sign in their place, once each.
func TestTextsThatCannotBeKept(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	var c wire.Conversation
	for range 2 {
		o.send(t, http.MethodPost, "/v1/conversations", "key-begin", `{"title":"a\u0000b","message":"c\u0000d","workspace":"e\u0000f"}`).
			into(t, 201, &c)
	}
	var m wire.Message
	for range 2 {
		o.send(t, http.MethodPost, "/v1/conversations/"+c.ID+"/messages", "key-message", `{"text":"g\u0000h"}`).into(t, 201, &m)
	}
	if c.Title != "a\uFFFDb" || m.Parts[0].Text != "g\uFFFDh" || m.Number != 2 {
		t.Errorf("the title is %q, the second message %+v", c.Title, m)
	}
}

func TestKeysAreOfOneConversation(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	one, _ := o.begin(t, "key-one-talk")
	two, _ := o.begin(t, "key-two-talks")
	var a, b wire.Message
	o.send(t, http.MethodPost, one+"/messages", "key-message", `{"text":"a"}`).into(t, 201, &a)
	o.send(t, http.MethodPost, two+"/messages", "key-message", `{"text":"b"}`).into(t, 201, &b)
	if a.ID == b.ID || one == two {
		t.Errorf("the same key made %s in %s and %s in %s", a.ID, one, b.ID, two)
	}
}

// TestDeletedForGood sends the commands again that began a conversation and that removed it.
func TestDeletedForGood(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	gone, ref := o.begin(t, "key-begin")
	first := o.send(t, http.MethodDelete, gone, "key-delete", "")
	if again := o.send(t, http.MethodDelete, gone, "key-delete", ""); first.Status != 202 || again.Status != 202 ||
		string(again.Body) != string(first.Body) {
		t.Errorf("delete is answered %d: %s, and then %d: %s", first.Status, first.Body, again.Status, again.Body)
	}
	o.refuses(t, "another delete", o.send(t, http.MethodDelete, gone, "key-delete-2", ""), 404, "not_found")
	o.refuses(t, "begin again", o.send(t, http.MethodPost, "/v1/conversations", "key-begin", `{"title":"a talk"}`), 409, "conflict")
	if _, err := o.log.Snapshot(t.Context(), ref); chat.CodeOf(err) != chat.CodeNotFound {
		t.Errorf("it was begun again: %v", err)
	}
}

func TestDeletedAndArchived(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	gone, _ := o.begin(t, "key-gone")
	away, ref := o.begin(t, "key-away")
	if r := o.send(t, http.MethodDelete, gone, "key-delete", ""); r.Status != 202 {
		t.Errorf("delete is answered %d: %s", r.Status, r.Body)
	}
	for _, path := range []string{"", "/messages", "/agents", "/agents/main", "/agents/main/messages", "/tasks", "/events", "/approvals"} {
		o.refuses(t, "read "+path, o.send(t, http.MethodGet, gone+path, "", ""), 404, "not_found")
	}
	for _, c := range commands(gone)[1:] {
		o.refuses(t, c.name, o.send(t, c.method, c.path, "key-"+c.name, c.body), 404, "not_found")
	}
	if r := o.send(t, http.MethodPost, away+"/archive", "key-archive", ""); r.Status != 202 {
		t.Errorf("archive is answered %d: %s", r.Status, r.Body)
	}
	var list wire.Conversations
	o.send(t, http.MethodGet, "/v1/conversations", "", "").into(t, 200, &list)
	if len(list.Items) != 0 {
		t.Errorf("the list has %+v", list.Items)
	}
	var state wire.Snapshot
	o.send(t, http.MethodGet, away, "", "").into(t, 200, &state)
	if !state.Conversation.Archived || state.Conversation.ID != ref.Conversation {
		t.Errorf("the archived conversation is %+v", state.Conversation)
	}
}

// seq is how many rows a conversation has.
func (o *office) seq(t *testing.T, ref journal.Ref) int64 {
	t.Helper()
	state, err := o.log.Snapshot(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	return state.Conversation.Seq
}

// refuses expects a problem that says what to do.
func (o *office) refuses(t *testing.T, what string, r reply, status int, code string) {
	t.Helper()
	var p admission.Problem
	if err := json.Unmarshal(r.Body, &p); err != nil || r.Status != status || p.Code != code || p.Next == "" ||
		p.Type != "urn:retinue:problem:"+code || p.Status != status || strings.TrimSpace(p.Title) == "" {
		t.Errorf("%s is answered %d, want %d and %s with what to do: %s", what, r.Status, status, code, r.Body)
	}
}
