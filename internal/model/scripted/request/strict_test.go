package request_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/model/scripted/request"
)

const (
	use    = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}`
	result = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"ok"}]}`
	ask0   = `{"role":"user","content":"hi"}`
	answ   = `{"role":"assistant","content":"yes"}`
)

// says is an Anthropic request with these messages.
func says(messages ...string) string {
	return `{"model":"m","max_tokens":2000,"messages":[` + strings.Join(messages, ",") + `]}`
}

// with is an Anthropic request with these fields beside a plain message.
func with(fields string) string {
	return `{"model":"m",` + fields + `,"messages":[` + ask0 + `]}`
}

// refusals are requests by name, and some words of why they are refused.
type refusals map[string]struct{ body, words string }

// reader is one of the two functions that read a request.
type reader func(body []byte, how request.Reading) (*request.Request, error)

// read has each request refused with its words, and status 400.
func (all refusals) read(t *testing.T, read reader) {
	t.Helper()
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			got, err := read([]byte(c.body), request.Reading{})
			refusal, ok := errors.AsType[*request.Refusal](err)
			if !ok || refusal.Status != http.StatusBadRequest || !strings.Contains(refusal.Message, c.words) {
				t.Errorf("read %+v, %+v; want a refusal with %q", got, err, c.words)
			}
		})
	}
}

// taken reads a request that is right.
func taken(t *testing.T, read reader, body string) *request.Request {
	t.Helper()
	got, err := read([]byte(body), request.Reading{})
	if err != nil {
		t.Fatalf("refused: %v", err)
	}
	return got
}

// think is a message of the assistant that begins with thinking.
func think(text, signature string) string {
	return fmt.Sprintf(`{"role":"assistant","content":[{"type":"thinking","thinking":%q%s},`+
		`{"type":"text","text":"x"}]}`, text, signature)
}

func TestAnthropicRefusesSettings(t *testing.T) {
	tool := func(name string) string { return `{"name":"` + name + `","input_schema":{"type":"object"}}` }
	refusals{
		"not JSON":               {`{"model":`, "not valid JSON"},
		"unknown field":          {with(`"max_tokens":1,"fancy":true`), "fancy: Extra inputs"},
		"no model":               {`{"max_tokens":1,"messages":[` + ask0 + `]}`, "model: Field required"},
		"no max_tokens":          {with(`"system":"x"`), "max_tokens: Field required"},
		"max_tokens 0":           {with(`"max_tokens":0`), "max_tokens"},
		"empty system block":     {with(`"max_tokens":1,"system":[{"type":"text","text":""}]`), "system: text"},
		"bad tool name":          {with(`"max_tokens":1,"tools":[` + tool("a b") + `]`), "should match pattern"},
		"long tool name":         {with(`"max_tokens":1,"tools":[` + tool(strings.Repeat("a", 129)) + `]`), "should match pattern"},
		"duplicate tools":        {with(`"max_tokens":1,"tools":[` + tool("a") + `,` + tool("a") + `]`), "must be unique"},
		"schema no object":       {with(`"max_tokens":1,"tools":[{"name":"a","input_schema":{"type":"string"}}]`), "'object'"},
		"no schema":              {with(`"max_tokens":1,"tools":[{"name":"a"}]`), "'object'"},
		"choice of no tool":      {with(`"max_tokens":1,"tools":[` + tool("a") + `],"tool_choice":{"type":"tool","name":"b"}`), "'b' not found"},
		"choice without tools":   {with(`"max_tokens":1,"tool_choice":{"type":"auto"}`), "while providing tools"},
		"unknown choice":         {with(`"max_tokens":1,"tools":[` + tool("a") + `],"tool_choice":{"type":"maybe"}`), "Input tag 'maybe'"},
		"small thinking budget":  {with(`"max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":1023}`), "1024"},
		"no thinking budget":     {with(`"max_tokens":2000,"thinking":{"type":"enabled"}`), "Field required"},
		"budget over max_tokens": {with(`"max_tokens":1024,"thinking":{"type":"enabled","budget_tokens":1024}`), "must be greater"},
		"unknown thinking":       {with(`"max_tokens":1024,"thinking":{"type":"hard"}`), "Input tag 'hard'"},
		"thinking and temperature": {
			with(`"max_tokens":2000,"temperature":0.5,"thinking":{"type":"enabled","budget_tokens":1024}`), "temperature",
		},
	}.read(t, request.ReadAnthropic)
}

func TestAnthropicRefusesTranscripts(t *testing.T) {
	five := strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"x","cache_control":{"type":"ephemeral"}},`, 5), ",")
	refusals{
		"no messages":             {says(), "at least one message"},
		"assistant first":         {says(answ, ask0), "first message must use"},
		"unknown role":            {says(`{"role":"system","content":"x"}`), "Unexpected role"},
		"two users in a row":      {says(ask0, ask0), "roles must alternate"},
		"two assistants in a row": {says(ask0, answ, answ, ask0), "roles must alternate"},
		"assistant last":          {says(ask0, answ), "must end with a user message"},
		"empty content":           {says(`{"role":"user","content":[]}`), "non-empty content"},
		"empty string":            {says(`{"role":"user","content":""}`), "must be non-empty"},
		"empty text block":        {says(`{"role":"user","content":[{"type":"text","text":""}]}`), "must be non-empty"},
		"whitespace only":         {says(`{"role":"user","content":" \n"}`), "non-whitespace"},
		"unknown block":           {says(`{"role":"user","content":[{"type":"video"}]}`), "Input tag 'video'"},
		"image of the assistant":  {says(ask0, `{"role":"assistant","content":[{"type":"image","source":{}}]}`, ask0), "can only be"},
		"image without source":    {says(`{"role":"user","content":[{"type":"image"}]}`), "source: Field required"},
		"image of no type":        {says(`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"text/html","data":"eA=="}}]}`), "media_type"},
		"image in a result": {says(ask0, use, `{"role":"user","content":[
			{"type":"tool_result","tool_use_id":"a","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"?"}}]}]}`), "invalid base64"},
		"orphaned tool_use":            {says(ask0, use, ask0), "without `tool_result`"},
		"orphaned tool_use at the end": {says(ask0, use), "without `tool_result`"},
		"unknown tool_result": {says(ask0, use, `{"role":"user","content":[
			{"type":"tool_result","tool_use_id":"a","content":"ok"},
			{"type":"tool_result","tool_use_id":"b","content":"ok"}]}`), "unexpected `tool_use_id`"},
		"tool_result to nothing": {says(result), "unexpected `tool_use_id`"},
		"tool_result too late":   {says(ask0, use, result, answ, result), "unexpected `tool_use_id`"},
		"duplicate tool_result": {says(ask0, use, `{"role":"user","content":[
			{"type":"tool_result","tool_use_id":"a","content":"ok"},
			{"type":"tool_result","tool_use_id":"a","content":"ok"}]}`), "single result"},
		"tool_result not first": {says(ask0, use, `{"role":"user","content":[{"type":"text","text":"x"},
			{"type":"tool_result","tool_use_id":"a","content":"ok"}]}`), "must come before"},
		"unknown block in a result": {says(ask0, use, `{"role":"user","content":[
			{"type":"tool_result","tool_use_id":"a","content":[{"type":"tool_use"}]}]}`), "Input tag 'tool_use'"},
		"duplicate tool_use": {says(ask0, `{"role":"assistant","content":[
			{"type":"tool_use","id":"a","name":"f","input":{}},
			{"type":"tool_use","id":"a","name":"f","input":{}}]}`, result), "ids must be unique"},
		"tool_use id used before":    {says(ask0, use, result, use, result), "ids must be unique"},
		"empty tool_use id":          {says(ask0, strings.Replace(use, `"a"`, `""`, 1), result), "tool_use.id"},
		"bad tool_use id":            {says(ask0, strings.Replace(use, `"a"`, `"a.b"`, 1), result), "tool_use.id"},
		"bad tool_use name":          {says(ask0, strings.Replace(use, `"f"`, `"f f"`, 1), result), "tool_use.name"},
		"arguments no object":        {says(ask0, strings.Replace(use, `{}`, `[]`, 1), result), "valid dictionary"},
		"five cache markers":         {says(`{"role":"user","content":[` + five + `]}`), "maximum of 4"},
		"thinking without signature": {says(ask0, think("hm", ""), ask0), "signature: Field required"},
		"thinking changed": {
			says(ask0, think("hm!", fmt.Sprintf(`,"signature":%q`, request.Seal("hm"))), ask0), "Invalid `signature`",
		},
		"thinking of the user": {says(`{"role":"user","content":[{"type":"thinking","thinking":"x"}]}`), "can only be"},
	}.read(t, request.ReadAnthropic)
	t.Run("what is right is taken", func(t *testing.T) {
		taken(t, request.ReadAnthropic, says(ask0, think("hm", fmt.Sprintf(`,"signature":%q`, request.Seal("hm"))), ask0, use, result))
	})
}

func openaiSays(messages ...string) string {
	return `{"model":"m","messages":[` + strings.Join(messages, ",") + `]}`
}

func TestOpenAIRefuses(t *testing.T) {
	calls := func(ids ...string) string {
		var out []string
		for _, id := range ids {
			out = append(out, `{"id":"`+id+`","type":"function","function":{"name":"f","arguments":"{}"}}`)
		}
		return `{"role":"assistant","tool_calls":[` + strings.Join(out, ",") + `]}`
	}
	done := func(id string) string { return `{"role":"tool","tool_call_id":"` + id + `","content":"ok"}` }
	tool := func(name, schema string) string {
		return `{"type":"function","function":{"name":"` + name + `","parameters":` + schema + `}}`
	}
	object := `{"type":"object"}`
	refusals{
		"not JSON":                {`{"model":`, "could not parse"},
		"unknown field":           {with(`"fancy":1`), "Unrecognized request argument supplied: fancy"},
		"no model":                {`{"messages":[` + ask0 + `]}`, "model"},
		"no messages":             {openaiSays(), "empty array"},
		"max_tokens 0":            {with(`"max_tokens":0`), "below minimum"},
		"max_completion_tokens 0": {with(`"max_completion_tokens":0`), "below minimum"},
		"both maxima":             {with(`"max_tokens":1,"max_completion_tokens":1`), "at the same time"},
		"stream_options alone":    {with(`"stream_options":{"include_usage":true}`), "only allowed when 'stream'"},
		"unknown role":            {openaiSays(`{"role":"robot","content":"x"}`), "Invalid value: 'robot'"},
		"null content":            {openaiSays(`{"role":"user","content":null}`), "got null"},
		"empty content":           {openaiSays(`{"role":"user","content":""}`), "empty text"},
		"empty list":              {openaiSays(`{"role":"user","content":[]}`), "got null"},
		"empty assistant":         {openaiSays(ask0, `{"role":"assistant"}`, ask0), "got null"},
		"whitespace only":         {openaiSays(`{"role":"user","content":"  "}`), "empty text"},
		"image without address":   {openaiSays(`{"role":"user","content":[{"type":"image_url","image_url":{}}]}`), "image_url.url"},
		"image in bad base64":     {openaiSays(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,?"}}]}`), "Expected a base64"},
		"unknown block":           {openaiSays(`{"role":"user","content":[{"type":"video"}]}`), "Invalid value: 'video'"},
		"two users in a row":      {openaiSays(ask0, ask0), "in a row"},
		"two assistants in a row": {openaiSays(ask0, answ, answ, ask0), "in a row"},
		"assistant last":          {openaiSays(ask0, answ), "last message"},
		"orphaned call":           {openaiSays(ask0, calls("a"), ask0), "did not have response messages: a"},
		"orphaned call at end":    {openaiSays(ask0, calls("a")), "did not have response messages: a"},
		"half answered":           {openaiSays(ask0, calls("a", "b"), done("b"), ask0), "did not have response messages: a"},
		"result to nothing":       {openaiSays(ask0, done("a")), "must be a response"},
		"unknown result":          {openaiSays(ask0, calls("a"), done("b")), "must be a response"},
		"duplicate result":        {openaiSays(ask0, calls("a"), done("a"), done("a")), "must be a response"},
		"result without id":       {openaiSays(ask0, calls("a"), `{"role":"tool","content":"ok"}`), "Missing parameter 'tool_call_id'"},
		"duplicate ids":           {openaiSays(ask0, calls("a", "a"), done("a"), done("a")), "Duplicate value"},
		"id used before":          {openaiSays(ask0, calls("a"), done("a"), calls("a"), done("a")), "Duplicate value"},
		"empty id":                {openaiSays(ask0, calls(""), done("a")), "Missing required parameter"},
		"id of 41 characters":     {openaiSays(ask0, calls(strings.Repeat("a", 41)), done("a")), "maximum length 40"},
		"bad name of a call":      {openaiSays(ask0, strings.Replace(calls("a"), `"f"`, `"f f"`, 1), done("a")), "does not match pattern"},
		"call of no function":     {openaiSays(ask0, strings.Replace(calls("a"), `"function","f`, `"magic","f`, 1), done("a")), "Invalid value: 'magic'"},
		"bad tool name":           {with(`"tools":[` + tool("a b", object) + `]`), "does not match pattern"},
		"long tool name":          {with(`"tools":[` + tool(strings.Repeat("a", 65), object) + `]`), "does not match pattern"},
		"duplicate tools":         {with(`"tools":[` + tool("a", object) + `,` + tool("a", object) + `]`), "must be unique"},
		"schema no object":        {with(`"tools":[` + tool("a", `{"type":"array"}`) + `]`), "Invalid schema"},
		"tool of no function":     {with(`"tools":[{"type":"magic"}]`), "Invalid value: 'magic'"},
		"choice without tools":    {with(`"tool_choice":"auto"`), "only allowed when 'tools'"},
		"unknown choice":          {with(`"tools":[` + tool("a", object) + `],"tool_choice":"maybe"`), "Invalid value: 'maybe'"},
		"choice of no tool": {
			with(`"tools":[` + tool("a", object) + `],"tool_choice":{"type":"function","function":{"name":"b"}}`), "'b' not found",
		},
	}.read(t, request.ReadOpenAI)
	t.Run("what is right is taken", func(t *testing.T) {
		taken(t, request.ReadOpenAI, openaiSays(`{"role":"system","content":"x"}`, ask0, calls("a", strings.Repeat("b", 40)), done("a"),
			done(strings.Repeat("b", 40)), ask0, answ, ask0))
	})
}

// TestBothWiresSayTheSame reads one conversation over either wire: the role and the tools, the last
// words, the results and pictures after the last reply, and how the answer is to be sent.
func TestBothWiresSayTheSame(t *testing.T) {
	want := &request.Request{
		Model: "m", System: "You plan.\nrole: planner", Role: "planner", Turn: 2, Text: "And this?", Results: []string{"one"},
		Pictures: []string{"dots"}, Tools: []string{"look"}, Stream: true, Counted: true, Most: 50,
	}
	anthropic := taken(t, request.ReadAnthropic, `{"model":"m","max_tokens":50,"stream":true,"system":[
		{"type":"text","text":"You plan."},{"type":"text","text":"role: planner"}],
		"tools":[{"name":"look","input_schema":{"type":"object"}}],"messages":[`+strings.Join([]string{
		ask0, strings.Replace(use, `"a"`, `"z"`, 1), strings.NewReplacer(`"a"`, `"z"`, "ok", "zero").Replace(result),
		strings.Replace(use, `"f"`, `"look"`, 1), `{"role":"user","content":[
			{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"one"},
				{"type":"image","source":{"type":"base64","media_type":"image/png","data":"ZG90cw=="}}]},
			{"type":"text","text":"And this?"}]}`,
	}, ",")+`]}`)
	openai := taken(t, request.ReadOpenAI, `{"model":"m","max_completion_tokens":50,"stream":true,"stream_options":{"include_usage":true},
		"tools":[{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}],"messages":[`+strings.Join([]string{
		`{"role":"system","content":"You plan."}`, `{"role":"developer","content":"role: planner"}`, ask0,
		`{"role":"assistant","tool_calls":[{"id":"z","type":"function","function":{"name":"look","arguments":"{}"}}]}`,
		`{"role":"tool","tool_call_id":"z","content":"zero"}`,
		`{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{}"}}]}`,
		`{"role":"tool","tool_call_id":"a","content":"one"}`,
		`{"role":"user","content":[{"type":"text","text":"And this?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,ZG90cw=="}}]}`,
	}, ",")+`]}`)
	for provider, got := range map[request.Provider]*request.Request{request.Anthropic: anthropic, request.OpenAI: openai} {
		if got.Provider != provider || got.Input < 1 {
			t.Errorf("read as %s with %d tokens", got.Provider, got.Input)
		}
		got.Provider, got.Input = "", 0
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", provider, diff)
		}
	}
}

// TestThinkingIsShownToWhoAsked reads requests that have the model think, and not.
func TestThinkingIsShownToWhoAsked(t *testing.T) {
	for thinking, want := range map[string]bool{
		`"max_tokens":2000`: false, `"max_tokens":2000,"thinking":{"type":"disabled"}`: false, `"max_tokens":2000,"thinking":{"type":"adaptive"}`: true,
		`"max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":1024}`: true,
	} {
		if got := taken(t, request.ReadAnthropic, with(thinking)); got.Thinking != want {
			t.Errorf("%s shows it: %t", thinking, got.Thinking)
		}
	}
}

// TestALongerRequestCountsMore asks for the size of requests. Such a question needs no max_tokens.
func TestALongerRequestCountsMore(t *testing.T) {
	var last int64
	for _, text := range []string{"a", strings.Repeat("a", 40), strings.Repeat("a", 400)} {
		got, err := request.ReadAnthropic([]byte(`{"model":"m","messages":[{"role":"user","content":"`+text+`"}]}`), request.Reading{Counting: true})
		if err != nil || got.Input <= last || got.Input != request.Tokens(len(text)) {
			t.Errorf("%d bytes: %+v, %v", len(text), got, err)
			continue
		}
		last = got.Input
	}
}

// TestALaxReaderTakesWhatItUnderstands reads what the strict one refuses, but nothing that is no
// JSON.
func TestALaxReaderTakesWhatItUnderstands(t *testing.T) {
	lax := request.Reading{Lax: true}
	for body, read := range map[string]reader{
		says(answ, use): request.ReadAnthropic, openaiSays(ask0, ask0, `{"role":"tool","content":"x"}`): request.ReadOpenAI,
	} {
		if _, err := read([]byte(body), request.Reading{}); err == nil {
			t.Errorf("the strict one takes %s", body)
		}
		if got, err := read([]byte(body), lax); err != nil || got.Model != "m" {
			t.Errorf("%+v, %v: %s", got, err, body)
		}
		if _, err := read([]byte(body[:len(body)-1]), lax); err == nil {
			t.Error("half a request is taken")
		}
	}
}
