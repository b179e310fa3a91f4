package anthropic_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/model"
	"github.com/retinue-dev/retinue/internal/model/anthropic"
)

// provider is a server that answers every request alike and keeps what it was sent.
type provider struct {
	*httptest.Server
	header http.Header
	path   string
	body   []byte
}

// newProvider starts one. The answer is literal bytes.
func newProvider(t *testing.T, answer http.HandlerFunc) *provider {
	t.Helper()
	p := &provider{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		p.header, p.path, p.body = r.Header, r.URL.Path, body
		answer(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

// streams answers with events: a type and its data in turn.
func streams(events ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, data := range events {
			var typed struct{ Type string }
			_ = json.Unmarshal([]byte(data), &typed)
			_, _ = io.WriteString(w, "event: "+typed.Type+"\ndata: "+data+"\n\n")
		}
	}
}

// refuses answers with an error of the provider's.
func refuses(status int, kind string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"type":"error","error":{"type":"`+kind+`","message":"canary"}}`)
	}
}

// The events of which most streams are made.
const (
	started   = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m-1-20260101","content":[],"usage":{"input_tokens":10,"cache_read_input_tokens":3,"cache_creation_input_tokens":2,"output_tokens":1}}}`
	textOpens = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	closes    = `{"type":"content_block_stop","index":0}`
	stopped   = `{"type":"message_stop"}`
)

// piece is some of the text of the first block.
func piece(text string) string {
	return `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + text + `"}}`
}

var hello = piece("Hello")

// stops says why the reply ends, and what it took.
func stops(reason string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + reason + `"},"usage":{"output_tokens":7}}`
}

func words(s string) []chat.Part { return []chat.Part{{Kind: chat.PartText, Text: s}} }

func asking(s string) model.Request {
	return model.Request{Model: "m-1", Turn: 2, MaxOutput: 4000, Transcript: chat.Transcript{{ID: "u1", Speaker: chat.User, Parts: words(s)}}}
}

// ask sends a request to a provider that answers so.
func ask(t *testing.T, o anthropic.Options, req model.Request, answer http.HandlerFunc) (*provider, model.Reply, error) {
	t.Helper()
	p := newProvider(t, answer)
	o.BaseURL = p.URL
	c, err := anthropic.New(o)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := c.Generate(t.Context(), req, nil)
	return p, reply, err
}

// thought is a reply that thinks, speaks and calls.
var thought = streams(started,
	`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
	`{"type":"ping"}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Two files."}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}`,
	closes,
	`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"c2VjcmV0"}}`,
	`{"type":"content_block_stop","index":1}`,
	`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}`,
	`{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"I look."}}`,
	`{"type":"content_block_stop","index":2}`,
	`{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_9","name":"read","input":{}}}`,
	`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"path\":"}}`,
	`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"\"a\"}"}}`,
	`{"type":"content_block_stop","index":3}`,
	stops("tool_use"), stopped)

// TestAReplyIsReadWhole reads a stream with every kind of block. Tokens of the caches belong to the
// input.
func TestAReplyIsReadWhole(t *testing.T) {
	t.Parallel()
	_, got, err := ask(t, anthropic.Options{}, asking("Look."), thought)
	if err != nil {
		t.Fatal(err)
	}
	want := model.Reply{
		Parts: []chat.Part{
			{Kind: chat.PartThinking, Text: "Two files.", Seal: "anthropic/signature:c2ln"},
			{Kind: chat.PartThinking, Seal: "anthropic/redacted:c2VjcmV0"},
			{Kind: chat.PartText, Text: "I look."},
			{Kind: chat.PartToolUse, Call: "2.0", Tool: "read", Args: `{"path":"a"}`},
		},
		Stop: model.StopTools, Model: "m-1-20260101", ID: "msg_1",
		Usage: chat.Usage{Input: 15, Output: 7, CacheRead: 3, CacheWrite: 2},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(model.Reply{}, "First")); diff != "" {
		t.Errorf("the reply (-want +got):\n%s", diff)
	}
}

// TestARoundGoesBackAsItCame sends a reply back with the results of its calls: thinking under its
// signature, results first and with their images, the thinking of other providers not at all.
func TestARoundGoesBackAsItCame(t *testing.T) {
	t.Parallel()
	_, reply, err := ask(t, anthropic.Options{}, asking("Look."), thought)
	if err != nil {
		t.Fatal(err)
	}
	req := asking("Look.")
	req.Turn = 3
	req.System = []model.Instruction{{Text: "Be brief.", Cache: true}, {Text: "It is noon."}}
	req.Tools = []model.Tool{{Name: "read", Description: "Reads.", Schema: []byte(`{"type":"object","properties":{"b":{},"a":{}}}`)}}
	req.Images = map[string]model.Image{"i1": {MediaType: "image/png", Data: []byte("dots")}}
	foreign := chat.Part{Kind: chat.PartThinking, Text: "Hm.", Seal: "openai/field:reasoning"}
	req.Transcript = append(req.Transcript,
		chat.Message{ID: "t2", Speaker: chat.Assistant, Parts: append(reply.Parts[:3:3], foreign, reply.Parts[3])},
		chat.Message{ID: "u2", Speaker: chat.User, Parts: []chat.Part{
			{Kind: chat.PartToolResult, Call: "2.0", Text: "no such file", Failed: true},
			{Kind: chat.PartImage, Call: "2.0", Image: "i1"},
			{Kind: chat.PartText, Text: "And?"},
			{Kind: chat.PartImage, Image: "i1"},
		}})
	p, _, err := ask(t, anthropic.Options{Key: "sk-test"}, req, streams(started, textOpens, hello, closes, stops("end_turn"), stopped))
	if err != nil {
		t.Fatal(err)
	}
	if p.path != "/v1/messages" || p.header.Get("X-Api-Key") != "sk-test" || p.header.Get("Anthropic-Version") == "" {
		t.Errorf("sent to %s with %v", p.path, p.header)
	}
	const mark = `"cache_control":{"type":"ephemeral"}`
	const picture = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"ZG90cw=="}`
	want := `{"model":"m-1","max_tokens":4000,"stream":true,
		"system":[{"type":"text","text":"Be brief.",` + mark + `},{"type":"text","text":"It is noon."}],
		"tools":[{"name":"read","description":"Reads.","input_schema":{"type":"object","properties":{"b":{},"a":{}}},` + mark + `}],
		"messages":[
			{"role":"user","content":[{"type":"text","text":"Look.",` + mark + `}]},
			{"role":"assistant","content":[
				{"type":"thinking","thinking":"Two files.","signature":"c2ln"},{"type":"redacted_thinking","data":"c2VjcmV0"},
				{"type":"text","text":"I look."},{"type":"tool_use","id":"` + model.WireID("2.0") + `","name":"read","input":{"path":"a"}}]},
			{"role":"user","content":[
				{"type":"tool_result","tool_use_id":"` + model.WireID("2.0") + `","is_error":true,"content":[{"type":"text","text":"no such file"},` + picture + `}]},
				{"type":"text","text":"And?"},` + picture + `,` + mark + `}]}]}`
	if diff := cmp.Diff(parsed(t, []byte(want)), parsed(t, p.body)); diff != "" {
		t.Errorf("the request (-want +got):\n%s", diff)
	}
}

func parsed(t *testing.T, text []byte) (out any) {
	t.Helper()
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}

// TestHowHardToThink has a model of either kind think, and not think. A budget leaves a quarter of
// the reply to the answer, and no temperature is sent with it.
func TestHowHardToThink(t *testing.T) {
	t.Parallel()
	warm := 0.5
	round := append(asking("Go.").Transcript,
		chat.Message{ID: "t1", Speaker: chat.Assistant, Parts: []chat.Part{{Kind: chat.PartToolUse, Call: "1.0", Tool: "read", Args: `{}`}}},
		chat.Message{ID: "u2", Speaker: chat.User, Parts: []chat.Part{{Kind: chat.PartToolResult, Call: "1.0", Text: "x"}}})
	for name, c := range map[string]struct {
		thinking   anthropic.Thinking
		effort     model.Effort
		most       int64
		transcript chat.Transcript
		want       string // thinking, effort and temperature
	}{
		"it is left to the provider":             {want: `null null 0.5`},
		"none":                                   {effort: model.EffortNone, want: `{"type":"disabled"} null 0.5`},
		"a little":                               {effort: model.EffortLow, most: 40000, want: `{"budget_tokens":2048,"type":"enabled"} null null`},
		"some":                                   {effort: model.EffortMedium, most: 40000, want: `{"budget_tokens":8192,"type":"enabled"} null null`},
		"hard, within the reply":                 {effort: model.EffortHigh, most: 4000, want: `{"budget_tokens":3000,"type":"enabled"} null null`},
		"no room to think":                       {effort: model.EffortHigh, most: 1000, want: `null null 0.5`},
		"a round that began without thinking":    {effort: model.EffortHigh, most: 40000, transcript: round, want: `null null 0.5`},
		"a model that finds out itself how much": {thinking: anthropic.ThinkingAdaptive, effort: model.EffortHigh, want: `{"type":"adaptive"} {"effort":"high"} null`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := asking("Go.")
			req.Effort, req.Temperature = c.effort, &warm
			if c.most > 0 {
				req.MaxOutput = c.most
			}
			if c.transcript != nil {
				req.Transcript = c.transcript
			}
			p, _, err := ask(t, anthropic.Options{Thinking: c.thinking}, req, streams(started, textOpens, hello, closes, stops("end_turn"), stopped))
			if err != nil {
				t.Fatal(err)
			}
			var sent struct {
				Thinking any `json:"thinking"`
				Output   any `json:"output_config"`
				Warm     any `json:"temperature"`
			}
			if err := json.Unmarshal(p.body, &sent); err != nil {
				t.Fatal(err)
			}
			if got := asText(t, sent.Thinking) + " " + asText(t, sent.Output) + " " + asText(t, sent.Warm); got != c.want {
				t.Errorf("sent %s, want %s", got, c.want)
			}
		})
	}
}

func asText(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestWhyItStopped ends replies for every reason that the provider knows, and one of tomorrow.
func TestWhyItStopped(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]model.Stop{
		"end_turn": model.StopEnd, "stop_sequence": model.StopEnd, "pause_turn": model.StopEnd, "tomorrow": model.StopEnd,
		"max_tokens": model.StopMaxTokens, "model_context_window_exceeded": model.StopMaxTokens, "refusal": model.StopRefusal,
		"tool_use": model.StopEnd, // without a call there is none to wait for
	} {
		_, got, err := ask(t, anthropic.Options{}, asking("Go."), streams(started, textOpens, hello, closes, stops(reason), stopped))
		if err != nil || got.Stop != want {
			t.Errorf("%s is %s, %v; want %s", reason, got.Stop, err, want)
		}
	}
}

// TestARefusalHasAKind has the provider refuse in all its ways, before the stream and within it.
// The error says when to come back and whether it may cost something, and nothing that the provider
// wrote.
func TestARefusalHasAKind(t *testing.T) {
	t.Parallel()
	type end struct {
		Kind      chat.ErrorKind
		Status    int
		After     time.Duration
		Unmetered bool
	}
	broken := func(kind string) http.HandlerFunc {
		return streams(started, textOpens, hello, `{"type":"error","error":{"type":"`+kind+`","message":"canary"}}`)
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   end
	}{
		"a wrong key":            {refuses(401, "authentication_error"), end{Kind: chat.KindAuth, Status: 401}},
		"a key without rights":   {refuses(403, "permission_error"), end{Kind: chat.KindAuth, Status: 403}},
		"no credit":              {refuses(400, "billing_error"), end{Kind: chat.KindAuth, Status: 400}},
		"too many requests":      {refuses(429, "rate_limit_error", "Retry-After: 7"), end{Kind: chat.KindRateLimit, Status: 429, After: 7 * time.Second}},
		"overloaded":             {refuses(529, "overloaded_error"), end{Kind: chat.KindServerError, Status: 529}},
		"its own fault":          {refuses(500, "api_error"), end{Kind: chat.KindServerError, Status: 500, Unmetered: true}},
		"a wrong request":        {refuses(400, "invalid_request_error"), end{Kind: chat.KindInvalidRequest, Status: 400}},
		"no such model":          {refuses(404, "not_found_error"), end{Kind: chat.KindInvalidRequest, Status: 404}},
		"a request too long":     {refuses(413, "invalid_request_error"), end{Kind: chat.KindContextExhausted, Status: 413}},
		"a type of tomorrow":     {refuses(429, "tomorrow_error"), end{Kind: chat.KindRateLimit, Status: 429}},
		"overloaded in a stream": {broken("overloaded_error"), end{Kind: chat.KindServerError, Status: 200, Unmetered: true}},
		"tomorrow's in a stream": {broken("tomorrow_error"), end{Kind: chat.KindServerError, Status: 200, Unmetered: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, reply, err := ask(t, anthropic.Options{Key: "sk-test"}, asking("Go."), c.answer)
			failed, ok := errors.AsType[*model.Error](err)
			if !ok {
				t.Fatalf("replied %v, %v", reply, err)
			}
			if diff := cmp.Diff(c.want, end{failed.Kind, failed.Status, failed.RetryAfter, failed.Unmetered}); diff != "" {
				t.Errorf("the end (-want +got):\n%s", diff)
			}
			if strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "sk-test") {
				t.Errorf("the error repeats what it must not: %v", err)
			}
		})
	}
}

// TestOnlyAWholeReplyIsOne breaks streams off, and sends some that make no sense. Nothing of them
// is a reply, unless the provider had said why it stopped.
func TestOnlyAWholeReplyIsOne(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		kind   chat.ErrorKind
	}{
		"cut in a text":               {streams(started, textOpens, hello), chat.KindNetwork},
		"cut before the reason":       {streams(started, textOpens, hello, closes), chat.KindNetwork},
		"an end without a reason":     {streams(started, textOpens, hello, closes, stopped), chat.KindServerError},
		"content outside a block":     {streams(started, hello, stops("end_turn"), stopped), chat.KindServerError},
		"content of a closed block":   {streams(started, textOpens, closes, hello, stops("end_turn"), stopped), chat.KindServerError},
		"content of another kind":     {streams(started, textOpens, `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{"}}`), chat.KindServerError},
		"cut after the reason":        {streams(started, textOpens, hello, closes, stops("end_turn")), ""},
		"more after the end":          {streams(started, textOpens, hello, closes, stops("end_turn"), stopped, textOpens, hello), ""},
		"a block that is begun twice": {streams(started, textOpens, piece("Hel"), textOpens, piece("lo"), closes, stops("end_turn"), stopped), ""},
		"a block of an unknown kind": {streams(started, textOpens, hello, closes,
			`{"type":"content_block_start","index":1,"content_block":{"type":"tomorrow"}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"tomorrow_delta"}}`, stops("end_turn"), stopped), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, reply, err := ask(t, anthropic.Options{}, asking("Go."), c.answer)
			if c.kind == "" {
				if diff := cmp.Diff(words("Hello"), reply.Parts); err != nil || diff != "" {
					t.Errorf("%v, the reply (-want +got):\n%s", err, diff)
				}
				return
			}
			if failed, ok := errors.AsType[*model.Error](err); !ok || failed.Kind != c.kind || !failed.Unmetered {
				t.Errorf("replied %v, %+v; want %s, which may have cost something", reply.Parts, err, c.kind)
			}
		})
	}
}

// TestNothingIsReadFromTheEnvironment has a key and an address there that must not be used.
func TestNothingIsReadFromTheEnvironment(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-environment")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "token-environment")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	p, _, err := ask(t, anthropic.Options{}, asking("Go."), streams(started, textOpens, hello, closes, stops("end_turn"), stopped))
	if err != nil {
		t.Fatal(err)
	}
	if p.header.Get("X-Api-Key") != "" || p.header.Get("Authorization") != "" {
		t.Errorf("a server of one's own was sent %v", p.header)
	}
}

// TestWhatCannotBeSentIsNotSent names an address that is none, and makes a request that every
// provider would refuse.
func TestWhatCannotBeSentIsNotSent(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"ftp://provider", "provider:80", "http://", "::"} {
		if _, err := anthropic.New(anthropic.Options{BaseURL: address}); err == nil {
			t.Errorf("%s is taken for an address", address)
		}
	}
	req := asking("Go.")
	req.Model = ""
	p, _, err := ask(t, anthropic.Options{}, req, thought)
	if failed, ok := errors.AsType[*model.Error](err); !ok || failed.Kind != chat.KindInvalidRequest || p.body != nil {
		t.Errorf("%v, sent %s", err, p.body)
	}
}
