package api_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/wire"
)

// TestAgentAsItWasSetUp asks for an agent's configuration while its role's files say the same, and
// for one whose role has changed since.
func TestAgentAsItWasSetUp(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path, ref := o.begin(t, "key-begin")
	texts := []string{`{"name":"coder"}`, `{"name":"coder","tools":["shell"]}`}
	if err := o.log.Keep(t.Context(), ref, texts...); err != nil {
		t.Fatal(err)
	}
	want := []wire.AgentConfig{
		{Role: json.RawMessage(texts[0]), Current: true, Origins: map[string]string{"tools": "coder.md:3"}, Source: "coder.md"},
		{Role: json.RawMessage(texts[1])},
		{},
	}
	for i, hash := range []string{journal.HashOf(texts[0]), journal.HashOf(texts[1]), ""} {
		in := journal.In{Agent: "main/1.0." + string(rune('0'+i))}
		in.Task = in.Agent
		o.write(t, ref,
			journal.TaskAssigned{In: in, Parent: "main", Role: "coder", RoleHash: hash, Depth: 1, Instruction: "do\nit", Criteria: "green"},
			journal.TaskEnded{In: in, Status: chat.StatusCompleted, Result: json.RawMessage(`{"a":1}`), Receipt: json.RawMessage(`{"verdict":"verified"}`)})
		var got wire.AgentView
		o.send(t, http.MethodGet, path+"/agents/main~1.0."+string(rune('0'+i)), "", "").into(t, http.StatusOK, &got)
		if diff := cmp.Diff(want[i], got.Config); diff != "" {
			t.Errorf("configuration %d (+) against the wanted (-):\n%s", i, diff)
		}
		task := got.Tasks[0]
		if task.Instruction != "do\nit" || task.Criteria != "green" || string(task.Result) != `{"a":1}` || task.Receipt == nil {
			t.Errorf("the task is not whole: %+v", task)
		}
	}
}

// TestModelCall asks for what a model was sent: the transcript of then, from where it was
// shortened.
func TestModelCall(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path, ref := o.begin(t, "key-begin")
	role := `{"name":"coder","effort":"high","temperature":0.5}`
	if err := o.log.Keep(t.Context(), ref, role, "You code."); err != nil {
		t.Fatal(err)
	}
	in := journal.In{Agent: "main/1.0.0", Task: "main/1.0.0"}
	spoke := func(id string, speaker chat.Speaker, turn int, text string) journal.Row {
		return journal.MessageAdded{In: in, Turn: turn, Message: chat.Message{ID: id, Speaker: speaker, Parts: []chat.Part{{Kind: chat.PartText, Text: text}}}}
	}
	o.write(t, ref,
		journal.TaskAssigned{
			In: in, Parent: "main", Role: "coder", RoleHash: journal.HashOf(role), Depth: 1,
			Brief: json.RawMessage(`{"tools":["shell"],"model":{"max_output":4096}}`),
		},
		spoke("u1", chat.User, 0, "long ago"),
		spoke("c1", chat.User, 0, "notes"),
		spoke("u2", chat.User, 0, "asked"),
		journal.ModelCalled{In: in, Call: "2.1", Type: journal.RequestPrompt, Turn: 2, Attempt: 1, Model: "fast", Prompt: journal.HashOf("You code."), ContextTokens: 9},
	)
	address := path + "/agents/main~1.0.0/model-calls/2.1"
	var got wire.ModelCallView
	o.send(t, http.MethodGet, address, "", "").into(t, http.StatusOK, &got)
	if got.Status != "running" || len(got.Reply) != 0 || got.FinishedAt != nil {
		t.Errorf("a call under way is %+v", got)
	}
	o.write(t, ref,
		journal.ModelReplied{In: in, Call: "2.1", Status: chat.StatusCompleted, Model: "acme/quick", Stop: "end", First: 7, Duration: 30, Usage: chat.Usage{Input: 9, Cost: 2}},
		spoke("t2", chat.Assistant, 2, "answered"),
		spoke("u3", chat.User, 0, "later"))
	o.send(t, http.MethodGet, address, "", "").into(t, http.StatusOK, &got)
	var sent []string
	for _, m := range got.Request.Messages {
		sent = append(sent, m.Parts[0].Text)
	}
	half := 0.5
	want := []any{
		"You code.",
		[]string{"notes", "asked"},
		false,
		[]string{"shell"},
		"high", &half, int64(4096), int64(9),
		"answered", "completed", "acme/quick", int64(7), int64(30), int64(2),
	}
	r := got.Request
	if diff := cmp.Diff(want, []any{
		r.System, sent, r.Earlier, r.Tools, r.Effort, r.Temperature, r.MaxOutput, r.ContextTokens,
		got.Reply[0].Text, got.Status, got.Model, got.First, got.Duration, got.Usage.Cost,
	}); diff != "" {
		t.Errorf("the call (+) against the wanted (-):\n%s", diff)
	}
	for _, wrong := range []string{"/agents/main~1.0.0/model-calls/9.1", "/agents/main/model-calls/2.1", "/agents/main/model-calls/2.1?task=main~1.0.0"} {
		if a := o.send(t, http.MethodGet, path+wrong, "", ""); a.Status != http.StatusNotFound {
			t.Errorf("%s is answered with %d", wrong, a.Status)
		}
	}
}

// TestFiguresOfRoles asks how a role did.
func TestFiguresOfRoles(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	_, ref := o.begin(t, "key-begin")
	for i, status := range []chat.Status{chat.StatusCompleted, chat.StatusCompleted, chat.StatusCompleted, chat.StatusFailed} {
		in := journal.In{Agent: "main/1.0." + string(rune('0'+i))}
		in.Task = in.Agent
		_, err := o.log.Append(t.Context(), ref, time.Now(),
			journal.TaskAssigned{In: in, Parent: "main", Role: "coder", Depth: 1},
			journal.ModelCalled{In: in, Call: "1.1"},
			journal.ModelReplied{In: in, Call: "1.1", Status: chat.StatusCompleted, Usage: chat.Usage{Cost: 10}},
			journal.QuestionAsked{In: in, Question: in.Agent + "#1", Text: "?"}, journal.QuestionAsked{In: in, Question: in.Agent + "#2", Text: "?"},
			journal.TaskEnded{In: in, Status: status})
		if err != nil {
			t.Fatal(err)
		}
	}
	var role wire.Role
	o.send(t, http.MethodGet, "/v1/roles/coder", "", "").into(t, http.StatusOK, &role)
	if diff := cmp.Diff(&wire.RoleFigures{Runs: 4, Succeeded: 0.75, Cost: 10, Questions: 2}, role.Figures); diff != "" {
		t.Errorf("figures (+) against the wanted (-):\n%s", diff)
	}
	if a := o.send(t, http.MethodGet, "/v1/roles/nobody", "", ""); a.Status != http.StatusNotFound {
		t.Errorf("a role that is not there is answered with %d", a.Status)
	}
}
