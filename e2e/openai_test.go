//go:build services

package e2e

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/retinue-dev/retinue/internal/journal"
)

const salty = "The sea is salty because rivers carry salt into it."

const plainModel = `
name: plain
rules:
  - {name: slow, when: {role: main, turn: 0, text: 'Think'}, reply: {delay: 30s, text: 'Never said.'}}
  - {name: late, when: {role: main, turn: 0, text: 'Take your time'}, reply: {delay: 1500ms, text: 'Here it is.'}}
  - {name: long, when: {role: main, turn: 0, text: 'No hurry'}, reply: {delay: 5s, text: 'Here it is.'}}
  - {name: down, when: {role: main, text: 'Break'}, reply: {fault: {name: server_error}}}
  - {name: cut, when: {role: main, text: 'Go on for ever'}, reply: {text: 'And on and', stop: max_tokens}}
  - {name: answer, when: {role: main, turn: 0}, reply: {chunk: 4, pace: 80ms, text: 'The sea is salty because rivers carry salt into it.'}}
  - {name: again, when: {role: main}, reply: {text: 'As I said.'}}
`

// paintModel asks a person through a sub-agent.
const paintModel = `
name: paint
rules:
  - {name: not known, when: {role: main, text: 'has stopped to ask a question'}, reply: {calls: [{tool: relay_to_user, args: {message: 'Your taste.'}}]}}
  - {name: send one, when: {role: main, turn: 0}, reply: {text: 'I send a painter.', calls: [{tool: spawn_agents, args: {tasks: [{role: general, task: 'Paint the canary.'}]}}]}}
  - {name: ask, when: {role: general, turn: 0}, reply: {calls: [{tool: ask_user, args: {question: 'Which colour should it be?', options: [yellow, green]}}]}}
  - {name: report, when: {role: general, turn: 1, result: 'yellow'}, reply: {calls: [{tool: submit_result, args: {summary: 'It is yellow.'}}]}}
  - {name: answer, when: {role: main, turn: 1}, reply: {chunk: 3, text: 'Painted in yellow.'}}
`

// fanModel hands work to three agents at once.
const fanModel = `
name: fan
rules:
  - name: hand out
    when: {role: main, turn: 0}
    reply: {text: 'Three will look.', calls: [{tool: spawn_agents, args: {tasks: [{role: researcher, task: 'Look at one.'}, {role: researcher, task: 'Look at two.'}, {role: researcher, task: 'Look at three.'}]}}]}
  - {name: overview, when: {role: main, turn: 1}, reply: {chunk: 5, text: 'All three have looked.'}}
  - {name: look, when: {role: researcher}, reply: {text: 'canary of a sub-agent', calls: [{tool: submit_result, args: {summary: 'Seen.'}}]}}
`

// readModel reads a file that needs approval.
const readModel = `
name: read
rules:
  - {name: read, when: {role: main, turn: 0}, reply: {calls: [{tool: read_file, args: {path: a.md}}]}}
  - {name: answer, when: {role: main, turn: 1, result: 'first canary'}, reply: {text: 'Read with permission.'}}
  - {name: denied, when: {role: main, turn: 1, result: 'Denied'}, reply: {text: 'I may not.'}}
  - {name: more, when: {role: main}, reply: {text: 'That is all.'}}
`

const askToRead = "permissions: {ask: [read_file]}\n"

// sdk is OpenAI's own client.
func (b bridged) sdk(token string, more ...option.RequestOption) openai.Client {
	return openai.NewClient(append([]option.RequestOption{
		option.WithBaseURL(b.url + "/v1"), option.WithAPIKey(token), option.WithMaxRetries(0),
	}, more...)...)
}

func prompt(texts ...string) openai.ChatCompletionNewParams {
	p := openai.ChatCompletionNewParams{Model: "retinue"}
	for _, text := range texts {
		p.Messages = append(p.Messages, openai.UserMessage(text))
	}
	return p
}

// in continues a conversation.
func in(conversation string) option.RequestOption {
	return option.WithHeader("Retinue-Conversation", conversation)
}

// extra is the extension of an answer.
type extra struct {
	Conversation, Message, Status string
	Pending                       []struct{ Kind, Text, Approval, Hash, Decide, Question string }
	Agents                        []struct{ Role, Status string }
	Event                         *struct{ Type, Role, Text string }
}

func extraOf(t *testing.T, raw string) (out extra) {
	t.Helper()
	var body struct{ Retinue *extra }
	if err := json.Unmarshal([]byte(raw), &body); err != nil {
		t.Fatal(err)
	}
	if body.Retinue == nil {
		return extra{}
	}
	return *body.Retinue
}

// streamed reads a streamed answer with OpenAI's own accumulator.
type streamed struct {
	text, finish  string
	deltas        int
	events, roles map[string]int
	usage         int64
	last          extra
}

func (b bridged) stream(t *testing.T, p openai.ChatCompletionNewParams, more ...option.RequestOption) streamed {
	t.Helper()
	p.StreamOptions.IncludeUsage = openai.Bool(true)
	client := b.sdk(adaToken)
	s := client.Chat.Completions.NewStreaming(briefly(t), p, more...)
	out, whole := streamed{events: map[string]int{}, roles: map[string]int{}}, openai.ChatCompletionAccumulator{}
	for s.Next() {
		c := s.Current()
		if !whole.AddChunk(c) {
			t.Errorf("the client's accumulator refuses %s", c.RawJSON())
		}
		if len(c.Choices) > 0 && c.Choices[0].Delta.Content != "" {
			out.deltas++
		}
		if e := extraOf(t, c.RawJSON()); e.Conversation != "" {
			out.last = e
			if e.Event != nil {
				out.events[e.Event.Type]++
				out.roles[e.Event.Role]++
			}
		}
		if c.Usage.TotalTokens > 0 {
			out.usage = c.Usage.TotalTokens
		}
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	out.text, out.finish = whole.Choices[0].Message.Content, whole.Choices[0].FinishReason
	return out
}

func TestBridgeOpenAI(t *testing.T) {
	for _, on := range stacks(t, sqliteStack, postgresStack) {
		t.Run(on.name, func(t *testing.T) {
			for name, test := range map[string]func(*testing.T, *stack){
				"plain": chatPlain, "fan": chatFan, "question": chatQuestion, "approval": chatApproval, "gone": chatGone, "closing": chatClosing,
				"refused": chatRefused, "keys": chatKeys, "responses": responsesPlain, "asks": responsesAsk, "background": responsesBackground,
			} {
				t.Run(name, func(t *testing.T) { test(t, on) })
			}
		})
	}
}

func chatPlain(t *testing.T, on *stack) {
	b := bridge(t, on, "chat-plain", "", plainModel, nil)
	ctx, client := briefly(t), b.sdk(adaToken)
	whole, err := client.Chat.Completions.New(ctx, prompt("Why is the sea salty?"))
	if err != nil {
		t.Fatal(err)
	}
	if got := whole.Choices[0]; got.Message.Content != salty || got.FinishReason != "stop" {
		t.Errorf("answer %q, finish %q", got.Message.Content, got.FinishReason)
	}
	if u := whole.Usage; u.PromptTokens == 0 || u.CompletionTokens == 0 || u.TotalTokens != u.PromptTokens+u.CompletionTokens {
		t.Errorf("usage %+v", u)
	}
	s := b.stream(t, prompt("Why is the sea salty?"))
	t.Logf("%d deltas", s.deltas)
	if s.text != salty || s.finish != "stop" || s.deltas < 2 || s.usage == 0 || s.last.Status != "completed" {
		t.Errorf("streamed %+v", s)
	}
	if s.last.Conversation == extraOf(t, whole.RawJSON()).Conversation {
		t.Error("two requests without a name share a conversation")
	}
	second, err := client.Chat.Completions.New(ctx, prompt("Really?"), in(s.last.Conversation))
	if err != nil {
		t.Fatal(err)
	}
	if got := extraOf(t, second.RawJSON()); second.Choices[0].Message.Content != "As I said." || got.Conversation != s.last.Conversation {
		t.Errorf("went on with %q in %s", second.Choices[0].Message.Content, got.Conversation)
	}
	chatTold(t, b)
	late, err := client.Chat.Completions.New(ctx, prompt("Take your time"))
	if err != nil || late.Choices[0].Message.Content != "Here it is." {
		t.Errorf("an answer that takes longer than a request may: %v", err)
	}
	if s := b.stream(t, prompt("Take your time")); s.text != "Here it is." {
		t.Errorf("streamed %+v", s)
	}
	cut, err := client.Chat.Completions.New(ctx, prompt("Go on for ever"))
	if err != nil {
		t.Fatal(err)
	}
	if cut.Choices[0].FinishReason != "length" {
		t.Errorf("finish %q of an answer that was cut", cut.Choices[0].FinishReason)
	}
}

// chatTold shows that earlier messages from elsewhere reach the orchestrator once, in one message.
func chatTold(t *testing.T, b bridged) {
	t.Helper()
	client := b.sdk(adaToken)
	p := openai.ChatCompletionNewParams{Model: "retinue", Messages: []openai.ChatCompletionMessageParamUnion{
		openai.SystemMessage("Be brief."), openai.UserMessage("My name is Ida."), openai.AssistantMessage("Hello Ida."),
		openai.UserMessage("What is my name?"),
	}}
	told, err := client.Chat.Completions.New(briefly(t), p)
	if err != nil {
		t.Fatal(err)
	}
	ref := b.ref
	ref.Conversation = extraOf(t, told.RawJSON()).Conversation
	said, err := b.node.Log.Chat(t.Context(), ref, journal.Page{})
	if err != nil {
		t.Fatal(err)
	}
	want := "Said before, elsewhere:\n\n<earlier>\nsystem: Be brief.\n\nuser: My name is Ida.\n\nassistant: Hello Ida.\n\n</earlier>\n\n" +
		"What is my name?"
	if diff := cmp.Diff(want, journal.Words(said[0].Parts)); diff != "" {
		t.Error(diff)
	}
}

func chatFan(t *testing.T, on *stack) {
	b := bridge(t, on, "chat-fan", "", fanModel, nil)
	const want = "Three will look.\n\nAll three have looked."
	client := b.sdk(adaToken)
	whole, err := client.Chat.Completions.New(briefly(t), prompt("Look"))
	if err != nil {
		t.Fatal(err)
	}
	s := b.stream(t, prompt("Look"))
	if whole.Choices[0].Message.Content != want || s.text != want {
		t.Errorf("answers %q and %q", whole.Choices[0].Message.Content, s.text)
	}
	if s.events["agent.spawned"] != 3 || s.events["agent.completed"] != 3 {
		t.Errorf("events %v", s.events)
	}
	if got := extraOf(t, whole.RawJSON()); len(got.Agents) != 4 || got.Agents[1].Role != "researcher" {
		t.Errorf("agents %+v", got.Agents)
	}
	if strings.Contains(s.text, "canary of a sub-agent") {
		t.Error("a sub-agent's text is in the answer")
	}
}

func chatQuestion(t *testing.T, on *stack) {
	b := bridge(t, on, "chat-question", "", paintModel, nil)
	ctx, client := briefly(t), b.sdk(adaToken)
	const asks = "I send a painter.\n\nWhich colour should it be?\n- yellow\n- green"
	first, err := client.Chat.Completions.New(ctx, prompt("Paint it"))
	if err != nil {
		t.Fatal(err)
	}
	waits := extraOf(t, first.RawJSON())
	if first.Choices[0].Message.Content != asks || waits.Status != "waiting" || len(waits.Pending) != 1 {
		t.Fatalf("asked %q, %+v", first.Choices[0].Message.Content, waits)
	}
	second, err := client.Chat.Completions.New(ctx, prompt("yellow, please"), in(waits.Conversation))
	if err != nil {
		t.Fatal(err)
	}
	if got := second.Choices[0].Message.Content; got != "Painted in yellow." || extraOf(t, second.RawJSON()).Status != "completed" {
		t.Errorf("answered %q", got)
	}
	s := b.stream(t, prompt("Paint it"))
	if s.text != asks || s.last.Status != "waiting" {
		t.Errorf("streamed %+v", s)
	}
	if s = b.stream(t, prompt("yellow, please"), in(s.last.Conversation)); s.text != "Painted in yellow." {
		t.Errorf("streamed %+v", s)
	}
}

func chatApproval(t *testing.T, on *stack) {
	b := bridge(t, on, "chat-approval", askToRead, readModel, map[string]string{"a.md": "The first canary.\n"})
	ctx, client := briefly(t), b.sdk(adaToken)
	first, err := client.Chat.Completions.New(ctx, prompt("Read it"))
	if err != nil {
		t.Fatal(err)
	}
	waits := extraOf(t, first.RawJSON())
	text := first.Choices[0].Message.Content
	if waits.Status != "waiting" || len(waits.Pending) != 1 || !strings.Contains(text, "read_file") || !strings.Contains(text, "Decide it") {
		t.Fatalf("asked %q, %+v", text, waits)
	}
	// Words approve nothing.
	second, err := client.Chat.Completions.New(ctx, prompt("yes, I approve"), in(waits.Conversation))
	if err != nil {
		t.Fatal(err)
	}
	if got := extraOf(t, second.RawJSON()); got.Status != "waiting" || len(got.Pending) != 1 {
		t.Fatalf("after words: %q, %+v", second.Choices[0].Message.Content, got)
	}
	decide(t, b, waits.Pending[0].Decide, waits.Pending[0].Hash)
	if err := b.until(ctx, func() (bool, error) {
		r, err := client.Chat.Completions.New(ctx, prompt("And?"), in(waits.Conversation))
		return err == nil && extraOf(t, r.RawJSON()).Status == "completed", err
	}); err != nil {
		t.Fatal(err)
	}
}

// decide allows what waits, where the answer said that it is decided.
func decide(t *testing.T, b bridged, path, hash string) {
	t.Helper()
	body := strings.NewReader(`{"allow": true, "hash": "` + hash + `"}`)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+path, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+adaToken)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", "decide-"+hash)
	res, err := contracted(t, b.url).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if text, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v", res.Status, text, err)
	}
}

// chatGone shows that a client's going stops nothing, unless it wished so.
func chatGone(t *testing.T, on *stack) {
	b := bridge(t, on, "chat-gone", "", plainModel, nil)
	for wish, want := range map[string]bool{"": false, "cancel": true} {
		key := "gone-" + wish + "-" + on.name
		client := b.sdk(adaToken, option.WithHeader("Idempotency-Key", key), option.WithHeader("Retinue-On-Disconnect", wish))
		before := b.provider.begun("slow")
		s := client.Chat.Completions.NewStreaming(briefly(t), prompt("Think"))
		if !s.Next() {
			t.Fatal(s.Err())
		}
		ref := b.ref
		ref.Conversation = extraOf(t, s.Current().RawJSON()).Conversation
		if err := b.until(briefly(t), func() (bool, error) { return b.provider.begun("slow") > before, nil }); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if want {
			if err := b.until(briefly(t), func() (bool, error) { return stopped(t, b, ref), nil }); err != nil {
				t.Errorf("a client that wished to cancel: %v", err)
			}
			continue
		}
		time.Sleep(time.Second)
		if stopped(t, b, ref) {
			t.Error("a run was cancelled because its client went away")
		}
		if err := b.node.Client.Cancel(t.Context(), ref, "x", person, ""); err != nil {
			t.Error(err)
		}
	}
}

func stopped(t *testing.T, b bridged, ref journal.Ref) bool {
	t.Helper()
	entries, err := b.node.Log.Entries(t.Context(), ref, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Row.Kind() == journal.KindTurnEnded {
			return true
		}
	}
	return false
}

// chatRefused shows the shape of errors, and whose conversation is whose.
func chatRefused(t *testing.T, on *stack) {
	b := bridge(t, on, "chat-refused", "", plainModel, nil)
	ctx := briefly(t)
	mine, err := func() (*openai.ChatCompletion, error) {
		client := b.sdk(adaToken)
		return client.Chat.Completions.New(ctx, prompt("Why?"))
	}()
	if err != nil {
		t.Fatal(err)
	}
	conversation := extraOf(t, mine.RawJSON()).Conversation
	other := prompt("Why?")
	other.Model = "gpt-4o"
	forced := prompt("Why?")
	forced.N = openai.Int(2)
	for name, c := range map[string]struct {
		token  string
		params openai.ChatCompletionNewParams
		more   []option.RequestOption
		status int
		kind   string
		code   string
	}{
		"no key":             {"wrong", prompt("Why?"), nil, 401, "authentication_error", "unauthorised"},
		"a viewer":           {eveToken, prompt("Why?"), nil, 403, "permission_error", "forbidden"},
		"a pen":              {penToken, prompt("Why?"), nil, 403, "permission_error", "forbidden"},
		"another model":      {adaToken, other, nil, 404, "invalid_request_error", "model_not_found"},
		"two answers":        {adaToken, forced, nil, 400, "invalid_request_error", "invalid"},
		"nothing said":       {adaToken, prompt(""), nil, 400, "invalid_request_error", "invalid"},
		"an unknown talk":    {bobToken, prompt("Why?"), []option.RequestOption{in("c-unknown")}, 404, "invalid_request_error", "not_found"},
		"a foreign talk":     {bobToken, prompt("Why?"), []option.RequestOption{in(conversation)}, 404, "invalid_request_error", "not_found"},
		"a run that failed":  {adaToken, prompt("Break"), nil, 502, "server_error", "server_error"},
		"a key that is used": {adaToken, prompt("What else?"), []option.RequestOption{in(conversation), option.WithHeader("Idempotency-Key", "refused-"+on.name)}, 409, "invalid_request_error", "conflict"},
	} {
		if c.status == 409 {
			client := b.sdk(c.token)
			if _, err := client.Chat.Completions.New(ctx, prompt("Why?"), c.more...); err != nil {
				t.Fatal(err)
			}
		}
		client := b.sdk(c.token)
		_, err := client.Chat.Completions.New(ctx, c.params, c.more...)
		got, ok := errors.AsType[*openai.Error](err)
		if !ok {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got.StatusCode != c.status || got.Type != c.kind || got.Code != c.code || got.Message == "" {
			t.Errorf("%s: %d %q %q %q", name, got.StatusCode, got.Type, got.Code, got.Message)
		}
	}
	// A stream that has begun ends with the error.
	client := b.sdk(adaToken)
	s := client.Chat.Completions.NewStreaming(ctx, prompt("Break"))
	for s.Next() {
	}
	if s.Err() == nil {
		t.Error("a stream whose run failed ends well")
	}
	// Bob's own are his.
	client = b.sdk(bobToken)
	if his, err := client.Chat.Completions.New(ctx, prompt("Why?")); err != nil || his.Choices[0].Message.Content != salty {
		t.Errorf("another tenant: %v", err)
	}
	list, err := client.Models.List(ctx)
	if err != nil || len(list.Data) == 0 || list.Data[0].ID != "retinue" {
		t.Errorf("models %+v, %v", list, err)
	}
	if one, err := client.Models.Get(ctx, "retinue"); err != nil || one.ID != "retinue" {
		t.Errorf("model %+v, %v", one, err)
	}
}

// chatKeys shows that the same key is the same request.
func chatKeys(t *testing.T, on *stack) {
	b := bridge(t, on, "chat-keys", "", plainModel, nil)
	client := b.sdk(adaToken, option.WithHeader("Idempotency-Key", "twice-"+on.name))
	var ids []string
	for range 3 {
		c, err := client.Chat.Completions.New(briefly(t), prompt("Why?"))
		if err != nil {
			t.Fatal(err)
		}
		if c.Choices[0].Message.Content != salty {
			t.Errorf("answer %q", c.Choices[0].Message.Content)
		}
		ids = append(ids, c.ID)
	}
	if ids[0] != ids[1] || ids[1] != ids[2] || b.provider.begun("answer") != 1 {
		t.Errorf("one key: %v, %d calls", ids, b.provider.begun("answer"))
	}
}

// chatClosing stops a server in the middle of answers. The same key at another server has them.
func chatClosing(t *testing.T, on *stack) {
	b := bridge(t, on, "chat-closing", "", plainModel, nil)
	ctx := briefly(t)
	first, second := make(chan error, 1), make(chan error, 1)
	whole, pieces := option.WithHeader("Idempotency-Key", "whole-"+on.name), option.WithHeader("Idempotency-Key", "pieces-"+on.name)
	go func() {
		client := b.sdk(adaToken)
		_, err := client.Chat.Completions.New(ctx, prompt("No hurry"), whole)
		first <- err
	}()
	go func() {
		client := b.sdk(adaToken)
		s := client.Chat.Completions.NewStreaming(ctx, prompt("No hurry"), pieces)
		for s.Next() {
		}
		second <- s.Err()
	}()
	if err := b.until(ctx, func() (bool, error) { return b.provider.begun("long") == 2, nil }); err != nil {
		t.Fatal(err)
	}
	b.server.Close()
	got, ok := errors.AsType[*openai.Error](<-first)
	if !ok || got.StatusCode != http.StatusServiceUnavailable || got.Response.Header.Get("Retry-After") == "" {
		t.Errorf("an answer that was cut off: %v", got)
	}
	if err := <-second; err == nil {
		t.Error("a stream that was cut off ended well")
	}
	b.url, _ = front(t, b.stage, b.worker)
	client := b.sdk(adaToken)
	again, err := client.Chat.Completions.New(ctx, prompt("No hurry"), whole)
	if err != nil || again.Choices[0].Message.Content != "Here it is." {
		t.Errorf("at another server: %v", err)
	}
	if s := b.stream(t, prompt("No hurry"), pieces); s.text != "Here it is." {
		t.Errorf("streamed at another server: %+v", s)
	}
	if n := b.provider.begun("long"); n != 2 {
		t.Errorf("%d calls of two requests", n)
	}
}
