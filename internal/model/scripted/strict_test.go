package scripted

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/model/scripted/request"
)

// refused sends a body and wants a status, the provider's shape, and some words of the message.
func refused(t *testing.T, s *Server, p Provider, body string, status int, words string, change ...func(*http.Request)) {
	t.Helper()
	r := post(t, s, p, body, change...)
	if r.err != nil {
		t.Fatal(r.err)
	}
	var shape struct {
		Type  string
		Error struct{ Type, Message string }
	}
	if err := json.Unmarshal([]byte(r.body), &shape); err != nil {
		t.Fatalf("%v: %s", err, r.body)
	}
	wantType := openaiErrors[status][0]
	if p == Anthropic {
		wantType = anthropicErrors[status]
	}
	if r.status != status || shape.Error.Type != wantType || !strings.Contains(shape.Error.Message, words) {
		t.Errorf("got %d %s\nwant %d %s with %q", r.status, r.body, status, wantType, words)
	}
	if (p == Anthropic) != (shape.Type == "error") || r.header.Get(requestIDHeader(p)) == "" {
		t.Errorf("not the shape of %s: %s %v", p, r.body, r.header)
	}
}

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

func (all refusals) send(t *testing.T, s *Server, p Provider) {
	for name, c := range all {
		t.Run(name, func(t *testing.T) { refused(t, s, p, c.body, http.StatusBadRequest, c.words) })
	}
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
	}.send(t, serve(t, always(Reply{Text: "ok"}), Options{}), Anthropic)
}

func TestAnthropicRefusesTranscripts(t *testing.T) {
	s := serve(t, always(Reply{Text: "ok"}), Options{})
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
	}.send(t, s, Anthropic)
	t.Run("what is right is taken", func(t *testing.T) {
		body := says(ask0, think("hm", fmt.Sprintf(`,"signature":%q`, request.Seal("hm"))), ask0, use, result)
		if r := post(t, s, Anthropic, body); r.status != http.StatusOK {
			t.Errorf("refused: %s", r.body)
		}
	})
}

func openaiSays(messages ...string) string {
	return `{"model":"m","messages":[` + strings.Join(messages, ",") + `]}`
}

func TestOpenAIRefuses(t *testing.T) {
	s := serve(t, always(Reply{Text: "ok"}), Options{})
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
	}.send(t, s, OpenAI)
	t.Run("what is right is taken", func(t *testing.T) {
		body := openaiSays(`{"role":"system","content":"x"}`, ask0, calls("a", strings.Repeat("b", 40)), done("a"),
			done(strings.Repeat("b", 40)), ask0, answ, ask0)
		if r := post(t, s, OpenAI, body); r.status != 200 {
			t.Errorf("refused: %s", r.body)
		}
	})
}

func TestHeadersAreChecked(t *testing.T) {
	script := always(Reply{Text: "ok"})
	script.Keys, script.Models = []string{"key-1"}, []string{"m"}
	s := serve(t, script, Options{})
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	refused(t, s, Anthropic, anthropicHello, 401, "invalid x-api-key", header("X-Api-Key", ""))
	refused(t, s, Anthropic, anthropicHello, 401, "invalid x-api-key", header("X-Api-Key", "key-2"))
	refused(t, s, Anthropic, anthropicHello, 400, "anthropic-version", header("Anthropic-Version", ""))
	refused(t, s, Anthropic, anthropicHello, 400, "anthropic-version", header("Anthropic-Version", "tomorrow"))
	refused(t, s, OpenAI, openaiHello, 401, "Incorrect API key", header("Authorization", ""))
	refused(t, s, OpenAI, openaiHello, 401, "Incorrect API key", header("Authorization", "Bearer key-2"))
	large := `{"model":"` + strings.Repeat("m", maxBody) + `"}`
	for _, p := range providers {
		refused(t, s, p, hello(p), 400, "Content-Type", header("Content-Type", "text/plain"))
		refused(t, s, p, large, 413, "maximum size")
		refused(t, s, p, strings.Replace(hello(p), `"m"`, `"x"`, 1), 404, "x")
	}
}

func TestALaxServerTakesWhatItUnderstands(t *testing.T) {
	s := serve(t, always(Reply{Text: "ok"}), Options{Lax: true})
	for p, body := range map[Provider]string{
		Anthropic: says(answ, use), OpenAI: openaiSays(ask0, ask0, `{"role":"tool","content":"x"}`),
	} {
		if r := post(t, s, p, body, func(r *http.Request) { r.Header = http.Header{} }); r.status != 200 {
			t.Errorf("%s: refused: %d %s", p, r.status, r.body)
		}
	}
}
