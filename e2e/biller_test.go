//go:build services

package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image/png"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// biller is a provider with a price list. It speaks both wires, plays the agents of random tasks,
// fails now and then, and bills its input and output, also after a failure in the middle. Its count
// of tokens is its own.
type biller struct {
	models map[string]billedModel // by provider/model

	mu       sync.Mutex
	chance   *rand.Rand
	accounts map[int]*billedTask
	strange  int // requests of no task
}

// billedModel is a model on the price list, in millionths of a dollar for a million tokens.
type billedModel struct {
	input, output, read, write int64
	// bytes is how many of them make a token, and trouble how many of a hundred requests fail.
	bytes   int
	trouble int
	// greedy means that nothing is ever read from a cache, and that every reply is as long as it may
	// be.
	greedy bool
	// silent is how many of a hundred replies come without a count; only on OpenAI's wire.
	silent int
}

// billedTask is what a task has had so far. Money is in millionths of a millionth of a dollar, so
// that nothing is rounded.
type billedTask struct {
	requests, billed, failed int
	spent                    int64
}

func newBiller(seed uint64) *biller {
	return &biller{models: map[string]billedModel{}, chance: rand.New(rand.NewPCG(seed, 2)), accounts: map[int]*billedTask{}}
}

// billedRequest is one request.
type billedRequest struct {
	openai bool
	model  billedModel
	name   string
	task   int
	tools  []string
	most   int
	input  int64
	// fate is a number by which the reply is chosen.
	fate uint64
	n    int
}

var (
	marker   = regexp.MustCompile(`\[\[task (\d+)\]\]`)
	thousand = int64(1000)
)

// ServeHTTP takes POST /PROVIDER/v1/messages and /PROVIDER/chat/completions.
func (b *biller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	provider, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	a, ok := b.read(provider, body)
	if err != nil || !ok {
		b.mu.Lock()
		b.strange++
		b.mu.Unlock()
		http.Error(w, `{"error":{"type":"invalid_request_error","message":"not a request of a task"}}`, http.StatusBadRequest)
		return
	}
	chance := rand.New(rand.NewPCG(a.fate, 3))
	if chance.IntN(100) < a.model.trouble {
		b.fail(w, a, chance)
		return
	}
	b.reply(w, a, chance)
}

// read understands a request and counts it: every text in it, every schema, every picture.
func (b *biller) read(provider string, body []byte) (a billedRequest, ok bool) {
	var q struct {
		Model     string            `json:"model"`
		Tools     []json.RawMessage `json:"tools"`
		Most      int               `json:"max_tokens"`
		MostToo   int               `json:"max_completion_tokens"`
		System    json.RawMessage   `json:"system"`
		Messages  json.RawMessage   `json:"messages"`
		Streaming bool              `json:"stream"`
	}
	found := marker.FindSubmatch(body)
	if json.Unmarshal(body, &q) != nil || found == nil || !q.Streaming {
		return a, false
	}
	a.openai, a.name, a.most = strings.HasPrefix(provider, "o"), q.Model, max(q.Most, q.MostToo)
	a.task, _ = strconv.Atoi(string(found[1]))
	if a.model, ok = b.models[provider+"/"+q.Model]; !ok || a.most <= 0 {
		return a, false
	}
	size, pictures := 0, int64(0)
	for _, t := range q.Tools {
		var tool struct {
			Name     string
			Function struct{ Name string }
		}
		_ = json.Unmarshal(t, &tool) // one without a name is not called
		a.tools = append(a.tools, tool.Name+tool.Function.Name)
		size += len(t) - strings.Count(string(t), `\`) // as the provider writes it out
	}
	for _, part := range []json.RawMessage{q.System, q.Messages} {
		var v any
		if len(part) > 0 && json.Unmarshal(part, &v) != nil {
			return a, false
		}
		text, seen := b.weigh(v, a.openai)
		size, pictures = size+text, pictures+seen
	}
	a.input = int64((size+a.model.bytes-1)/a.model.bytes) + pictures + 300 + 8*int64(len(q.Tools))
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.accounts[a.task] == nil {
		b.accounts[a.task] = &billedTask{}
	}
	b.accounts[a.task].requests++
	a.n, a.fate = b.accounts[a.task].requests, b.chance.Uint64()
	return a, true
}

// weigh adds up the texts of a value, and what its pictures count.
func (b *biller) weigh(v any, openai bool) (size int, pictures int64) {
	switch v := v.(type) {
	case string:
		if _, data, ok := strings.Cut(v, ";base64,"); ok {
			return 0, pictureTokens(data, openai)
		}
		return len(v), 0
	case []any:
		size += 4 * len(v)
		for _, x := range v {
			n, p := b.weigh(x, openai)
			size, pictures = size+n, pictures+p
		}
	case map[string]any:
		if v["type"] == "base64" {
			data, _ := v["data"].(string)
			return 0, pictureTokens(data, openai)
		}
		for key, x := range v {
			if key == "cache_control" || key == "type" || key == "role" {
				continue
			}
			n, p := b.weigh(x, openai)
			size, pictures = size+n, pictures+p
		}
	}
	return size, pictures
}

// pictureTokens is the providers' count for a picture: one token for 750 pixels, or for each tile
// of 512 by 512 the count of the most expensive small model.
func pictureTokens(data string, openai bool) int64 {
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return 0
	}
	c, err := png.DecodeConfig(bytes.NewReader(raw))
	if err != nil {
		return 0
	}
	if openai {
		return 2833 + 5667*min(8, int64((c.Width+511)/512)*int64((c.Height+511)/512))
	}
	return min(4784, int64(c.Width*c.Height)/750+1)
}

// charge bills a request, with so much of its input from the cache and into it.
func (b *biller) charge(a billedRequest, output, read, write int64, failed bool) {
	sum := (a.input-read-write)*a.model.input + read*a.model.read + write*a.model.write + output*a.model.output
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.accounts[a.task]
	c.billed++
	c.spent += sum
	if failed {
		c.failed++
	}
}

// cached is a share of the input that was read from a cache, and one that was written to it.
// OpenAI's wire tells of the first only.
func (a billedRequest) cached(chance *rand.Rand) (read, write int64) {
	if a.model.greedy {
		if !a.openai {
			write = a.input
		}
		return 0, write
	}
	read = a.input * chance.Int64N(1001) / thousand * chance.Int64N(2)
	if !a.openai {
		write = (a.input - read) * chance.Int64N(1001) / thousand * chance.Int64N(2)
	}
	return read, write
}

// made is how much of a reply there was before it failed.
func (a billedRequest) made(chance *rand.Rand) int64 {
	if a.model.greedy {
		return int64(a.most)
	}
	return chance.Int64N(int64(a.most) + 1)
}

// fail answers with an error, at once or in the middle of the stream. Errors that a gateway sends
// after it gave up waiting are billed in full.
func (b *biller) fail(w http.ResponseWriter, a billedRequest, chance *rand.Rand) {
	status := []int{0, 0, 0, 429, 500, 502, 503, 504, 529}[chance.IntN(9)]
	switch status {
	case 0:
		b.breakOff(w, a, chance)
		return
	case 500, 502, 504:
		read, write := a.cached(chance)
		b.charge(a, a.made(chance), read, write, true)
	default:
		b.mu.Lock()
		b.accounts[a.task].failed++
		b.mu.Unlock()
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Retry-After-Ms", "5")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"type":"error","error":{"type":"api_error","message":"status %d"}}`, status)
}

// breakOff begins to answer, and then ends the stream, or says that it cannot continue. It bills
// all that it had made.
func (b *biller) breakOff(w http.ResponseWriter, a billedRequest, chance *rand.Rand) {
	read, write := a.cached(chance)
	output := a.made(chance)
	b.charge(a, output, read, write, true)
	text := dense(chance, min(int(output)*a.model.bytes, 600))
	frames := b.frames(a, text, nil, output, read, write, false)
	if len(frames) > 3 {
		frames = frames[:1+chance.IntN(len(frames)-3)]
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, f := range frames {
		_, _ = io.WriteString(w, f) // a client that went away is billed all the same
	}
	if kind := chance.IntN(3); kind > 0 {
		word := []string{"", "rate_limit_error", "overloaded_error"}[kind]
		if a.openai {
			fmt.Fprintf(w, "data: {\"error\":{\"message\":\"no\",\"type\":%q,\"code\":%q}}\n\n", word, word)
		} else {
			fmt.Fprintf(w, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":%q,\"message\":\"no\"}}\n\n", word)
		}
	}
}

// reply plays the agent: it calls tools, hands work on, or ends.
func (b *biller) reply(w http.ResponseWriter, a billedRequest, chance *rand.Rand) {
	output := 1 + chance.Int64N(int64(a.most))
	if chance.IntN(4) == 0 || a.model.greedy {
		output = int64(a.most) // as long as it may be, most of it unseen
	}
	shown := min(int(output)*a.model.bytes, 1+chance.IntN(4000))
	text, call := dense(chance, shown), a.call(chance)
	if call != nil && len(call.args)/a.model.bytes+8 < int(output) {
		text = ""
	} else {
		call = nil
	}
	if text != "" { // a long transcript is summed up as this text alone
		text = fmt.Sprintf("[[task %d]] %s", a.task, text)
	}
	if chance.IntN(60) == 0 {
		text, call = "", nil // says nothing, and bills its thinking
	}
	read, write := a.cached(chance)
	b.charge(a, output, read, write, false)
	w.Header().Set("Content-Type", "text/event-stream")
	for _, f := range b.frames(a, text, call, output, read, write, chance.IntN(100) < a.model.silent) {
		_, _ = io.WriteString(w, f) // as above
	}
}

type billedCall struct{ tool, args string }

// call is what the agent does next, nil if it ends with words.
func (a billedRequest) call(chance *rand.Rand) *billedCall {
	has := func(tool string) bool {
		for _, t := range a.tools {
			if t == tool {
				return true
			}
		}
		return false
	}
	mark := fmt.Sprintf("[[task %d]]", a.task)
	if chance.IntN(a.n+3) > 4 && has("submit_result") {
		return &billedCall{"submit_result", `{"summary":"` + mark + ` done"}`}
	}
	if chance.IntN(a.n+3) > 6 {
		return nil
	}
	var list []billedCall
	for _, c := range []billedCall{
		{"read_file", fmt.Sprintf(`{"path":"f%d.txt"}`, chance.IntN(8))},
		{"read_file", fmt.Sprintf(`{"path":"f%d.txt"}`, chance.IntN(8))},
		{"list_dir", `{}`},
		{"read_image", fmt.Sprintf(`{"path":"p%d.png"}`, chance.IntN(4))},
		{"spawn_agents", fmt.Sprintf(`{"tasks":[{"role":"helper","task":"%[1]s look at f1.txt"},{"role":"helper","task":"%[1]s look at f2.txt"}]}`, mark)},
		{"spawn_agents", fmt.Sprintf(`{"tasks":[{"role":"wide","task":"%s look at everything"}]}`, mark)},
	} {
		if has(c.tool) {
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return &list[chance.IntN(len(list))]
}

// frames is a reply as a stream.
func (b *biller) frames(a billedRequest, text string, call *billedCall, output, read, write int64, silent bool) []string {
	if a.openai {
		return openaiFrames(a, text, call, output, read, silent)
	}
	return anthropicFrames(a, text, call, output, read, write)
}

func anthropicFrames(a billedRequest, text string, call *billedCall, output, read, write int64) (out []string) {
	event := func(kind string, v map[string]any) {
		v["type"] = kind
		out = append(out, "event: "+kind+"\ndata: "+jsonOf(v)+"\n\n")
	}
	usage := map[string]any{
		"input_tokens": a.input - read - write, "cache_read_input_tokens": read, "cache_creation_input_tokens": write, "output_tokens": 1,
	}
	event("message_start", map[string]any{"message": map[string]any{
		"id": "msg_1", "type": "message", "role": "assistant", "model": a.name, "content": []any{}, "usage": usage,
	}})
	stop := "end_turn"
	switch {
	case call != nil:
		stop = "tool_use"
		event("content_block_start", map[string]any{"index": 0, "content_block": map[string]any{"type": "tool_use", "id": "toolu_1", "name": call.tool, "input": map[string]any{}}})
		event("content_block_delta", map[string]any{"index": 0, "delta": map[string]any{"type": "input_json_delta", "partial_json": call.args}})
		event("content_block_stop", map[string]any{"index": 0})
	case text != "":
		event("content_block_start", map[string]any{"index": 0, "content_block": map[string]any{"type": "text", "text": ""}})
		event("content_block_delta", map[string]any{"index": 0, "delta": map[string]any{"type": "text_delta", "text": text}})
		event("content_block_stop", map[string]any{"index": 0})
	}
	event("message_delta", map[string]any{"delta": map[string]any{"stop_reason": stop}, "usage": map[string]any{"output_tokens": output}})
	event("message_stop", map[string]any{})
	return out
}

func openaiFrames(a billedRequest, text string, call *billedCall, output, read int64, silent bool) (out []string) {
	chunk := func(v map[string]any) {
		v["id"], v["object"], v["model"] = "c1", "chat.completion.chunk", a.name
		out = append(out, "data: "+jsonOf(v)+"\n\n")
	}
	delta := func(d map[string]any, stop any) {
		chunk(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": d, "finish_reason": stop}}})
	}
	delta(map[string]any{"role": "assistant", "content": ""}, nil)
	switch {
	case call != nil:
		delta(map[string]any{"tool_calls": []any{map[string]any{
			"index": 0, "id": "call_1", "type": "function", "function": map[string]any{"name": call.tool, "arguments": call.args},
		}}}, nil)
		delta(map[string]any{}, "tool_calls")
	default:
		delta(map[string]any{"content": text}, nil)
		delta(map[string]any{}, "stop")
	}
	if !silent {
		chunk(map[string]any{"choices": []any{}, "usage": map[string]any{
			"prompt_tokens": a.input, "completion_tokens": output, "total_tokens": a.input + output,
			"prompt_tokens_details": map[string]any{"cached_tokens": read},
		}})
	}
	return append(out, "data: [DONE]\n\n")
}

func jsonOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // they are made of texts and numbers
	}
	return string(text)
}

// dense is a text of so many bytes that no tokenizer has words for.
func dense(chance *rand.Rand, size int) string {
	const signs = "qzxjkvwQZXJKVW0189~^|"
	var out strings.Builder
	for out.Len() < size {
		_ = out.WriteByte(signs[chance.IntN(len(signs))])
	}
	return out.String()
}

// bill is what a task was billed, in millionths of a dollar, rounded up.
func (b *biller) bill(t *testing.T, task int) (billedTask, int64) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.accounts[task] == nil {
		return billedTask{}, 0
	}
	return *b.accounts[task], (b.accounts[task].spent + 999_999) / 1_000_000
}
