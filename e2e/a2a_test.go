//go:build services

package e2e

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
)

// bearer adds a token to requests.
type bearer string

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// peer is the protocol's own client, made from the card that the server shows everybody.
func (b bridged) peer(t *testing.T, token string) *a2aclient.Client {
	t.Helper()
	card, err := agentcard.DefaultResolver.Resolve(t.Context(), b.url)
	if err != nil {
		t.Fatal(err)
	}
	c, err := a2aclient.NewFromCard(t.Context(), card, a2aclient.WithJSONRPCTransport(&http.Client{Transport: bearer(token)}))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func message(text string) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))}
}

// sent sends a message and returns the task that it began or continued.
func sent(ctx context.Context, t *testing.T, c *a2aclient.Client, m *a2a.SendMessageRequest) *a2a.Task {
	t.Helper()
	r, err := c.SendMessage(ctx, m)
	if err != nil {
		t.Fatal(err)
	}
	task, ok := r.(*a2a.Task)
	if !ok {
		t.Fatalf("%T is no task", r)
	}
	return task
}

func artifacts(task *a2a.Task) string {
	var out []string
	for _, a := range task.Artifacts {
		for _, p := range a.Parts {
			out = append(out, p.Text())
		}
	}
	return strings.Join(out, "|")
}

// watched is what a stream told.
type watched struct {
	task   *a2a.Task
	texts  map[a2a.ArtifactID]string
	pieces int
	lines  []string
	last   a2a.TaskStatus
}

// watch reads a stream to its end, or as many events as are wanted if that is more than zero.
func watch(t *testing.T, events iter.Seq2[a2a.Event, error], most int) watched {
	t.Helper()
	w, n := watched{texts: map[a2a.ArtifactID]string{}}, 0
	for e, err := range events {
		if err != nil {
			t.Fatal(err)
		}
		switch v := e.(type) {
		case *a2a.Task:
			w.task, w.last = v, v.Status
			for _, a := range v.Artifacts {
				w.texts[a.ID] = a.Parts[0].Text()
			}
		case *a2a.TaskArtifactUpdateEvent:
			w.pieces++
			if !v.Append {
				w.texts[v.Artifact.ID] = ""
			}
			w.texts[v.Artifact.ID] += v.Artifact.Parts[0].Text()
		case *a2a.TaskStatusUpdateEvent:
			w.last = v.Status
			if v.Status.State == a2a.TaskStateWorking && v.Status.Message != nil {
				w.lines = append(w.lines, v.Status.Message.Parts[0].Text())
			}
		}
		if n++; n == most {
			break
		}
	}
	return w
}

func TestBridgeA2A(t *testing.T) {
	for _, on := range stacks(t, sqliteStack, postgresStack) {
		t.Run(on.name, func(t *testing.T) {
			for name, test := range map[string]func(*testing.T, *stack){
				"plain": peerPlain, "fan": peerFan, "question": peerQuestion, "approval": peerApproval, "cancel": peerCancel,
				"resubscribe": peerResubscribe, "refused": peerRefused, "old": peerOld,
			} {
				t.Run(name, func(t *testing.T) { test(t, on) })
			}
		})
	}
}

func peerPlain(t *testing.T, on *stack) {
	b := bridge(t, on, "peer-plain", "", plainModel, nil)
	ctx, c := briefly(t), b.peer(t, adaToken)
	m := message("Why is the sea salty?")
	task := sent(ctx, t, c, m)
	if task.Status.State != a2a.TaskStateCompleted || artifacts(task) != salty || len(task.History) != 1 {
		t.Errorf("task %+v", task)
	}
	if again := sent(ctx, t, c, m); again.ID != task.ID || b.provider.begun("answer") != 1 {
		t.Errorf("the same message began %s and %s", task.ID, again.ID)
	}
	got, err := c.GetTask(ctx, &a2a.GetTaskRequest{ID: task.ID})
	if err != nil || got.Status.State != a2a.TaskStateCompleted || artifacts(got) != salty {
		t.Errorf("read again: %+v, %v", got, err)
	}
	w := watch(t, c.SendStreamingMessage(ctx, message("Why is the sea salty?")), 0)
	t.Logf("%d pieces", w.pieces)
	if w.last.State != a2a.TaskStateCompleted || w.texts["t1"] != salty || w.pieces < 2 {
		t.Errorf("streamed %+v", w)
	}
	next := message("Really?")
	next.Message.ContextID = task.ContextID
	second := sent(ctx, t, c, next)
	if second.ContextID != task.ContextID || second.ID == task.ID || artifacts(second) != "As I said." {
		t.Errorf("went on with %+v", second)
	}
	if got, err := c.GetTask(ctx, &a2a.GetTaskRequest{ID: task.ID}); err != nil || artifacts(got) != salty {
		t.Errorf("an earlier task has become %+v, %v", got, err)
	}
	list, err := c.ListTasks(ctx, &a2a.ListTasksRequest{ContextID: task.ContextID})
	if err != nil || len(list.Tasks) != 2 || list.Tasks[1].ID != task.ID {
		t.Errorf("list %+v, %v", list, err)
	}
}

func peerFan(t *testing.T, on *stack) {
	b := bridge(t, on, "peer-fan", "", fanModel, nil)
	c := b.peer(t, adaToken)
	w := watch(t, c.SendStreamingMessage(briefly(t), message("Look")), 0)
	if w.last.State != a2a.TaskStateCompleted || w.texts["t1"] != "Three will look." || w.texts["t2"] != "All three have looked." {
		t.Errorf("streamed %+v", w)
	}
	reports := 0
	for _, line := range w.lines {
		if strings.Contains(line, "reports: Seen.") {
			reports++
		}
	}
	if reports != 3 || len(w.texts) != 2 {
		t.Errorf("lines %q", w.lines)
	}
}

func peerQuestion(t *testing.T, on *stack) {
	b := bridge(t, on, "peer-question", "", paintModel, nil)
	ctx, c := briefly(t), b.peer(t, adaToken)
	task := sent(ctx, t, c, message("Paint it"))
	if task.Status.State != a2a.TaskStateInputRequired || !strings.HasPrefix(task.Status.Message.Parts[0].Text(), "Which colour") {
		t.Fatalf("task %+v", task)
	}
	answer := message("yellow, please")
	answer.Message.TaskID, answer.Message.ContextID = task.ID, task.ContextID
	done := sent(ctx, t, c, answer)
	if done.ID != task.ID || done.Status.State != a2a.TaskStateCompleted || artifacts(done) != "I send a painter.|Painted in yellow." {
		t.Errorf("answered %+v", done)
	}
	if again := sent(ctx, t, c, answer); again.Status.State != a2a.TaskStateCompleted || artifacts(again) != artifacts(done) {
		t.Errorf("answered again %+v", again)
	}
	late := message("or green")
	late.Message.TaskID = task.ID
	if _, err := c.SendMessage(ctx, late); !errors.Is(err, a2a.ErrUnsupportedOperation) {
		t.Errorf("a message to a task that has ended: %v", err)
	}
}

func peerApproval(t *testing.T, on *stack) {
	b := bridge(t, on, "peer-approval", askToRead, readModel, map[string]string{"a.md": "The first canary.\n"})
	ctx, c := briefly(t), b.peer(t, adaToken)
	for allow, want := range map[bool]string{true: "Read with permission.", false: "I may not."} {
		task := sent(ctx, t, c, message("Read it"))
		if task.Status.State != a2a.TaskStateInputRequired || len(task.Status.Message.Parts) != 2 {
			t.Fatalf("task %+v", task)
		}
		asked, _ := task.Status.Message.Parts[1].Data().(map[string]any)
		if asked["kind"] != "approval" || asked["tool"] != "read_file" {
			t.Fatalf("asked %v", asked)
		}
		decision := &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewDataPart(map[string]any{
			"approval": asked["approval"], "hash": "another", "allow": allow,
		}))}
		decision.Message.TaskID = task.ID
		if _, err := c.SendMessage(ctx, decision); err == nil {
			t.Error("a decision about something else was taken")
		}
		decision.Message = a2a.NewMessage(a2a.MessageRoleUser, a2a.NewDataPart(map[string]any{
			"approval": asked["approval"], "hash": asked["hash"], "allow": allow,
		}))
		decision.Message.TaskID = task.ID
		if done := sent(ctx, t, c, decision); done.Status.State != a2a.TaskStateCompleted || artifacts(done) != want {
			t.Errorf("decided %v: %+v", allow, done)
		}
	}
}

func peerCancel(t *testing.T, on *stack) {
	b := bridge(t, on, "peer-cancel", "", plainModel, nil)
	ctx, c := briefly(t), b.peer(t, adaToken)
	m := message("Think")
	m.Config = &a2a.SendMessageConfig{ReturnImmediately: true}
	task := sent(ctx, t, c, m)
	if s := task.Status.State; s != a2a.TaskStateSubmitted && s != a2a.TaskStateWorking {
		t.Errorf("begun as %+v", task.Status)
	}
	if err := b.until(ctx, func() (bool, error) { return b.provider.begun("slow") > 0, nil }); err != nil {
		t.Fatal(err)
	}
	ended, err := c.CancelTask(ctx, &a2a.CancelTaskRequest{ID: task.ID})
	if err != nil || ended.Status.State != a2a.TaskStateCanceled {
		t.Fatalf("cancelled %+v, %v", ended, err)
	}
	if _, err := c.CancelTask(ctx, &a2a.CancelTaskRequest{ID: task.ID}); !errors.Is(err, a2a.ErrTaskNotCancelable) {
		t.Errorf("cancelled again: %v", err)
	}
}

// slowModel writes for five seconds: as long as another server may take to come up on a busy
// machine.
const slowModel = `
name: slow
rules:
  - {name: answer, when: {role: main}, reply: {chunk: 2, pace: 200ms, text: 'The sea is salty because rivers carry salt into it.'}}
`

// peerResubscribe cuts a stream and continues the task at another server.
func peerResubscribe(t *testing.T, on *stack) {
	b := bridge(t, on, "peer-resubscribe", "", slowModel, nil)
	ctx, c := briefly(t), b.peer(t, adaToken)
	begun := watch(t, c.SendStreamingMessage(ctx, message("Why?")), 4)
	other := b
	if on.name == postgresStack { // with NATS, any node will do
		other.url, _ = front(t, b.stage, b.node)
	}
	rest := watch(t, other.peer(t, adaToken).SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: begun.task.ID}), 0)
	if rest.last.State != a2a.TaskStateCompleted || rest.texts["t1"] != salty {
		t.Errorf("after a cut: %+v", rest)
	}
	for _, err := range c.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: begun.task.ID}) {
		if !errors.Is(err, a2a.ErrUnsupportedOperation) {
			t.Errorf("a task that has ended: %v", err)
		}
	}
	if b.provider.begun("answer") != 1 {
		t.Errorf("%d calls", b.provider.begun("answer"))
	}
}

// peerRefused shows the errors, and whose task is whose.
func peerRefused(t *testing.T, on *stack) {
	b := bridge(t, on, "peer-refused", "", plainModel, nil)
	ctx := briefly(t)
	task := sent(ctx, t, b.peer(t, adaToken), message("Why?"))
	bob := b.peer(t, bobToken)
	for _, id := range []a2a.TaskID{task.ID, "c-unknown.m-unknown", "nothing"} {
		_, get := bob.GetTask(ctx, &a2a.GetTaskRequest{ID: id})
		_, cancel := bob.CancelTask(ctx, &a2a.CancelTaskRequest{ID: id})
		if !errors.Is(get, a2a.ErrTaskNotFound) || !errors.Is(cancel, a2a.ErrTaskNotFound) {
			t.Errorf("%s of somebody else: %v, %v", id, get, cancel)
		}
		m := message("Hello")
		m.Message.TaskID = id
		if _, err := bob.SendMessage(ctx, m); !errors.Is(err, a2a.ErrTaskNotFound) {
			t.Errorf("a message to %s of somebody else: %v", id, err)
		}
		for _, err := range bob.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: id}) {
			if !errors.Is(err, a2a.ErrTaskNotFound) {
				t.Errorf("subscribed to %s of somebody else: %v", id, err)
			}
		}
	}
	foreign := message("Hello")
	foreign.Message.ContextID = task.ContextID
	if _, err := bob.SendMessage(ctx, foreign); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Errorf("a message into a context of somebody else: %v", err)
	}
	for _, token := range []string{"wrong", eveToken, penToken} {
		if _, err := b.peer(t, token).SendMessage(ctx, message("Why?")); err == nil {
			t.Errorf("%s was let in", token)
		}
	}
	file := &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewRawPart([]byte("x")))}
	if _, err := bob.SendMessage(ctx, file); !errors.Is(err, a2a.ErrUnsupportedContentType) {
		t.Errorf("a file: %v", err)
	}
	other := message("Why?")
	other.Message.Metadata = map[string]any{"skill": "general"} // a role that works for others
	if _, err := bob.SendMessage(ctx, other); !errors.Is(err, a2a.ErrInvalidParams) {
		t.Errorf("a skill that is none: %v", err)
	}
	if failed := sent(ctx, t, bob, message("Break")); failed.Status.State != a2a.TaskStateFailed || failed.Status.Message == nil {
		t.Errorf("failed %+v", failed)
	}
}

// peerOld speaks version 0.3.
func peerOld(t *testing.T, on *stack) {
	b := bridge(t, on, "peer-old", "", plainModel, nil)
	ctx := briefly(t)
	resolver := agentcard.Resolver{Client: http.DefaultClient, CardParser: a2av0.NewAgentCardParser()}
	card, err := resolver.Resolve(ctx, b.url, agentcard.WithPath("/.well-known/agent.json"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := a2aclient.NewFromCard(ctx, card, a2aclient.WithDefaultsDisabled(),
		a2av0.WithJSONRPCTransport(a2av0.JSONRPCTransportConfig{Client: &http.Client{Transport: bearer(adaToken)}}))
	if err != nil {
		t.Fatal(err)
	}
	w := watch(t, c.SendStreamingMessage(ctx, message("Why?")), 0)
	if w.last.State != a2a.TaskStateCompleted || w.texts["t1"] != salty {
		t.Errorf("streamed %+v", w)
	}
	if got, err := c.GetTask(ctx, &a2a.GetTaskRequest{ID: w.task.ID}); err != nil || artifacts(got) != salty {
		t.Errorf("read again %+v, %v", got, err)
	}
}
