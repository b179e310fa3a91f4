package mcptask_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/retinue-dev/retinue/client"
	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/api/identity"
	"github.com/retinue-dev/retinue/internal/cli/mcptask"
	"github.com/retinue-dev/retinue/internal/cli/remote"
	"github.com/retinue-dev/retinue/internal/journal"
)

// guest is an MCP client of Retinue, and the server that Retinue asks.
type guest struct {
	*testing.T
	server   *apitest.Server
	session  *mcp.ClientSession
	progress chan string
}

// newGuest connects one. Its tasks may work in a and b.
func newGuest(t *testing.T) *guest {
	t.Helper()
	g := &guest{T: t, progress: make(chan string, 100)}
	g.server = apitest.StartPlaying(t, func(o *api.Options) {
		o.Authenticator = identity.Local{Tenant: apitest.Tenant, User: "ann" + mcptask.By, Token: apitest.Token}
	})
	b := &mcptask.Backend{
		Server:     &remote.Server{Client: &client.Client{BaseURL: g.server.URL, Key: apitest.Token}, Address: g.server.URL},
		Workspaces: []string{"a", "b"}, Version: "7",
	}
	ours, theirs := mcp.NewInMemoryTransports()
	served, err := b.Tools().Connect(t.Context(), ours, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = served.Close() })
	g.session, err = mcp.NewClient(&mcp.Implementation{Name: "guest", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			g.progress <- r.Params.Message
		},
	}).Connect(t.Context(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.session.Close() })
	return g
}

// call calls a tool and returns the text of its answer, and whether it is an error.
func (g *guest) call(name string, args map[string]any) (string, bool) {
	g.Helper()
	ctx, stop := context.WithTimeout(g.Context(), time.Minute)
	defer stop()
	params := &mcp.CallToolParams{Name: name, Arguments: args}
	params.SetProgressToken("p")
	result, err := g.session.CallTool(ctx, params)
	if err != nil {
		g.Fatalf("%s: %v", name, err)
	}
	text, ok := result.Content[0].(*mcp.TextContent)
	if !ok {
		g.Fatalf("%s: the answer is a %T", name, result.Content[0])
	}
	return text.Text, result.IsError
}

// state is what a client is told of a task.
type state struct {
	Conversation, Status, Result string
	Kind                         string `json:"error_kind"`
	Seq                          int64
	Events                       []struct{ Type string }
	Waiting                      []struct {
		Kind, Question, Tool, How string
		Options                   []string
	}
}

func (g *guest) task(name string, args map[string]any) (s state) {
	g.Helper()
	text, failed := g.call(name, args)
	if failed {
		g.Fatalf("%s: %s", name, text)
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		g.Fatalf("%v: %s", err, text)
	}
	return s
}

func (g *guest) refused(name, why string, args map[string]any) {
	g.Helper()
	if text, failed := g.call(name, args); !failed || !strings.Contains(text, why) {
		g.Errorf("%s %v: %q, want an error with %q", name, args, text, why)
	}
}

func TestATaskThatEnds(t *testing.T) {
	g := newGuest(t)
	done := g.task("start_task", map[string]any{"message": "Look\nhere", "workspace": "a"})
	if done.Status != "completed" || done.Result != "It is so." || len(done.Events) == 0 {
		t.Errorf("got %+v", done)
	}
	found, err := (&client.Client{BaseURL: g.server.URL, Key: apitest.Token}).Conversation(t.Context(), done.Conversation)
	if c := found.Conversation; err != nil || c.Title != "Look" || c.Workspace != "a" {
		t.Errorf("%v: %+v", err, c)
	}
	select {
	case told := <-g.progress:
		if told == "" {
			t.Error("the progress says nothing")
		}
	case <-time.After(30 * time.Second):
		t.Error("no progress was told")
	}
	later := g.task("follow_task", map[string]any{"conversation": done.Conversation, "after": done.Seq})
	if len(later.Events) != 0 || later.Status != "completed" || later.Seq != done.Seq {
		t.Errorf("what was told is told again: %+v", later)
	}
	if failed := g.task("start_task", map[string]any{"message": "fail", "workspace": "a"}); failed.Status != "failed" || failed.Kind != "server_error" {
		t.Errorf("got %+v", failed)
	}
}

func TestAQuestionIsAnswered(t *testing.T) {
	g := newGuest(t)
	asks := g.task("start_task", map[string]any{"message": "ask", "workspace": "b"})
	if asks.Status != "waiting" || len(asks.Waiting) != 1 {
		t.Fatalf("got %+v", asks)
	}
	w := asks.Waiting[0]
	if diff := cmp.Diff([]string{"red", "blue"}, w.Options); diff != "" || w.Kind != "question" {
		t.Errorf("%s: %s", w.Kind, diff)
	}
	answer := func(question, text string) map[string]any {
		return map[string]any{"conversation": asks.Conversation, "question": question, "text": text}
	}
	g.refused("answer", "text is empty", answer(w.Question, " "))
	g.refused("answer", "no question", answer("another", "red"))
	if text, failed := g.call("answer", answer(w.Question, "2")); failed || !strings.Contains(text, "on its way") {
		t.Errorf("got %q", text)
	}
	if done := g.task("follow_task", map[string]any{"conversation": asks.Conversation, "after": asks.Seq}); done.Result != "You said blue" {
		t.Errorf("got %+v", done)
	}
}

// TestAnApprovalIsForAPerson shows that a model is told the command of a person, and has none.
func TestAnApprovalIsForAPerson(t *testing.T) {
	g := newGuest(t)
	wants := g.task("start_task", map[string]any{"message": "shell", "workspace": "a"})
	if wants.Status != "waiting" || len(wants.Waiting) != 1 {
		t.Fatalf("got %+v", wants)
	}
	if w := wants.Waiting[0]; w.Kind != "approval" || w.Tool != "shell" || !strings.Contains(w.How, "a person decides: retinue inbox allow ") {
		t.Errorf("got %+v", w)
	}
	tools, err := g.session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
	}
	if diff := cmp.Diff([]string{"answer", "cancel_task", "follow_task", "start_task"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestATaskIsCancelled(t *testing.T) {
	g := newGuest(t)
	runs := g.task("start_task", map[string]any{"message": "wait", "workspace": "a", "wait_seconds": 0})
	if runs.Status != "running" {
		t.Errorf("got %+v", runs)
	}
	if text, failed := g.call("cancel_task", map[string]any{"conversation": runs.Conversation}); failed {
		t.Error(text)
	}
	if done := g.task("follow_task", map[string]any{"conversation": runs.Conversation, "after": runs.Seq}); done.Status != "cancelled" {
		t.Errorf("got %+v", done)
	}
}

// TestOnlyWhatWasBegunHere keeps a model that knows an id from a person's conversation.
func TestOnlyWhatWasBegunHere(t *testing.T) {
	g := newGuest(t)
	ref := journal.Ref{Tenant: apitest.Tenant, Conversation: "c1"}
	if _, err := g.server.Log.Append(t.Context(), ref, time.Now(), journal.Opened{By: "ann"}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"c1", "c2"} {
		const why = "that was begun here"
		g.refused("follow_task", why, map[string]any{"conversation": id})
		g.refused("cancel_task", why, map[string]any{"conversation": id})
		g.refused("answer", why, map[string]any{"conversation": id, "question": "q", "text": "red"})
	}
	g.refused("start_task", "message is empty", map[string]any{"message": " ", "workspace": "a"})
	g.refused("start_task", "choose one of a, b", map[string]any{"message": "Look"})
	g.refused("start_task", "choose one of a, b", map[string]any{"message": "Look", "workspace": "c"})
}
