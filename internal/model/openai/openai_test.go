package openai_test

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
	"github.com/retinue-dev/retinue/internal/model/openai"
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

// streams answers with the data of events.
func streams(data ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, d := range data {
			_, _ = io.WriteString(w, "data: "+d+"\n\n")
		}
	}
}

// refuses answers with an error of the provider's.
func refuses(status int, fault string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"error":`+fault+`}`)
	}
}

// said is a chunk with what the reply goes on with.
func said(delta string) string {
	return `{"id":"c1","model":"m-1-20260101","error":null,"choices":[{"index":0,"delta":` + delta + `,"finish_reason":null}]}`
}

// stops is the chunk that says why the reply ends.
func stops(reason string) string {
	return `{"id":"c1","model":"m-1-20260101","choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
}

// used is the chunk with the tokens.
func used(usage string) string { return `{"id":"c1","choices":[],"usage":{` + usage + `}}` }

const (
	hello  = `{"role":"assistant","content":"Hello"}`
	done   = "[DONE]"
	tokens = `"prompt_tokens":10,"completion_tokens":7,"total_tokens":17`
)

func words(s string) []chat.Part { return []chat.Part{{Kind: chat.PartText, Text: s}} }

func asking(s string) model.Request {
	return model.Request{Model: "m-1", Turn: 2, MaxOutput: 4000, Transcript: chat.Transcript{{ID: "u1", Speaker: chat.User, Parts: words(s)}}}
}

// ask sends a request to a provider that answers so.
func ask(t *testing.T, o openai.Options, req model.Request, answer http.HandlerFunc) (*provider, model.Reply, error) {
	t.Helper()
	p := newProvider(t, answer)
	o.BaseURL = p.URL + "/v1"
	c, err := openai.New(o)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := c.Generate(t.Context(), req, nil)
	return p, reply, err
}

// thought is a reply that thinks, speaks and calls twice. Its server sends "error": null with each
// chunk, and says what it thinks in two fields.
var thought = streams(
	said(`{"role":"assistant","content":"","reasoning_content":"Two ","reasoning":"Two "}`),
	said(`{"reasoning_content":"files.","reasoning":"files."}`),
	said(`{"content":"I look."}`),
	said(`{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"read","arguments":"{\"path\":"}}]}`),
	said(`{"tool_calls":[{"index":0,"function":{"arguments":"\"a\"}"}}]}`),
	said(`{"tool_calls":[{"index":1,"id":"call_b","type":"function","function":{"name":"read","arguments":"{\"path\":\"b\"}"}}]}`),
	stops("tool_calls"), used(tokens+`,"prompt_tokens_details":{"cached_tokens":4}`), done)

// TestAReplyIsReadWhole reads a stream with every kind of part.
func TestAReplyIsReadWhole(t *testing.T) {
	t.Parallel()
	_, got, err := ask(t, openai.Options{}, asking("Look."), thought)
	if err != nil {
		t.Fatal(err)
	}
	want := model.Reply{
		Parts: []chat.Part{
			{Kind: chat.PartThinking, Text: "Two files.", Seal: "openai/field:reasoning_content"},
			{Kind: chat.PartText, Text: "I look."},
			{Kind: chat.PartToolUse, Call: "2.0", Tool: "read", Args: `{"path":"a"}`},
			{Kind: chat.PartToolUse, Call: "2.1", Tool: "read", Args: `{"path":"b"}`},
		},
		Stop: model.StopTools, Model: "m-1-20260101", ID: "c1", Usage: chat.Usage{Input: 10, Output: 7, CacheRead: 4},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(model.Reply{}, "First")); diff != "" {
		t.Errorf("the reply (-want +got):\n%s", diff)
	}
}

// TestCallsUnderOneIndexAreTwo reads a server that gives every call the same index.
func TestCallsUnderOneIndexAreTwo(t *testing.T) {
	t.Parallel()
	_, got, err := ask(t, openai.Options{}, asking("Look."), streams(
		said(`{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}}]}`),
		said(`{"tool_calls":[{"index":0,"id":"call_b","type":"function","function":{"name":"read","arguments":"{\"path\":\"b\"}"}}]}`),
		stops("stop"), used(tokens), done))
	want := []chat.Part{
		{Kind: chat.PartToolUse, Call: "2.0", Tool: "read", Args: `{"path":"a"}`},
		{Kind: chat.PartToolUse, Call: "2.1", Tool: "read", Args: `{"path":"b"}`},
	}
	if diff := cmp.Diff(want, got.Parts); err != nil || diff != "" || got.Stop != model.StopTools {
		t.Errorf("%s, %v, the reply (-want +got):\n%s", got.Stop, err, diff)
	}
}

// TestARoundGoesBackAsItCame sends a reply back with the results of its calls: thinking in the
// field that it came in, a result that failed with a mark, an image of a result in a message after
// it.
func TestARoundGoesBackAsItCame(t *testing.T) {
	t.Parallel()
	_, reply, err := ask(t, openai.Options{}, asking("Look."), thought)
	if err != nil {
		t.Fatal(err)
	}
	req := asking("Look.")
	req.Turn = 3
	req.System = []model.Instruction{{Text: "Be brief.", Cache: true}, {Text: "It is noon."}}
	req.Tools = []model.Tool{{Name: "read", Description: "Reads.", Schema: []byte(`{"type":"object","properties":{"b":{},"a":{}}}`)}}
	req.Images = map[string]model.Image{"i1": {MediaType: "image/png", Data: []byte("dots")}}
	req.Transcript = append(req.Transcript,
		chat.Message{ID: "t2", Speaker: chat.Assistant, Parts: reply.Parts},
		chat.Message{ID: "u2", Speaker: chat.User, Parts: []chat.Part{
			{Kind: chat.PartToolResult, Call: "2.0", Text: "no such file", Failed: true},
			{Kind: chat.PartToolResult, Call: "2.1", Text: "a picture"},
			{Kind: chat.PartImage, Call: "2.1", Image: "i1"},
		}})
	p, _, err := ask(t, openai.Options{Key: "sk-test"}, req, streams(said(hello), stops("stop"), used(tokens), done))
	if err != nil {
		t.Fatal(err)
	}
	if p.path != "/v1/chat/completions" || p.header.Get("Authorization") != "Bearer sk-test" {
		t.Errorf("sent to %s with %v", p.path, p.header)
	}
	first, second := model.WireID("2.0"), model.WireID("2.1")
	want := `{"model":"m-1","max_completion_tokens":4000,"stream":true,"stream_options":{"include_usage":true},
		"tools":[{"type":"function","function":{"name":"read","description":"Reads.","parameters":{"type":"object","properties":{"b":{},"a":{}}}}}],
		"messages":[
			{"role":"system","content":"Be brief.\n\nIt is noon."},
			{"role":"user","content":"Look."},
			{"role":"assistant","content":"I look.","reasoning_content":"Two files.","tool_calls":[
				{"id":"` + first + `","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}},
				{"id":"` + second + `","type":"function","function":{"name":"read","arguments":"{\"path\":\"b\"}"}}]},
			{"role":"tool","tool_call_id":"` + first + `","content":"The call failed: no such file"},
			{"role":"tool","tool_call_id":"` + second + `","content":"a picture"},
			{"role":"user","content":[
				{"type":"text","text":"The image that this call returned: ` + second + `"},
				{"type":"image_url","image_url":{"url":"data:image/png;base64,ZG90cw=="}}]}]}`
	if diff := cmp.Diff(parsed(t, []byte(want)), parsed(t, p.body)); diff != "" {
		t.Errorf("the request (-want +got):\n%s", diff)
	}
}

func parsed(t *testing.T, text []byte) (out map[string]any) {
	t.Helper()
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}

// TestThinkingOfARoundThatIsOverStaysHere says something more after a round of calls: servers that
// want to see the thinking of an open round refuse that of an earlier one.
func TestThinkingOfARoundThatIsOverStaysHere(t *testing.T) {
	t.Parallel()
	req := asking("Look.")
	req.Transcript = append(req.Transcript,
		chat.Message{ID: "t1", Speaker: chat.Assistant, Parts: []chat.Part{
			{Kind: chat.PartThinking, Text: "Hm.", Seal: "openai/field:reasoning"}, {Kind: chat.PartText, Text: "Done."},
		}},
		chat.Message{ID: "u2", Speaker: chat.User, Parts: words("And now?")})
	p, _, err := ask(t, openai.Options{}, req, streams(said(hello), stops("stop"), used(tokens), done))
	if err != nil || strings.Contains(string(p.body), "Hm.") {
		t.Errorf("%v, sent %s", err, p.body)
	}
}

// TestSettingsAreSentInTheServersWords asks for each effort, a temperature, and the limit under its
// old name.
func TestSettingsAreSentInTheServersWords(t *testing.T) {
	t.Parallel()
	warm := 0.5
	for effort, want := range map[model.Effort]any{
		"": nil, model.EffortNone: "none", model.EffortLow: "low", model.EffortMedium: "medium", model.EffortHigh: "high",
	} {
		req := asking("Go.")
		req.Effort, req.Temperature = effort, &warm
		p, _, err := ask(t, openai.Options{OldLimit: true}, req, streams(said(hello), stops("stop"), used(tokens), done))
		if err != nil {
			t.Fatal(err)
		}
		sent := parsed(t, p.body)
		if sent["reasoning_effort"] != want || sent["temperature"] != warm || sent["max_tokens"] != 4000. || sent["max_completion_tokens"] != nil {
			t.Errorf("effort %q: sent %s", effort, p.body)
		}
	}
}

// TestTokensAsServersCountThem reads counts in the words of several servers.
func TestTokensAsServersCountThem(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		usage string
		want  chat.Usage
	}{
		"plain":                             {tokens, chat.Usage{Input: 10, Output: 7}},
		"reasoning within the completion":   {tokens + `,"completion_tokens_details":{"reasoning_tokens":5}`, chat.Usage{Input: 10, Output: 7, Reasoning: 5}},
		"reasoning beside the completion":   {`"prompt_tokens":10,"completion_tokens":2,"total_tokens":17,"completion_tokens_details":{"reasoning_tokens":5}`, chat.Usage{Input: 10, Output: 7, Reasoning: 5}},
		"the cache under DeepSeek's name":   {tokens + `,"prompt_cache_hit_tokens":6`, chat.Usage{Input: 10, Output: 7, CacheRead: 6}},
		"the cache as something unheard of": {tokens + `,"prompt_cache_hit_tokens":"six"`, chat.Usage{Input: 10, Output: 7}},
	} {
		_, got, err := ask(t, openai.Options{}, asking("Go."), streams(said(hello), stops("stop"), used(c.usage), done))
		if diff := cmp.Diff(c.want, got.Usage); err != nil || diff != "" || got.Estimated {
			t.Errorf("%s: %v, the tokens (-want +got):\n%s", name, err, diff)
		}
	}
}

// TestWhyItStopped ends replies for every reason that servers know, and one of tomorrow. What the
// model says instead of an answer is part of its refusal.
func TestWhyItStopped(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]model.Stop{
		"stop": model.StopEnd, "tomorrow": model.StopEnd, "length": model.StopMaxTokens, "content_filter": model.StopRefusal,
		"tool_calls": model.StopEnd, // without a call there is none to wait for
	} {
		_, got, err := ask(t, openai.Options{}, asking("Go."), streams(said(hello), stops(reason), used(tokens), done))
		if err != nil || got.Stop != want {
			t.Errorf("%s is %s, %v; want %s", reason, got.Stop, err, want)
		}
	}
	_, got, err := ask(t, openai.Options{}, asking("Go."), streams(said(`{"refusal":"I will not."}`), stops("stop"), used(tokens), done))
	if diff := cmp.Diff(words("I will not."), got.Parts); err != nil || got.Stop != model.StopRefusal || diff != "" {
		t.Errorf("a refusal is %s, %v (-want +got):\n%s", got.Stop, err, diff)
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
	code := func(code, kind string) string {
		return `{"message":"canary","type":"` + kind + `","code":` + code + `}`
	}
	broken := func(fault string) http.HandlerFunc { return streams(said(hello), `{"error":`+fault+`}`) }
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   end
	}{
		"a wrong key":          {refuses(401, code(`"invalid_api_key"`, "invalid_request_error")), end{Kind: chat.KindAuth, Status: 401}},
		"no credit":            {refuses(429, code(`"insufficient_quota"`, "insufficient_quota")), end{Kind: chat.KindAuth, Status: 429}},
		"too many requests":    {refuses(429, code(`"rate_limit_exceeded"`, "tokens"), "Retry-After: 7"), end{Kind: chat.KindRateLimit, Status: 429, After: 7 * time.Second}},
		"milliseconds":         {refuses(429, code(`null`, "requests"), "Retry-After-Ms: 250"), end{Kind: chat.KindRateLimit, Status: 429, After: 250 * time.Millisecond}},
		"a filter":             {refuses(400, code(`"content_policy_violation"`, "invalid_request_error")), end{Kind: chat.KindContentFilter, Status: 400}},
		"a request too long":   {refuses(400, code(`"context_length_exceeded"`, "invalid_request_error")), end{Kind: chat.KindContextExhausted, Status: 400}},
		"a wrong request":      {refuses(400, code(`null`, "invalid_request_error")), end{Kind: chat.KindInvalidRequest, Status: 400}},
		"known by its type":    {refuses(400, code(`400`, "exceed_context_size_error")), end{Kind: chat.KindContextExhausted, Status: 400}},
		"its own fault":        {refuses(500, code(`null`, "server_error")), end{Kind: chat.KindServerError, Status: 500, Unmetered: true}},
		"no JSON":              {refuses(502, `<html>`), end{Kind: chat.KindServerError, Status: 502, Unmetered: true}},
		"a fault in a stream":  {broken(code(`"server_error"`, "")), end{Kind: chat.KindServerError, Status: 200, Unmetered: true}},
		"a status in a stream": {broken(code(`429`, "")), end{Kind: chat.KindRateLimit, Status: 200, Unmetered: true}},
		"a text in a stream":   {broken(`"canary"`), end{Kind: chat.KindServerError, Status: 200, Unmetered: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, reply, err := ask(t, openai.Options{Key: "sk-test"}, asking("Go."), c.answer)
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

// TestOnlyAWholeReplyIsOne breaks streams off. Nothing of them is a reply, unless the provider had
// said why it stopped.
func TestOnlyAWholeReplyIsOne(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		kind   chat.ErrorKind
	}{
		"cut in a text":              {streams(said(hello)), chat.KindNetwork},
		"done without a reason":      {streams(said(hello), done), chat.KindNetwork},
		"a chunk that is no JSON":    {streams(said(hello), `{"choices":[`), chat.KindServerError},
		"cut before the tokens":      {streams(said(hello), stops("stop")), ""},
		"more after the end":         {streams(said(hello), stops("stop"), used(tokens), done, said(hello)), ""},
		"a choice that nobody asked": {streams(said(hello), `{"choices":[{"index":1,"delta":{"content":"Bye"}}]}`, stops("stop"), done), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, reply, err := ask(t, openai.Options{}, asking("Go."), c.answer)
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
	t.Setenv("OPENAI_API_KEY", "sk-environment")
	t.Setenv("OPENAI_ORG_ID", "org-environment")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
	p, _, err := ask(t, openai.Options{}, asking("Go."), streams(said(hello), stops("stop"), used(tokens), done))
	if err != nil {
		t.Fatal(err)
	}
	if p.header.Get("Authorization") != "" || p.header.Get("OpenAI-Organization") != "" {
		t.Errorf("a server of one's own was sent %v", p.header)
	}
}

// TestWhatCannotBeSentIsNotSent names an address that is none, and makes a request that every
// provider would refuse.
func TestWhatCannotBeSentIsNotSent(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"ftp://provider", "provider:80", "http://", "::"} {
		if _, err := openai.New(openai.Options{BaseURL: address}); err == nil {
			t.Errorf("%s is taken for an address", address)
		}
	}
	req := asking("Go.")
	req.Model = ""
	p, _, err := ask(t, openai.Options{}, req, thought)
	if failed, ok := errors.AsType[*model.Error](err); !ok || failed.Kind != chat.KindInvalidRequest || p.body != nil {
		t.Errorf("%v, sent %s", err, p.body)
	}
}
