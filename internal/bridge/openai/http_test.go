package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/api/apitest"
	"github.com/retinue-dev/retinue/internal/bridge"
	"github.com/retinue-dev/retinue/internal/bridge/openai"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
	"github.com/retinue-dev/retinue/internal/live"
)

var main = journal.In{Agent: "main", Task: "main"}

// cast is who talks to people.
type cast struct{}

func (cast) Speakers(context.Context, string) ([]bridge.Speaker, error) {
	return []bridge.Speaker{{Name: "main", Description: "Talks to people."}, {Name: "coder", Description: "Writes code."}}, nil
}

// front is a server with OpenAI's wire, whose orchestrator does what a test says.
type front struct {
	*testing.T
	server *apitest.Server
	// said are the messages that the orchestrator got.
	said []api.Said
}

// newFront makes one. Answer is what the orchestrator does after each message.
func newFront(t *testing.T, answer func(api.Said) []journal.Row) *front {
	t.Helper()
	f, bus := &front{T: t}, live.NewLocal(0)
	t.Cleanup(bus.Close)
	f.server = apitest.Start(t, func(o *api.Options) {
		o.Bus = bus
		o.Commands = apitest.Played{Commands: apitest.Commands{Log: o.Log}, Bus: bus, Answer: func(s api.Said) []journal.Row {
			f.said = append(f.said, s)
			return answer(s)
		}}
	})
	openai.Mount(bridge.New(bridge.Options{Server: f.server.API, Log: f.server.Log, Bus: bus, Cast: cast{}, Poll: 20 * time.Millisecond}))
	return f
}

// answers has the orchestrator say "Good day.", for which its model used some tokens.
func answers() func(api.Said) []journal.Row {
	turn := 0
	return func(s api.Said) []journal.Row {
		turn++
		call := fmt.Sprintf("%d.1", turn)
		return []journal.Row{
			journal.StatusChanged{In: main, Serial: 2*turn - 1, Status: chat.StatusRunning},
			journal.MessageAdded{In: main, Message: chat.Message{ID: "u" + s.ID, Speaker: chat.User, Parts: texts(s.Text)}},
			journal.ModelCalled{In: main, Call: call, Type: journal.RequestPrompt, Turn: turn, Attempt: 1, Model: "m"},
			journal.ModelReplied{In: main, Call: call, Status: chat.StatusCompleted, Usage: chat.Usage{Input: 20, Output: 5, CacheRead: 8, Reasoning: 2, Cost: 70}},
			journal.MessageAdded{In: main, Turn: turn, Message: chat.Message{ID: "t" + strconv.Itoa(turn), Speaker: chat.Assistant, Parts: texts("Good day.")}},
			journal.TurnEnded{In: main, Serial: 2 * turn, Turn: turn, Status: chat.StatusCompleted},
		}
	}
}

// ends has a turn end as a row says.
func ends(row journal.TurnEnded) func(api.Said) []journal.Row {
	return func(s api.Said) []journal.Row {
		row.In, row.Serial, row.Turn = main, 2, 1
		return append(begins(s), row)
	}
}

// begins has the orchestrator read a message and no more.
func begins(s api.Said) []journal.Row {
	return []journal.Row{
		journal.StatusChanged{In: main, Serial: 1, Status: chat.StatusRunning},
		journal.MessageAdded{In: main, Message: chat.Message{ID: "u" + s.ID, Speaker: chat.User, Parts: texts(s.Text)}},
	}
}

func texts(text string) []chat.Part { return []chat.Part{{Kind: chat.PartText, Text: text}} }

// send sends a request as OpenAI's clients do. Headers come in pairs.
func (f *front) send(method, path, body string, headers ...string) (*http.Response, string) {
	f.Helper()
	req, err := http.NewRequestWithContext(f.Context(), method, f.server.URL+path, strings.NewReader(body))
	if err != nil {
		f.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+apitest.Token)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		f.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // it was read to its end
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		f.Fatal(err)
	}
	return resp, string(data)
}

// shape is JSON as maps, without what differs from run to run: ids, times, and our extension, of
// which the status is left.
func (f *front) shape(body string) any {
	f.Helper()
	var value any
	if err := json.Unmarshal([]byte(body), &value); err != nil {
		f.Fatalf("%s: %v", body, err)
	}
	return plain(value)
}

func plain(value any) any {
	object, ok := value.(map[string]any)
	if !ok {
		if list, ok := value.([]any); ok {
			for i := range list {
				list[i] = plain(list[i])
			}
		}
		return value
	}
	for name, field := range object {
		switch name {
		case "id", "item_id", "created", "created_at":
			delete(object, name)
		case "retinue":
			if extension, ok := field.(map[string]any); ok {
				object[name] = extension["status"]
			}
		default:
			object[name] = plain(field)
		}
	}
	return object
}

func (f *front) same(what, want string, got any) {
	f.Helper()
	if diff := cmp.Diff(f.shape(want), got); diff != "" {
		f.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// events are the data of a stream, one by one, with the names that they have.
func events(body string) (names, data []string) {
	for _, frame := range strings.Split(strings.TrimSpace(body), "\n\n") {
		for _, line := range strings.Split(frame, "\n") {
			if name, ok := strings.CutPrefix(line, "event: "); ok {
				names = append(names, name)
			}
			if text, ok := strings.CutPrefix(line, "data: "); ok {
				data = append(data, text)
			}
		}
	}
	return names, data
}

const hello = `{"model": "retinue", "messages": [{"role": "user", "content": "Hello"}]}`

func TestChatCompletion(t *testing.T) {
	f := newFront(t, answers())
	resp, body := f.send(http.MethodPost, "/v1/chat/completions", `{"model": "retinue", "messages": [
		{"role": "system", "content": "Be kind."}, {"role": "user", "content": [{"type": "text", "text": "Hello"}, {"type": "text", "text": "there"}]}]}`)
	if resp.StatusCode != http.StatusOK || resp.Header.Get(openai.ConversationHeader) == "" {
		t.Errorf("%s, conversation %q", resp.Status, resp.Header.Get(openai.ConversationHeader))
	}
	f.same("the answer", `{"object": "chat.completion", "model": "retinue", "retinue": "completed",
		"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Good day."}}],
		"usage": {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25,
			"prompt_tokens_details": {"cached_tokens": 8}, "completion_tokens_details": {"reasoning_tokens": 2}}}`, f.shape(body))
	const want = "Said before, elsewhere:\n\n<earlier>\nsystem: Be kind.\n\n</earlier>\n\nHello\nthere"
	if len(f.said) != 1 || f.said[0].Text != want {
		t.Errorf("the orchestrator is told %+v", f.said)
	}
}

// TestTheSameRequestTwice sends a request again under the same key: it is one message, with one
// answer.
func TestTheSameRequestTwice(t *testing.T) {
	f := newFront(t, answers())
	_, first := f.send(http.MethodPost, "/v1/chat/completions", hello, "Idempotency-Key", "key-12345")
	_, second := f.send(http.MethodPost, "/v1/chat/completions", hello, "Idempotency-Key", "key-12345")
	if first != second {
		t.Errorf("first %s\nthen  %s", first, second)
	}
}

// TestAConversationGoesOn names the conversation of the answer before: only what is new is said
// in it.
func TestAConversationGoesOn(t *testing.T) {
	f := newFront(t, answers())
	resp, _ := f.send(http.MethodPost, "/v1/chat/completions", hello)
	conversation := resp.Header.Get(openai.ConversationHeader)
	const more = `{"model": "retinue", "messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Good day."}, {"role": "user", "content": "And now?"}]}`
	f.send(http.MethodPost, "/v1/chat/completions", more, openai.ConversationHeader, conversation)
	if len(f.said) != 2 || f.said[1].Text != "And now?" {
		t.Errorf("the orchestrator is told %+v", f.said)
	}
	state, err := f.server.Log.Conversations(t.Context(), apitest.Tenant, journal.Page{})
	if err != nil || len(state) != 1 || state[0].ID != conversation {
		t.Errorf("%+v, %v, want the one conversation %s", state, err, conversation)
	}
}

func TestChatStream(t *testing.T) {
	f := newFront(t, answers())
	resp, body := f.send(http.MethodPost, "/v1/chat/completions",
		`{"model": "retinue", "stream": true, "stream_options": {"include_usage": true}, "messages": [{"role": "user", "content": "Hello"}]}`)
	if kind := resp.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("it is %s", kind)
	}
	_, data := events(body)
	if last := data[len(data)-1]; last != "[DONE]" {
		t.Errorf("it ends with %s", last)
	}
	var text string
	var ends []string
	for _, line := range data[:len(data)-1] {
		var piece struct {
			Object  string
			Choices []struct {
				Delta  struct{ Content string }
				Finish string `json:"finish_reason"`
			}
			Usage *struct {
				Total int `json:"total_tokens"`
			}
		}
		if err := json.Unmarshal([]byte(line), &piece); err != nil || piece.Object != "chat.completion.chunk" {
			t.Errorf("%s: %v", line, err)
		}
		for _, c := range piece.Choices {
			text += c.Delta.Content
			if c.Finish != "" {
				ends = append(ends, c.Finish)
			}
		}
		if (piece.Usage != nil) != (len(piece.Choices) == 0) || piece.Usage != nil && piece.Usage.Total != 25 {
			t.Errorf("the usage is in the wrong piece: %s", line)
		}
	}
	if text != "Good day." || !cmp.Equal(ends, []string{"stop"}) {
		t.Errorf("%q ends with %q", text, ends)
	}
}

// TestFailures is how runs that fail end, in OpenAI's shape, as an answer and as a stream.
func TestFailures(t *testing.T) {
	for kind, c := range map[chat.ErrorKind]struct {
		status int
		typed  string
	}{
		chat.KindRateLimit:      {http.StatusTooManyRequests, "rate_limit_error"},
		chat.KindTimedOut:       {http.StatusGatewayTimeout, "server_error"},
		chat.KindContentFilter:  {http.StatusBadRequest, "invalid_request_error"},
		chat.KindBudgetExceeded: {http.StatusPaymentRequired, "invalid_request_error"},
		chat.KindAuth:           {http.StatusBadGateway, "server_error"},
	} {
		f := newFront(t, ends(journal.TurnEnded{Status: chat.StatusFailed, ErrorKind: kind}))
		resp, body := f.send(http.MethodPost, "/v1/chat/completions", hello)
		conversation := resp.Header.Get(openai.ConversationHeader)
		want := `{"error": {"message": "the run failed (` + string(kind) + `); see conversation ` + conversation + `", "type": "` + c.typed + `", "param": null, "code": "` + string(kind) + `"}}`
		f.same(string(kind), want, f.shape(body))
		if again := resp.Header.Get("X-Should-Retry"); resp.StatusCode != c.status || again != "false" {
			t.Errorf("%s: %s, to be tried again: %q", kind, resp.Status, again)
		}
		resp, body = f.send(http.MethodPost, "/v1/chat/completions", strings.Replace(hello, "{", `{"stream": true,`, 1))
		_, data := events(body)
		want = strings.ReplaceAll(want, conversation, resp.Header.Get(openai.ConversationHeader))
		f.same(string(kind)+", streamed", want, f.shape(data[len(data)-1]))
	}
}

// TestWhatCannotBeTaken is refused in OpenAI's shape before anything is said.
func TestWhatCannotBeTaken(t *testing.T) {
	with := func(field string) string { return strings.Replace(hello, "{", "{"+field+",", 1) }
	f := newFront(t, answers())
	for name, c := range map[string]struct {
		path, body, message, code string
		status                    int
		headers                   []string
	}{
		"another model":   {body: strings.Replace(hello, `"retinue"`, `"gpt-9"`, 1), status: 404, code: "model_not_found", message: "there is no model gpt-9; use retinue, or one of GET /v1/models"},
		"another role":    {body: strings.Replace(hello, `"retinue"`, `"retinue/none"`, 1), status: 404, code: "model_not_found", message: "there is no model retinue/none; use retinue, or one of GET /v1/models"},
		"two answers":     {body: with(`"n": 2`), status: 400, code: "invalid", message: "n: there is one answer; leave it out"},
		"logprobs":        {body: with(`"logprobs": true`), status: 400, code: "invalid", message: "logprobs: agents have none; leave it out"},
		"JSON":            {body: with(`"response_format": {"type": "json_object"}`), status: 400, code: "invalid", message: "response_format: answers are text; leave it out, and say in words what you want"},
		"their tools":     {body: with(`"tool_choice": "required"`), status: 400, code: "invalid", message: "tool_choice: the agents use tools of their own and call none of yours; leave it out, or send none or auto"},
		"a picture":       {body: `{"model": "retinue", "messages": [{"role": "user", "content": [{"type": "image_url"}]}]}`, status: 400, code: "invalid", message: "content: a part of type image_url cannot be taken; send text; files belong into the workspace"},
		"nothing":         {body: `{"model": "retinue", "messages": [{"role": "assistant", "content": "I"}]}`, status: 400, code: "invalid", message: "messages: the last one is not the user's, or is empty; end with what the user says"},
		"a short key":     {body: hello, headers: []string{"Idempotency-Key", "short"}, status: 400, code: "invalid", message: "Idempotency-Key: it has less than 8 or more than 200 characters; make a new one for each request"},
		"a tool's result": {path: "/v1/responses", body: `{"model": "retinue", "input": [{"type": "function_call_output"}]}`, status: 400, code: "invalid", message: "input: an item of type function_call_output cannot be taken; send messages"},
		"both at once":    {path: "/v1/responses", body: `{"model": "retinue", "input": "Hello", "background": true, "stream": true}`, status: 400, code: "invalid", message: "background: a streamed response cannot run in the background; leave one of background and stream out"},
	} {
		if c.path == "" {
			c.path = "/v1/chat/completions"
		}
		resp, body := f.send(http.MethodPost, c.path, c.body, c.headers...)
		want, err := json.Marshal(map[string]any{"error": map[string]any{"message": c.message, "type": "invalid_request_error", "param": nil, "code": c.code}})
		if err != nil {
			t.Fatal(err)
		}
		f.same(name, string(want), f.shape(body))
		if resp.StatusCode != c.status {
			t.Errorf("%s: %s", name, resp.Status)
		}
	}
	resp, body := f.send(http.MethodPost, "/v1/chat/completions", hello, "Authorization", "Bearer nobody")
	if resp.StatusCode != http.StatusUnauthorized || !strings.Contains(body, `"type":"authentication_error"`) {
		t.Errorf("without a key: %s %s", resp.Status, body)
	}
	if len(f.said) > 0 {
		t.Errorf("the orchestrator is told %+v", f.said)
	}
}

// TestModels lists the roles that talk to people as models, and finds one by its name.
func TestModels(t *testing.T) {
	f := newFront(t, answers())
	const list = `{"object": "list", "data": [{"object": "model", "owned_by": "retinue", "description": "Talks to people."},
		{"object": "model", "owned_by": "retinue", "description": "Writes code."}]}`
	_, body := f.send(http.MethodGet, "/v1/models", "")
	f.same("the list", list, f.shape(body))
	for name, status := range map[string]int{"retinue": 200, "retinue/main": 200, "retinue/coder": 200, "gpt-9": 404} {
		resp, body := f.send(http.MethodGet, "/v1/models/"+name, "")
		id := strings.TrimSuffix(name, "/main")
		if resp.StatusCode != status || status == 200 && !strings.Contains(body, `"id":"`+id+`"`) {
			t.Errorf("%s: %s %s", name, resp.Status, body)
		}
	}
}
