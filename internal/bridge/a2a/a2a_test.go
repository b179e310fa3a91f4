package a2a_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/bridge"
	"github.com/retinue-dev/retinue/internal/bridge/a2a"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/live"
	"github.com/retinue-dev/retinue/internal/people"
)

var (
	main  = journal.In{Agent: "main", Task: "main"}
	child = journal.In{Agent: "main/1.0.0", Task: "main/1.0.0"}
)

// cast is who talks to people.
type cast struct{}

func (cast) Speakers(context.Context, string) ([]bridge.Speaker, error) {
	return []bridge.Speaker{{Name: "main", Title: "Main", Description: "Talks to people."}, {Name: "coder", Description: "Writes code."}}, nil
}

// writer is a key that may write and not read.
const writer = "rtl_of_a_writer"

// keys knows the writer beside those whom the server knows.
type keys struct{ admission.Authenticator }

// Identify implements admission.Authenticator.
func (k keys) Identify(r *http.Request) (admission.Caller, error) {
	if r.Header.Get("Authorization") != "Bearer "+writer {
		return k.Authenticator.Identify(r)
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+apitest.Token)
	caller, err := k.Authenticator.Identify(r)
	caller.Scopes = []people.Scope{people.ScopeWrite}
	return caller, err
}

// front is a server that speaks A2A, whose orchestrator does what a test says.
type front struct {
	*testing.T
	server *apitest.Server
	bus    *live.Local
	// said are the messages that the orchestrator got.
	said []api.Said
}

// newFront makes one. Answer is what the orchestrator does after each message.
func newFront(t *testing.T, answer func(api.Said) []journal.Row) *front {
	t.Helper()
	f := &front{T: t, bus: live.NewLocal(0)}
	t.Cleanup(f.bus.Close)
	f.server = apitest.Start(t, func(o *api.Options) {
		o.Bus, o.Authenticator = f.bus, keys{o.Authenticator}
		o.Commands = apitest.Played{Commands: apitest.Commands{Log: o.Log}, Bus: f.bus, Answer: func(s api.Said) []journal.Row {
			f.said = append(f.said, s)
			return answer(s)
		}}
	})
	service := bridge.New(bridge.Options{Server: f.server.API, Log: f.server.Log, Bus: f.bus, Cast: cast{}, Poll: 20 * time.Millisecond})
	a2a.Mount(service, a2a.Options{Version: "7"})
	return f
}

func texts(text string) []chat.Part { return []chat.Part{{Kind: chat.PartText, Text: text}} }

// begins has the orchestrator read a message and no more.
func begins(s api.Said) []journal.Row {
	return []journal.Row{
		journal.StatusChanged{In: main, Serial: 1, Status: chat.StatusRunning},
		journal.MessageAdded{In: main, Message: chat.Message{ID: "u" + s.ID, Speaker: chat.User, Parts: texts(s.Text)}},
		journal.ModelCalled{In: main, Call: "1.1", Type: journal.RequestPrompt, Turn: 1, Model: "m"},
	}
}

// answers has it say "Good day." and end its turn.
func answers(s api.Said) []journal.Row {
	return append(begins(s),
		journal.ModelReplied{In: main, Call: "1.1", Status: chat.StatusCompleted, Usage: chat.Usage{Input: 20, Output: 5, Cost: 70}},
		journal.MessageAdded{In: main, Turn: 1, Message: chat.Message{ID: "t1", Speaker: chat.Assistant, Parts: texts("Good day.")}},
		journal.TurnEnded{In: main, Serial: 2, Turn: 1, Status: chat.StatusCompleted})
}

// asks has it hand work to another, who asks a question and for an approval; an answer ends the
// turn.
func asks(s api.Said) []journal.Row {
	if s.InReplyTo != "" {
		return []journal.Row{
			journal.QuestionAnswered{In: main, Question: s.InReplyTo, By: "user", Number: 2},
			journal.ApprovalClosed{In: child, Call: "2.0", Status: "cancelled"},
			journal.StatusChanged{In: main, Serial: 3, Status: chat.StatusRunning},
			journal.MessageAdded{In: main, Turn: 2, Message: chat.Message{ID: "t2", Speaker: chat.Assistant, Parts: texts("Painted.")}},
			journal.TurnEnded{In: main, Serial: 4, Turn: 2, Status: chat.StatusCompleted},
		}
	}
	return append(begins(s),
		journal.TaskAssigned{In: child, Parent: "main", Call: "1.0", Role: "coder", Depth: 1, Instruction: "Paint it"},
		journal.QuestionAsked{In: child, Question: "q", Text: "Which colour?", Options: []string{"red", "green"}},
		journal.QuestionRelayed{In: main, Question: "q"},
		journal.ApprovalRequested{In: child, Call: "2.0", Tool: "shell", Hash: "h", Show: []byte(`{"command":"paint"}`)},
		journal.StatusChanged{In: main, Serial: 2, Status: chat.StatusWaiting, Reason: chat.WaitUserInput})
}

// post sends a request with a token, if there is one.
func (f *front) post(path, token, body string) *http.Response {
	f.Helper()
	req, err := http.NewRequestWithContext(f.Context(), http.MethodPost, f.server.URL+path, strings.NewReader(body))
	if err != nil {
		f.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if path == a2a.Path {
		req.Header.Set("A2A-Version", "1.0")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

// object is JSON as it comes.
type object map[string]any

// at follows names and places into an object; nil if there is nothing.
func (o object) at(path string) any {
	var value any = map[string]any(o)
	for _, step := range strings.Split(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[step]
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// picked are some values of an object.
func (o object) picked(paths ...string) map[string]any {
	out := map[string]any{}
	for _, p := range paths {
		out[p] = o.at(p)
	}
	return out
}

func (f *front) parsed(text []byte) (out object) {
	f.Helper()
	if err := json.Unmarshal(text, &out); err != nil {
		f.Fatalf("%v: %s", err, text)
	}
	return out
}

func request(method, params string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":` + params + `}`
}

// call sends one request of version 1.0 and returns its answer.
func (f *front) call(method, params string) object {
	f.Helper()
	body, err := io.ReadAll(f.post(a2a.Path, apitest.Token, request(method, params)).Body)
	if err != nil {
		f.Fatal(err)
	}
	return f.parsed(body)
}

// says are the parameters of a message: its id, its parts, and more fields of it.
func says(id, parts, more string) string {
	return `{"message":{"messageId":"` + id + `","role":"ROLE_USER","parts":[` + parts + `]` + more + `}}`
}

const hello = `{"text":"Hello"}`

func (f *front) same(what string, want, got map[string]any) {
	f.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		f.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// code is a JSON-RPC error's.
func (o object) code() any { return o.at("error.code") }

// The codes of JSON-RPC and of A2A.
const (
	invalidRequest = -32600.
	invalidParams  = -32602.
	notFound       = -32001.
	notCancelable  = -32002.
	noPush         = -32003.
	unsupported    = -32004.
	contentType    = -32005.
)

// TestAMessageBeginsATask sends a message and the same again. It is one task, with its answer, its
// history and what it took.
func TestAMessageBeginsATask(t *testing.T) {
	f := newFront(t, answers)
	first := f.call("SendMessage", says("m-1", hello, ""))
	f.same("the task", map[string]any{
		"id": 7., "result.task.status.state": "TASK_STATE_COMPLETED", "result.task.artifacts.0.parts.0.text": "Good day.",
		"result.task.history.0.parts.0.text": "Hello", "result.task.metadata.retinue.input_tokens": 20., "result.task.metadata.retinue.cost_micro_usd": 70.,
		"result.task.metadata.retinue.agents.0.role": "main",
	}, first.picked("id", "result.task.status.state", "result.task.artifacts.0.parts.0.text", "result.task.history.0.parts.0.text",
		"result.task.metadata.retinue.input_tokens", "result.task.metadata.retinue.cost_micro_usd", "result.task.metadata.retinue.agents.0.role"))
	again := f.call("SendMessage", says("m-1", hello, ""))
	if diff := cmp.Diff(first, again); diff != "" || len(f.said) != 2 || f.said[0].ID != f.said[1].ID {
		t.Errorf("the orchestrator got %+v, sent again (-first +again):\n%s", f.said, diff)
	}
	id, _ := first.at("result.task.id").(string)
	got := f.call("GetTask", `{"id":"`+id+`","historyLength":0}`)
	f.same("read without its history", map[string]any{"result.status.state": "TASK_STATE_COMPLETED", "result.history": nil},
		got.picked("result.status.state", "result.history"))
}

// TestAContextIsAConversation goes on in the context of a task. Its tasks are listed, the last
// first.
func TestAContextIsAConversation(t *testing.T) {
	f := newFront(t, begins)
	first := f.call("SendMessage", `{"configuration":{"returnImmediately":true},`+says("m-1", hello, "")[1:])
	f.same("while it runs", map[string]any{"result.task.status.state": "TASK_STATE_WORKING"}, first.picked("result.task.status.state"))
	context, _ := first.at("result.task.contextId").(string)
	second := f.call("SendMessage", `{"configuration":{"returnImmediately":true},`+says("m-2", hello, `,"contextId":"`+context+`"`)[1:])
	list := f.call("ListTasks", `{"contextId":"`+context+`","includeArtifacts":true}`)
	f.same("the list", map[string]any{
		"result.totalSize": 2., "result.tasks.0.id": second.at("result.task.id"), "result.tasks.1.id": first.at("result.task.id"),
	}, list.picked("result.totalSize", "result.tasks.0.id", "result.tasks.1.id"))
	list = f.call("ListTasks", `{"contextId":"`+context+`","status":"TASK_STATE_COMPLETED"}`)
	f.same("those that have ended", map[string]any{"result.totalSize": 0.}, list.picked("result.totalSize"))
	if got := f.call("ListTasks", `{}`).code(); got != invalidParams {
		t.Errorf("a list of all contexts: %v", got)
	}
}

// TestATaskAsksAndIsAnswered has a task wait for an answer and an approval. The client reads both
// as words and as data, decides one and answers the other, and the task goes on to its end.
func TestATaskAsksAndIsAnswered(t *testing.T) {
	f := newFront(t, asks)
	task := f.call("SendMessage", says("m-1", `{"text":"Paint it"}`, ""))
	id, _ := task.at("result.task.id").(string)
	words, _ := task.at("result.task.status.message.parts.0.text").(string)
	if !strings.HasPrefix(words, "Which colour?\n- red\n- green") || !strings.Contains(words, "waits for your approval: shell") {
		t.Errorf("asked in these words: %s", words)
	}
	const data = "result.task.status.message.parts."
	approval, _ := task.at(data + "2.data.approval").(string)
	f.same("what waits", map[string]any{
		"result.task.status.state": "TASK_STATE_INPUT_REQUIRED", data + "1.data.kind": "question", data + "1.data.text": "Which colour?",
		data + "2.data.kind": "approval", data + "2.data.hash": "h", data + "2.data.tool": "shell",
	}, task.picked("result.task.status.state", data+"1.data.kind", data+"1.data.text", data+"2.data.kind", data+"2.data.hash", data+"2.data.tool"))
	on := `,"taskId":"` + id + `"`
	wrong := f.call("SendMessage", says("m-2", `{"data":{"approval":"`+approval+`","hash":"another","allow":true,"scope":"once"}}`, on))
	if wrong.code() == nil {
		t.Errorf("a decision on something else: %v", wrong)
	}
	decided := f.call("SendMessage", says("m-3", `{"data":{"approval":"`+approval+`","hash":"h","allow":true,"scope":"once"}}`, on))
	f.same("after the decision", map[string]any{
		"result.task.status.state": "TASK_STATE_INPUT_REQUIRED", data + "1.data.kind": "question", data + "2": nil,
	}, decided.picked("result.task.status.state", data+"1.data.kind", data+"2"))
	done := f.call("SendMessage", says("m-4", `{"text":"green"}`, on))
	f.same("after the answer", map[string]any{
		"result.task.id": id, "result.task.status.state": "TASK_STATE_COMPLETED", "result.task.artifacts.0.parts.0.text": "Painted.",
	}, done.picked("result.task.id", "result.task.status.state", "result.task.artifacts.0.parts.0.text"))
	if last := f.said[len(f.said)-1]; last.InReplyTo != "q" || last.Text != "green" {
		t.Errorf("the orchestrator got %+v", last)
	}
	again := f.call("SendMessage", says("m-4", `{"text":"green"}`, on))
	f.same("the same answer again", map[string]any{"result.task.status.state": "TASK_STATE_COMPLETED"}, again.picked("result.task.status.state"))
	empty := f.call("SendMessage", says("m-6", `{"data":{"colour":"red"}}`, on))
	if text, _ := empty.at("error.message").(string); !strings.Contains(text, "a data part is a decision") {
		t.Errorf("data that is no decision: %v", empty)
	}
	if late := f.call("SendMessage", says("m-5", `{"text":"or red"}`, on)); late.code() != unsupported {
		t.Errorf("a message to a task that has ended: %v", late)
	}
}

// streamed reads the results of a stream, one by one, until its end or until enough says so.
func (f *front) streamed(method, params string, enough func(object) bool) (list []object) {
	f.Helper()
	answer := f.post(a2a.Path, apitest.Token, request(method, params))
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		if data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:")); ok {
			o := f.parsed(data)
			if list = append(list, o); enough(o) {
				return list
			}
		}
	}
	return list
}

func toTheEnd(object) bool { return false }

// TestAStreamTellsATaskToItsEnd streams a task whose orchestrator hands work to another and speaks.
func TestAStreamTellsATaskToItsEnd(t *testing.T) {
	f := newFront(t, func(s api.Said) []journal.Row {
		rows := append(begins(s),
			journal.TaskAssigned{In: child, Parent: "main", Call: "1.0", Role: "coder", Depth: 1, Instruction: "Paint it"},
			journal.TaskEnded{In: child, Status: chat.StatusCompleted, Summary: "Painted."})
		return append(rows, answers(s)[3:]...)
	})
	list := f.streamed("SendStreamingMessage", says("m-1", hello, ""), toTheEnd)
	if len(list) < 4 {
		t.Fatalf("streamed %v", list)
	}
	id := list[0].at("result.task.id")
	var lines, pieces []any
	for _, o := range list[1:] {
		if text := o.at("result.statusUpdate.status.message.parts.0.text"); text != nil {
			lines = append(lines, text)
		}
		if text := o.at("result.artifactUpdate.artifact.parts.0.text"); text != nil {
			pieces = append(pieces, text, o.at("result.artifactUpdate.lastChunk"))
		}
	}
	wantLines := []any{"coder main/1.0.0 is asked: Paint it", "coder main/1.0.0 reports: Painted."}
	if diff := cmp.Diff(wantLines, lines); id == nil || diff != "" {
		t.Errorf("task %v, lines (-want +got):\n%s", id, diff)
	}
	if diff := cmp.Diff([]any{"Good day.", true}, pieces); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	last := list[len(list)-1]
	f.same("the end", map[string]any{"result.statusUpdate.status.state": "TASK_STATE_COMPLETED", "result.statusUpdate.taskId": id},
		last.picked("result.statusUpdate.status.state", "result.statusUpdate.taskId"))
	over := f.streamed("SubscribeToTask", fmt.Sprintf(`{"id":%q}`, id), toTheEnd)
	if len(over) != 1 || over[0].code() != unsupported {
		t.Errorf("a stream of a task that has ended: %v", over)
	}
}

// TestAReaderThatLeavesComesBack leaves a stream, subscribes to the task again, and is told how it
// fails.
func TestAReaderThatLeavesComesBack(t *testing.T) {
	f := newFront(t, begins)
	first := f.streamed("SendStreamingMessage", says("m-1", hello, ""), func(object) bool { return true })
	id, _ := first[0].at("result.task.id").(string)
	conversation, _, _ := strings.Cut(id, ".")
	ref := journal.Ref{Tenant: apitest.Tenant, Conversation: conversation}
	list := f.streamed("SubscribeToTask", `{"id":"`+id+`"}`, func(o object) bool {
		if o.at("result.task.status.state") == "TASK_STATE_WORKING" {
			rows := []journal.Row{
				journal.ModelReplied{In: main, Call: "1.1", Status: chat.StatusFailed, ErrorKind: chat.KindAuth, Message: "no credit"},
				journal.TurnEnded{In: main, Serial: 2, Turn: 1, Status: chat.StatusFailed, ErrorKind: chat.KindAuth},
			}
			if _, err := f.server.Log.Append(t.Context(), ref, time.Now(), rows...); err != nil {
				t.Error(err)
			}
		}
		return false
	})
	last := list[len(list)-1]
	f.same("the end", map[string]any{
		"result.statusUpdate.status.state": "TASK_STATE_FAILED", "result.statusUpdate.metadata.retinue.error_kind": "auth",
		"result.statusUpdate.status.message.parts.0.text": "the run failed (auth): no credit",
	}, last.picked("result.statusUpdate.status.state", "result.statusUpdate.metadata.retinue.error_kind", "result.statusUpdate.status.message.parts.0.text"))
}

// TestATaskIsCancelledOnce cancels a task that runs, and one that has ended.
func TestATaskIsCancelledOnce(t *testing.T) {
	f := newFront(t, begins)
	task := f.call("SendMessage", `{"configuration":{"returnImmediately":true},`+says("m-1", hello, "")[1:])
	id, _ := task.at("result.task.id").(string)
	cancelled := f.call("CancelTask", `{"id":"`+id+`"}`)
	f.same("cancelled", map[string]any{"result.id": id, "result.status.state": "TASK_STATE_CANCELED"}, cancelled.picked("result.id", "result.status.state"))
	if again := f.call("CancelTask", `{"id":"`+id+`"}`); again.code() != notCancelable {
		t.Errorf("again: %v", again)
	}
}

// TestWhatCannotBeDoneIsRefused asks for what there is not. Nothing reaches the orchestrator.
func TestWhatCannotBeDoneIsRefused(t *testing.T) {
	f := newFront(t, answers)
	long := strings.Repeat("m", 201)
	for name, c := range map[string]struct {
		method, params string
		code           float64
	}{
		"a message without parts":   {"SendMessage", says("m-1", "", ""), invalidParams},
		"a message without an id":   {"SendMessage", says("", hello, ""), invalidParams},
		"an id too long":            {"SendMessage", says(long, hello, ""), invalidParams},
		"a file":                    {"SendMessage", says("m-1", `{"url":"http://here/a.png","mediaType":"image/png"}`, ""), contentType},
		"data that is no decision":  {"SendMessage", says("m-1", `{"data":{"colour":"red"}}`, ""), invalidParams},
		"a decision without a task": {"SendMessage", says("m-1", `{"data":{"approval":"a","hash":"h"}}`, ""), invalidParams},
		"a skill that nobody has":   {"SendMessage", says("m-1", hello, `,"metadata":{"skill":"cook"}`), invalidParams},
		"an unknown task":           {"SendMessage", says("m-1", hello, `,"taskId":"a.b"`), notFound},
		"an unknown context":        {"SendMessage", says("m-1", hello, `,"contextId":"elsewhere"`), notFound},
		"a task to read":            {"GetTask", `{"id":"a.b"}`, notFound},
		"a name that is none":       {"GetTask", `{"id":"nothing"}`, notFound},
		"a task to cancel":          {"CancelTask", `{"id":"a.b"}`, notFound},
		"push notifications":        {"GetTaskPushNotificationConfig", `{"taskId":"a.b","id":"1"}`, noPush},
	} {
		if got := f.call(c.method, c.params); got.code() != c.code {
			t.Errorf("%s: %v, want the code %v", name, got, c.code)
		}
	}
	for _, stream := range []string{"SendStreamingMessage", "SubscribeToTask"} {
		params := map[string]string{"SendStreamingMessage": says("m-1", "", ""), "SubscribeToTask": `{"id":"a.b"}`}[stream]
		if list := f.streamed(stream, params, toTheEnd); len(list) != 1 || list[0].code() == nil {
			t.Errorf("%s: %v", stream, list)
		}
	}
	if len(f.said) > 0 {
		t.Errorf("the orchestrator got %+v", f.said)
	}
}

// TestNobodyGetsInWithoutAToken sends requests that the server refuses before it reads what they
// ask.
func TestNobodyGetsInWithoutAToken(t *testing.T) {
	f := newFront(t, answers)
	large := says("m-1", `{"text":"`+strings.Repeat("a", 1<<20)+`"}`, "")
	for name, c := range map[string]struct {
		path, token, body string
		status            int
	}{
		"no token":                {a2a.Path, "", request("SendMessage", says("m-1", hello, "")), http.StatusUnauthorized},
		"a wrong token":           {a2a.Path, "rtl_guess", request("SendMessage", says("m-1", hello, "")), http.StatusUnauthorized},
		"a key that may not read": {a2a.Path, writer, request("SendMessage", says("m-1", hello, "")), http.StatusForbidden},
		"no token, old":           {a2a.PathOld, "", request("message/send", "{}"), http.StatusUnauthorized},
		"a request too big":       {a2a.Path, apitest.Token, request("SendMessage", large), http.StatusRequestEntityTooLarge},
	} {
		if answer := f.post(c.path, c.token, c.body); answer.StatusCode != c.status {
			t.Errorf("%s: %s", name, answer.Status)
		}
	}
	if len(f.said) > 0 {
		t.Errorf("the orchestrator got %+v", f.said)
	}
}

// TestEachVersionReadsItsCard reads the cards of both versions, which everybody may, and sends a
// message as version 0.3 does.
func TestEachVersionReadsItsCard(t *testing.T) {
	f := newFront(t, answers)
	read := func(path string) object {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close() //nolint:errcheck // it is read to its end
		body, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v", path, answer.Status, err)
		}
		return f.parsed(body)
	}
	f.same("the card", map[string]any{
		"name": "Retinue", "version": "7", "supportedInterfaces.0.url": f.server.URL + a2a.Path, "supportedInterfaces.1.url": f.server.URL + a2a.PathOld,
		"skills.0.name": "Main", "skills.1.id": "coder", "skills.1.name": "coder", "capabilities.streaming": true,
	}, read("/.well-known/agent-card.json").picked("name", "version", "supportedInterfaces.0.url", "supportedInterfaces.1.url",
		"skills.0.name", "skills.1.id", "skills.1.name", "capabilities.streaming"))
	old := read(a2a.PathOldCard)
	f.same("the old card", map[string]any{"url": f.server.URL + a2a.PathOld, "protocolVersion": "0.3"}, old.picked("url", "protocolVersion"))
	body, err := io.ReadAll(f.post(a2a.PathOld, apitest.Token, request("message/send",
		`{"message":{"kind":"message","messageId":"m-1","role":"user","parts":[{"kind":"text","text":"Hello"}]}}`)).Body)
	if err != nil {
		t.Fatal(err)
	}
	f.same("an old message", map[string]any{
		"result.kind": "task", "result.status.state": "completed", "result.artifacts.0.parts.0.text": "Good day.",
	}, f.parsed(body).picked("result.kind", "result.status.state", "result.artifacts.0.parts.0.text"))
}
