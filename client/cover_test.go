package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

// covered says which method is which operation.
var covered = map[string]string{
	"archiveConversation": "Archive", "cancel": "Cancel", "createConversation": "Create", "decideApproval": "Decide",
	"deleteConversation": "Delete", "exportConversation": "Export", "getAgent": "Agent", "getApproval": "Approval",
	"getConversation": "Conversation", "getHistory": "History", "getConversationUsage": "ConversationUsage", "getMe": "Me", "getQuotas": "Quotas", "getTask": "Task",
	"getText": "Text", "getToolCall": "ToolCall", "getUsage": "Usage", "importConversation": "Import",
	"listAgentMessages": "AgentMessages", "listAgents": "Agents", "listApprovals": "Approvals", "listChildren": "Children",
	"listConversations": "Conversations", "listInbox": "Inbox", "listMessages": "Messages", "listModelCalls": "ModelCalls",
	"getModelCall": "ModelCall", "getRole": "Role", "getSettings": "Settings", "listWorkspaces": "Workspaces", "listFiles": "Files", "listAllTasks": "AllTasks", "listQuestions": "Questions", "listRoles": "Roles", "listTasks": "Tasks", "listToolCalls": "ToolCalls",
	"postMessage": "Post", "search": "Search", "shareConversation": "Share", "streamConversation": "Follow",
}

// hosted are the operations that a server with people in it carries out. One without them refuses
// each, as the document says. A server may be older than they are.
var hosted = map[string]string{
	"addMember": "AddMember", "changeRole": "ChangeRole", "createKey": "CreateKey", "createTenant": "CreateTenant",
	"createWebhook": "CreateWebhook", "deleteWebhook": "DeleteWebhook", "listAudit": "Audit", "listDeliveries": "Deliveries",
	"createLink": "Link", "getPolicy": "Policy", "setPolicy": "SetPolicy", "listKeys": "Keys", "listMembers": "Members", "listTenants": "Tenants", "listWebhooks": "Webhooks",
	"removeMember": "RemoveMember", "deleteMember": "DeleteMember", "deleteTenant": "DeleteTenant", "getTenantDeletion": "TenantDeletion", "replayDelivery": "ReplayDelivery", "revokeKey": "RevokeKey",
	"streamList": "Watch",
}

// browsers are the operations that work with a browser's cookies only. The package has keys.
var browsers = map[string]string{
	"beginLogin":   "it sends a browser to the provider of identities",
	"enter":        "it gives a browser a cookie for the code of a link",
	"endLogin":     "it takes the browser back and gives it a cookie",
	"logout":       "it ends the session of that cookie; a key is given up by RevokeKey",
	"switchTenant": "it gives the browser another session; a key belongs to one tenant",
}

// scene is a client, a server and a conversation in which much has happened.
type scene struct {
	*apitest.Server
	client       *Client
	conversation string
	text         string
}

func newScene(t *testing.T) *scene {
	t.Helper()
	server := apitest.Start(t, nil)
	s := &scene{Server: server, client: &Client{
		BaseURL: server.URL, Key: apitest.Token, HTTP: server.Contract.Client(t), strict: true,
	}}
	c, err := s.client.Create(t.Context(), wire.NewConversation{Title: "Plums", Message: "Compare plums"})
	if err != nil {
		t.Fatal(err)
	}
	s.conversation = c.ID
	s.fill(t)
	return s
}

var (
	root  = journal.In{Agent: "main", Task: "main"}
	child = journal.In{Agent: "main/1.0.0", Task: "main/1.0.0"}
)

// fill records what agents do.
func (s *scene) fill(t *testing.T) {
	t.Helper()
	const patch = "--- a\n+++ b\n"
	s.text = journal.HashOf(patch)
	if err := s.Log.Keep(t.Context(), journal.Ref{Tenant: apitest.Tenant, Conversation: s.conversation}, patch); err != nil {
		t.Fatal(err)
	}
	words := func(text string) []chat.Part { return []chat.Part{{Kind: chat.PartText, Text: text}} }
	s.write(t,
		journal.StatusChanged{In: root, Serial: 1, Status: chat.StatusRunning},
		journal.ModelCalled{In: root, Call: "1.1", Type: journal.RequestPrompt, Turn: 1, Model: "demo/fast", Prompt: s.text, HoldTokens: 9},
		journal.ModelReplied{In: root, Call: "1.1", Status: chat.StatusCompleted, Usage: chat.Usage{Input: 10, Output: 2, Cost: 5}},
		journal.MessageAdded{In: root, Turn: 1, Message: chat.Message{ID: "r1", Speaker: chat.Assistant, Parts: []chat.Part{
			{Kind: chat.PartText, Text: "I ask somebody."}, {Kind: chat.PartToolUse, Call: "1.0", Tool: "spawn_agents", Args: `{"n":1}`},
		}}},
		journal.ToolStarted{In: root, Call: "1.0", Class: "read"},
		journal.ToolReturned{In: root, Call: "1.0", Status: journal.CallCompleted, Text: "done", Whole: s.text, Facts: json.RawMessage(`{"a":1}`)},
		journal.TaskAssigned{In: child, Parent: "main", Role: "researcher", Depth: 1, Call: "1.0", Instruction: "Look", Brief: json.RawMessage(`{}`)},
		journal.ModelCalled{In: child, Call: "1.1", Type: journal.RequestDelegation, Turn: 1, Model: "demo/strong"},
		journal.ModelReplied{In: child, Call: "1.1", Status: chat.StatusFailed, ErrorKind: "model", Usage: chat.Usage{Input: 1, Cost: 7}},
		journal.QuestionAsked{In: child, Question: "q1", Text: "Which year?", Options: []string{"1", "2"}},
		journal.QuestionRelayed{In: child, Question: "q1"},
		journal.ApprovalRequested{In: child, Call: "1.0", Tool: "shell", Hash: "h1", Pattern: "ls *", Show: json.RawMessage(`{"line":"ls"}`), Until: 1e12},
		journal.NoteAdded{In: root, Serial: 1, Note: "steered"},
		journal.ReplyVoided{In: child, Turn: 1},
		journal.PatchKept{In: child, Text: s.text, Files: []journal.PatchFile{{Path: "a", Change: "added", Added: 1}}},
		journal.PatchKept{In: root},
		journal.MessageAdded{In: root, Turn: 2, Message: chat.Message{ID: "r2", Speaker: chat.Assistant, Parts: words("Plums keep for days.")}},
	)
}

func (s *scene) write(t *testing.T, rows ...journal.Row) {
	t.Helper()
	at := journal.Ref{Tenant: apitest.Tenant, Conversation: s.conversation}
	if _, err := s.Log.Append(t.Context(), at, time.Now(), rows...); err != nil {
		t.Fatal(err)
	}
}

// settle ends what waits for a person.
func (s *scene) settle(t *testing.T) {
	t.Helper()
	s.write(t,
		journal.ApprovalClosed{In: child, Call: "1.0", Status: "approved", Scope: "once", By: "ann"},
		journal.Granted{In: child, Call: "1.0", Tool: "shell", Pattern: "ls *"},
		journal.QuestionAnswered{In: child, Question: "q1", By: "person", Text: "1999"},
		journal.TaskEnded{In: child, Status: chat.StatusCompleted, Summary: "fine", Result: json.RawMessage(`{"ok":true}`)},
		journal.TurnEnded{In: root, Serial: 1, Turn: 2, Status: chat.StatusCompleted},
		journal.StatusChanged{In: root, Serial: 2, Status: chat.StatusCompleted},
		journal.Titled{ID: "t", Title: "Plums and more"},
	)
}

// TestCoversTheDocument uses every operation of the document through the client. Each exchange is
// checked against the document, and each answer must have a place for everything that the server
// sends.
func TestCoversTheDocument(t *testing.T) {
	s := newScene(t)
	forBrowsers := func(id string) bool { return browsers[id] != "" }
	for id := range browsers {
		if !slices.Contains(s.Contract.Operations(), id) {
			t.Errorf("%s is for browsers, but not in the document", id)
		}
	}
	ids := slices.DeleteFunc(s.Contract.Operations(), forBrowsers)
	for _, id := range ids {
		if _, ok := reflect.TypeFor[*Client]().MethodByName(covered[id] + hosted[id]); !ok {
			t.Errorf("no method covers %s", id)
		}
	}
	for id := range covered {
		if !slices.Contains(ids, id) {
			t.Errorf("%s is covered, but not in the document", id)
		}
	}
	useAll(t, s)
	useHosted(t, s)
	unseen := slices.DeleteFunc(s.Contract.Unseen(), func(id string) bool { return hosted[id] != "" })
	unseen = slices.DeleteFunc(unseen, forBrowsers)
	if unasked := slices.DeleteFunc(s.Contract.Unasked(), forBrowsers); len(unseen)+len(unasked) > 0 {
		t.Errorf("never used with success: %v, never used: %v", unseen, unasked)
	}
	t.Logf("%d of %d operations covered, %d are for browsers; %v", len(ids)-len(unseen), len(ids), len(browsers), s.Contract.Counts())
}

// useHosted asks for all that only a hosted server does. Where this one refuses, it refuses as the
// document promises.
func useHosted(t *testing.T, s *scene) {
	t.Helper()
	c, ctx := s.client, t.Context()
	answers := map[string]error{}
	note := func(id string, err error) { answers[id] = err }
	_, err := c.Keys(ctx)
	note("listKeys", err)
	_, err = c.CreateKey(ctx, wire.NewAPIKey{Name: "ci", Scopes: []string{"read"}})
	note("createKey", err)
	note("revokeKey", c.RevokeKey(ctx, "k1"))
	_, err = c.Policy(ctx)
	note("getPolicy", err)
	_, err = c.SetPolicy(ctx, wire.Policy{SecondPair: true})
	note("setPolicy", err)
	_, err = c.Link(ctx)
	note("createLink", err)
	_, err = c.Members(ctx)
	note("listMembers", err)
	_, err = c.AddMember(ctx, "ann@example.com", "viewer")
	note("addMember", err)
	_, err = c.ChangeRole(ctx, "m1", "member")
	note("changeRole", err)
	note("removeMember", c.RemoveMember(ctx, "m1"))
	_, err = c.DeleteMember(ctx, "m1")
	note("deleteMember", err)
	_, err = c.Tenants(ctx)
	note("listTenants", err)
	_, err = c.CreateTenant(ctx, "Acme")
	note("createTenant", err)
	_, err = c.DeleteTenant(ctx, "t1", "Acme")
	note("deleteTenant", err)
	_, err = c.TenantDeletion(ctx, "t1")
	note("getTenantDeletion", err)
	_, err = c.Audit(ctx, 0, 10)
	note("listAudit", err)
	_, err = c.CreateWebhook(ctx, wire.NewWebhook{URL: "https://example.com/hook"})
	note("createWebhook", err)
	_, err = c.Webhooks(ctx)
	note("listWebhooks", err)
	_, err = c.DeleteWebhook(ctx, "w1")
	note("deleteWebhook", err)
	_, err = c.Deliveries(ctx, "w1", ListOptions{Limit: 1})
	note("listDeliveries", err)
	_, err = c.ReplayDelivery(ctx, "w1", "d1")
	note("replayDelivery", err)
	for _, err := range c.Watch(ctx) {
		note("streamList", err)
		break
	}
	for id := range hosted {
		p, refused := errors.AsType[*Problem](answers[id])
		if answers[id] != nil && (!refused || !slices.Contains([]int{403, 404, 409}, p.Status)) {
			t.Errorf("%s: %v", id, answers[id])
		}
	}
}

// useAll calls each method once, in an order in which each has something to do.
func useAll(t *testing.T, s *scene) {
	t.Helper()
	c, ctx, id := s.client, t.Context(), s.conversation
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	filled := func(what string, n int, err error) {
		t.Helper()
		if err != nil || n == 0 {
			t.Errorf("%s: %d, %v", what, n, err)
		}
	}
	_, err := c.Me(ctx)
	must("me", err)
	list, err := c.Conversations(ctx, ListOptions{Limit: 5})
	filled("conversations", len(list.Items), err)
	messages, err := c.Messages(ctx, id, PageOptions{Limit: 1})
	filled("messages", len(messages.Items), err)
	agents, err := c.Agents(ctx, id)
	filled("agents", len(agents), err)
	_, err = c.Agent(ctx, id, child.Agent)
	must("agent", err)
	children, err := c.Children(ctx, id, "main")
	filled("children", len(children), err)
	messages, err = c.AgentMessages(ctx, id, "main", PageOptions{})
	filled("transcript", len(messages.Items), err)
	tools, err := c.ToolCalls(ctx, id, "main", PageOptions{})
	filled("tool calls", len(tools.Items), err)
	_, err = c.ToolCall(ctx, id, "main", "1.0")
	must("tool call", err)
	models, err := c.ModelCalls(ctx, id, child.Agent, PageOptions{})
	filled("model calls", len(models.Items), err)
	_, err = c.ModelCall(ctx, id, child.Agent, "", "1.1")
	must("model call", err)
	lines, err := c.AllTasks(ctx, TaskOptions{Role: "researcher", MinCost: 1, Limit: 5})
	filled("all tasks", len(lines.Items), err)
	tasks, err := c.Tasks(ctx, id)
	filled("tasks", len(tasks), err)
	_, err = c.Task(ctx, id, child.Task)
	must("task", err)
	questions, err := c.Questions(ctx, id)
	filled("questions", len(questions), err)
	inbox, err := c.Inbox(ctx, 10)
	filled("inbox", len(inbox), err)
	approvals, err := c.Approvals(ctx, id)
	filled("approvals", len(approvals), err)
	one, err := c.Approval(ctx, id, approvals[0].ID)
	must("approval", err)
	_, err = c.Decide(ctx, id, one.ID, wire.Decision{Allow: true, Hash: one.Hash})
	must("decide", err)
	_, err = c.Post(ctx, id, wire.NewMessage{Text: "1999", InReplyTo: "q1"})
	must("post", err)
	s.settle(t)
	hits, err := c.Search(ctx, SearchOptions{Words: "plums", SubAgents: true, Conversation: id, Limit: 3})
	filled("search", len(hits), err)
	_, err = c.Text(ctx, s.conversation, s.text)
	must("text", err)
	roles, err := c.Roles(ctx, "")
	filled("roles", len(roles), err)
	_, err = c.Role(ctx, "", roles[0].Name)
	must("role", err)
	workspaces, err := c.Workspaces(ctx)
	filled("workspaces", len(workspaces), err)
	settings, err := c.Settings(ctx)
	filled("settings", len(settings.Items), err)
	files, err := c.Files(ctx, "", "mod")
	filled("files", len(files.Items), err)
	_, err = c.Cancel(ctx, id, child.Task)
	must("cancel", err)
	s.sums(t)
	s.follows(t)
	s.ends(t)
}

// sums compares the usage, by every grouping, with the snapshot.
func (s *scene) sums(t *testing.T) {
	t.Helper()
	snapshot, err := s.client.Conversation(t.Context(), s.conversation)
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []string{"", "agent", "role", "model", "turn"} {
		used, err := s.client.ConversationUsage(t.Context(), s.conversation, by)
		if err != nil || used.Total != snapshot.Used || len(used.Items) != 2 {
			t.Errorf("by %q: %+v, %v; the snapshot has %+v", by, used, err, snapshot.Used)
		}
		if by == "agent" && used.Items[0].Subtree.Cost != 12 {
			t.Errorf("the orchestrator's subtree is %+v, want a cost of 12", used.Items[0].Subtree)
		}
	}
	if q, err := s.client.Quotas(t.Context()); err != nil || q.Month.Name == "" || q.Month.Budget != 0 || q.Storage.Used == 0 || q.Storage.Most != 0 {
		t.Errorf("the quotas are %+v, %v", q, err)
	}
	for _, by := range []string{"role", "model", "conversation"} {
		used, err := s.client.Usage(t.Context(), UsageOptions{By: by, Since: time.Now().Add(-time.Hour)})
		if err != nil || used.Total != snapshot.Used {
			t.Errorf("all by %s: %+v, %v; the snapshot has %+v", by, used, err, snapshot.Used)
		}
	}
}

// follows reads all events that were recorded, from the stream and in pages.
func (s *scene) follows(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var streamed, paged []wire.Event
	last := int64(0)
	for e, err := range s.client.Follow(ctx, s.conversation, FollowOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, raw := e.Data.(json.RawMessage); raw || e.Seq <= last {
			t.Errorf("event %d after %d of type %s has data that nobody knows", e.Seq, last, e.Type)
		}
		last, streamed = e.Seq, append(streamed, e)
		if e.Type == wire.CancelRequested {
			break
		}
	}
	for after, more := int64(0), true; more; {
		page, err := s.client.History(ctx, s.conversation, after, 3)
		if err != nil || page.More && page.Seq != after+3 {
			t.Fatalf("the page after entry %d covers entries up to %d, more: %v, %v", after, page.Seq, page.More, err)
		}
		after, more, paged = page.Seq, page.More, append(paged, page.Events...)
	}
	if diff := cmp.Diff(streamed, paged[:min(len(paged), len(streamed))]); diff != "" {
		t.Errorf("the stream (-) and the history (+):\n%s", diff)
	}
}

// ends takes the conversation out, puts it in again, and ends it.
func (s *scene) ends(t *testing.T) {
	t.Helper()
	c, ctx := s.client, t.Context()
	if _, err := c.Share(ctx, s.conversation); err != nil {
		t.Error(err)
	}
	if _, err := c.Archive(ctx, s.conversation); err != nil {
		t.Fatal(err)
	}
	archived, err := c.Conversations(ctx, ListOptions{Archived: true})
	if err != nil || len(archived.Items) != 1 {
		t.Errorf("archived: %+v, %v", archived, err)
	}
	var first, second bytes.Buffer
	if err := c.Export(ctx, s.conversation, &first); err != nil {
		t.Fatal(err)
	}
	again, err := c.Import(ctx, bytes.NewReader(first.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Export(ctx, again.ID, &second); err != nil {
		t.Fatal(err)
	}
	rest := func(b *bytes.Buffer) string { _, rest, _ := bytes.Cut(b.Bytes(), []byte("\n")); return string(rest) }
	if diff := cmp.Diff(rest(&first), rest(&second)); diff != "" {
		t.Errorf("the export of the import (+) against the first (-):\n%s", diff)
	}
	if _, err := c.Delete(ctx, s.conversation); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Conversation(ctx, s.conversation); !IsNotFound(err) {
		t.Errorf("after the end there is %v", err)
	}
}
