package model_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// event is one frame of Anthropic's stream.
func event(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }

// chunk is one frame of a Chat Completions stream.
func chunk(choice string) string {
	return `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[` +
		choice + "]}\n\n"
}

func messageStart(usage string) string {
	return event("message_start", `{"type":"message_start","message":{"id":"c1","type":"message",`+
		`"role":"assistant","model":"m","content":[],"stop_reason":null,"usage":`+usage+`}}`)
}

func blockStart(index int, block string) string {
	return event("content_block_start",
		fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, block))
}

func blockDelta(index int, delta string) string {
	return event("content_block_delta",
		fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, index, delta))
}

func blockStop(index int) string {
	return event("content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index))
}

func messageStop(reason, usage string) string {
	return event("message_delta", `{"type":"message_delta","delta":{"stop_reason":"`+reason+
		`","stop_sequence":null}`+usage+`}`) + event("message_stop", `{"type":"message_stop"}`)
}

// said is a whole stream with one text.
func said(w wire, text, reason, usage string) string {
	if w.name == "anthropic" {
		return messageStart(`{"input_tokens":12,"output_tokens":1}`) +
			blockStart(0, `{"type":"text","text":""}`) +
			blockDelta(0, `{"type":"text_delta","text":"`+text+`"}`) + blockStop(0) +
			messageStop(reason, usage)
	}
	return chunk(`{"index":0,"delta":{"role":"assistant","content":"`+text+`"},"finish_reason":null}`) +
		chunk(`{"index":0,"delta":{},"finish_reason":"`+reason+`"}`) + usage + "data: [DONE]\n\n"
}

// asked is one call in a stream: its id, its tool, and its arguments as the text of a JSON string.
type asked struct{ id, tool, args string }

// calling is a whole stream with calls and the reason to stop.
func calling(w wire, reason string, calls ...asked) string {
	var b strings.Builder
	if w.name == "anthropic" {
		b.WriteString(messageStart(`{"input_tokens":12,"output_tokens":1}`))
		for i, c := range calls {
			b.WriteString(blockStart(i, `{"type":"tool_use","id":"`+c.id+`","name":"`+c.tool+`","input":{}}`))
			b.WriteString(blockDelta(i, `{"type":"input_json_delta","partial_json":"`+c.args+`"}`))
			b.WriteString(blockStop(i))
		}
		b.WriteString(messageStop(reason, `,"usage":{"output_tokens":5}`))
		return b.String()
	}
	for i, c := range calls {
		b.WriteString(chunk(fmt.Sprintf(`{"index":0,"delta":{"tool_calls":[{"index":%d,"id":"%s",`+
			`"type":"function","function":{"name":"%s","arguments":"%s"}}]},"finish_reason":null}`,
			i, c.id, c.tool, c.args)))
	}
	b.WriteString(chunk(`{"index":0,"delta":{},"finish_reason":"` + reason + `"}`))
	b.WriteString(counted(`"prompt_tokens":12,"completion_tokens":5,"total_tokens":17`))
	return b.String() + "data: [DONE]\n\n"
}

// counted is the last chunk of a Chat Completions stream.
func counted(usage string) string {
	return `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],` +
		`"usage":{` + usage + "}}\n\n"
}

// word is a stop reason in the words of each wire.
func word(w wire, anthropic, openai string) string {
	if w.name == "anthropic" {
		return anthropic
	}
	return openai
}

// fault is one way a provider misbehaves, and the end it must come to on every wire.
type fault struct {
	name string
	body func(wire) string
	want string
}

// TestFaultyCalls sends calls that cannot be run as they are.
func TestFaultyCalls(t *testing.T) {
	calls := func(calls ...asked) func(wire) string {
		return func(w wire) string { return calling(w, word(w, "tool_use", "tool_calls"), calls...) }
	}
	try(t, []fault{
		{
			"L21 arguments cut off, reason says tools",
			calls(asked{"a", "read", `{\"path\": \"a.`}),
			"tools c1 m 12+5\n" + `7.0 read {"malformed":"{\"path\": \"a."}` + "\nmalformed 7.0",
		},
		{
			"L21 arguments cut off, reason says length",
			func(w wire) string {
				return calling(w, word(w, "max_tokens", "length"),
					asked{"a", "read", `{\"path\": \"b\"}`}, asked{"b", "read", `{\"path\": \"a.`})
			},
			"max_tokens c1 m 12+5\n" + `7.0 read {"path": "b"}` + "\n" +
				`7.1 read {"malformed":"{\"path\": \"a."}` + "\nmalformed 7.1",
		},
		{
			"L21 no argument left, reason says length",
			func(w wire) string {
				return calling(w, word(w, "max_tokens", "length"), asked{"a", "list", ""})
			},
			"max_tokens c1 m 12+5\n" + `7.0 list {"malformed":""}` + "\nmalformed 7.0",
		},
		{
			"no argument where one is required",
			calls(asked{"a", "read", ""}),
			"tools c1 m 12+5\n" + `7.0 read {"malformed":""}` + "\nmalformed 7.0",
		},
		{
			"no argument where none is required",
			calls(asked{"a", "list", ""}),
			"tools c1 m 12+5\n7.0 list {}",
		},
		{
			"L22 arguments are not JSON",
			calls(asked{"a", "read", `{path: a}`}),
			"tools c1 m 12+5\n" + `7.0 read {"malformed":"{path: a}"}` + "\nmalformed 7.0",
		},
		{
			"L22 arguments go on after the object",
			calls(asked{"a", "list", `{}{}`}),
			"tools c1 m 12+5\n" + `7.0 list {"malformed":"{}{}"}` + "\nmalformed 7.0",
		},
		{
			"L23 arguments of other types",
			calls(asked{"a", "list", "null"}, asked{"b", "list", "[]"}, asked{"c", "list", `\"x\"`},
				asked{"d", "list", "1"}),
			"tools c1 m 12+5\n" + `7.0 list {"malformed":"null"}` + "\n" + `7.1 list {"malformed":"[]"}` +
				"\n" + `7.2 list {"malformed":"\"x\""}` + "\n" + `7.3 list {"malformed":"1"}` +
				"\nmalformed 7.0 7.1 7.2 7.3",
		},
		{
			"L24 unknown tool",
			calls(asked{"a", "fly", `{}`}),
			"tools c1 m 12+5\n7.0 fly {}",
		},
		{
			"L24 a tool no provider would take back",
			calls(asked{"a", "fly away!", `{}`}, asked{"b", "", `{}`}),
			"tools c1 m 12+5\n" + `7.0 fly_away_ {"malformed":"{}"}` + "\n" +
				`7.1 unnamed {"malformed":"{}"}` + "\nmalformed 7.0 7.1",
		},
		{
			"L26 ids twice",
			calls(asked{"a", "list", `{}`}, asked{"a", "read", `{\"path\":\"b\"}`}),
			"tools c1 m 12+5\n7.0 list {}\n" + `7.1 read {"path":"b"}`,
		},
		{
			"L27 empty ids",
			calls(asked{"", "list", `{}`}, asked{"", "read", `{\"path\":\"b\"}`}),
			"tools c1 m 12+5\n7.0 list {}\n" + `7.1 read {"path":"b"}`,
		},
		{
			"L28 ten thousand calls",
			func(w wire) string {
				return calling(w, word(w, "tool_use", "tool_calls"), make([]asked, 10_000)...)
			},
			"",
		},
		{
			"calls under a reason that says end",
			func(w wire) string {
				return calling(w, word(w, "end_turn", "stop"), asked{"a", "list", `{}`})
			},
			"tools c1 m 12+5\n7.0 list {}",
		},
		{
			"L17 arguments that are no text",
			calls(asked{"a", "read", "{\\\"path\\\":\\\"\xff\xfe\\\"}"}),
			"tools c1 m 12+5\n" + `7.0 read {"malformed":"{\"path\":\"�\"}"}` + "\nmalformed 7.0",
		},
	})
}

// TestFaultyText sends replies without calls that are odd.
func TestFaultyText(t *testing.T) {
	const (
		outA = `,"usage":{"output_tokens":5}`
		outO = `"prompt_tokens":12,"completion_tokens":5,"total_tokens":17`
	)
	end := func(text, anthropic, openai string) func(wire) string {
		return func(w wire) string {
			return said(w, text, word(w, anthropic, openai), word(w, outA, counted(outO)))
		}
	}
	try(t, []fault{
		{"L17 text that is no text", end("a\xffb", "end_turn", "stop"), "end c1 m 12+5\ntext \"a\uFFFDb\""},
		{"a zero byte", end(`a\u0000b`, "end_turn", "stop"), "end c1 m 12+5\ntext \"a\uFFFDb\""},
		{"L30 an empty turn", end("", "end_turn", "stop"), "end c1 m 12+5"},
		{"L30 nothing but space", end(`\n \n`, "end_turn", "stop"), "end c1 m 12+5"},
		{"a reply cut short", end("Well", "max_tokens", "length"), "max_tokens c1 m 12+5\ntext \"Well\""},
		{"L31 a refusal", end("No.", "refusal", "content_filter"), "refusal c1 m 12+5\ntext \"No.\""},
		{"L31 a refusal without a word", end("", "refusal", "content_filter"), "refusal c1 m 12+5"},
		{"a reason of tomorrow", end("Hm.", "pondering", "pondering"), "end c1 m 12+5\ntext \"Hm.\""},
		{"tools without calls", end("Hm.", "tool_use", "tool_calls"), "end c1 m 12+5\ntext \"Hm.\""},
		{
			"a frame that is not JSON",
			func(w wire) string {
				return word(w, messageStart(`{"input_tokens":12}`)+event("content_block_start", `{"type`),
					"data: {\"id\n\n")
			},
			"error server_error unmetered",
		},
		{"L12 nothing at all", func(wire) string { return "" }, "error network unmetered"},
		{"a page instead of a stream", func(wire) string { return "<html>\n\nHi\n\n</html>" }, "error network unmetered"},
		{"only [DONE]", func(wire) string { return "data: [DONE]\n\n" }, "error network unmetered"},
	})
}

// TestFaultyUsage counts for itself where a provider does not, or says what cannot be.
//
// Covers: L32.
func TestFaultyUsage(t *testing.T) {
	count := func(in, out string) func(wire) string {
		return func(w wire) string {
			if w.name == "openai" {
				usage := ""
				if in+out != "" {
					usage = counted(`"prompt_tokens":` + in + `,"completion_tokens":` + out)
				}
				return said(w, "Well", "stop", usage)
			}
			usage := ""
			if in+out != "" {
				usage = `,"usage":{"input_tokens":` + in + `,"output_tokens":` + out + `}`
			}
			return strings.Replace(said(w, "Well", "end_turn", usage),
				`"input_tokens":12,"output_tokens":1`, `"output_tokens":1`, 1)
		}
	}
	const text = "\ntext \"Well\""
	try(t, []fault{
		{"missing", count("", ""), "end c1 m 605+34 estimated" + text},
		{"nought", count("0", "0"), "end c1 m 605+34 estimated" + text},
		{"negative", count("-1", "-5"), "end c1 m 605+34 estimated" + text},
		{"absurd", count("9000000000000", "9000000000000"), "end c1 m 605+34 estimated" + text},
		{"too large for a number", count("1e300", "99999999999999999999"), "end c1 m 605+34 estimated" + text},
		{"no number", count(`"many"`, `{}`), "end c1 m 605+34 estimated" + text},
		{"half of it possible", count("12", "-5"), "end c1 m 12+34 estimated" + text},
		{"possible", count("12", "5"), "end c1 m 12+5" + text},
	})
}

// try sends each fault over both wires. A fault without a wanted end must be an error that says
// that the reply is of no use.
func try(t *testing.T, faults []fault) {
	t.Helper()
	for _, w := range wires {
		for _, f := range faults {
			t.Run(w.name+"/"+f.name, func(t *testing.T) {
				want := f.want
				got := show(w.ask(t, request(), answer(f.body(w)), nil))
				if want == "" {
					want = "error no_result unmetered"
					got = strings.Replace(got, " used 12", "", 1)
				}
				if w.name == "anthropic" && strings.HasPrefix(want, "error server_error") {
					got = strings.Replace(got, " used 12", "", 1)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
		}
	}
}

// TestRefusals answers with errors instead of replies. Nothing is sent a second time.
//
// Covers: L5, L6, L7, L8, L9, L10.
func TestRefusals(t *testing.T) {
	a := func(kind string) string { return `{"type":"error","error":{"type":"` + kind + `","message":"x"}}` }
	o := func(code string) string {
		return `{"error":{"message":"x","type":"t","param":null,"code":` + code + `}}`
	}
	cases := []struct {
		wire   string
		name   string
		answer http.HandlerFunc
		want   string
	}{
		{"anthropic", "L5", refusal(429, a("rate_limit_error"), "Retry-After: 7"), "error rate_limit 429 after 7s"},
		{"openai", "L5", refusal(429, o(`"rate_limit_exceeded"`), "Retry-After: 7"), "error rate_limit 429 after 7s"},
		{"openai", "L5 in milliseconds", refusal(429, o("null"), "Retry-After-Ms: 1500", "Retry-After: 9"), "error rate_limit 429 after 1.5s"},
		{"anthropic", "L6", refusal(429, a("rate_limit_error")), "error rate_limit 429"},
		{"openai", "L6", refusal(429, ""), "error rate_limit 429"},
		{"anthropic", "L7", refusal(529, a("overloaded_error")), "error server_error 529"},
		{"openai", "L7", refusal(503, o("null"), "Retry-After: 2"), "error server_error 503 after 2s"},
		{"anthropic", "L8", refusal(500, a("api_error")), "error server_error 500 unmetered"},
		{"openai", "L8", refusal(500, o(`"server_error"`)), "error server_error 500 unmetered"},
		{"anthropic", "L9", refusal(502, "<html>Bad Gateway</html>"), "error server_error 502 unmetered"},
		{"openai", "L9", refusal(502, "<html>Bad Gateway</html>"), "error server_error 502 unmetered"},
		{"anthropic", "L10", refusal(504, a("timeout_error")), "error server_error 504 unmetered"},
		{"openai", "L10", refusal(504, ""), "error server_error 504 unmetered"},
		{"anthropic", "bad request", refusal(400, a("invalid_request_error")), "error invalid_request 400"},
		{"openai", "bad request", refusal(400, o("null")), "error invalid_request 400"},
		{"anthropic", "no such model", refusal(404, a("not_found_error")), "error invalid_request 404"},
		{"openai", "no such model", refusal(404, o(`"model_not_found"`)), "error invalid_request 404"},
		{"anthropic", "wrong key", refusal(401, a("authentication_error")), "error auth 401"},
		{"openai", "wrong key", refusal(401, o(`"invalid_api_key"`)), "error auth 401"},
		{"anthropic", "not allowed", refusal(403, a("permission_error")), "error auth 403"},
		{"openai", "not allowed", refusal(403, ""), "error auth 403"},
		{"anthropic", "no credit", refusal(402, a("billing_error")), "error auth 402"},
		{"openai", "no credit", refusal(429, o(`"insufficient_quota"`)), "error auth 429"},
		{"anthropic", "too long", refusal(413, a("request_too_large")), "error context_exhausted 413"},
		{"openai", "too long", refusal(400, o(`"context_length_exceeded"`)), "error context_exhausted 400"},
		{"openai", "too long for llama.cpp", refusal(400, `{"error":{"code":400,"type":"exceed_context_size_error"}}`), "error context_exhausted 400"},
		{"openai", "filtered", refusal(400, o(`"content_filter"`)), "error content_filter 400"},
		{"openai", "an error without an envelope", refusal(422, `{"object":"error","code":422}`), "error invalid_request 422"},
		{"anthropic", "a large page", refusal(500, strings.Repeat("x", 4<<20)), "error server_error 500 unmetered"},
		{"openai", "a large page", refusal(500, strings.Repeat("x", 4<<20)), "error server_error 500 unmetered"},
		{"anthropic", "a redirect", refusal(307, "", "Location: http://127.0.0.1:1/"), "error invalid_request unmetered"},
		{"openai", "a redirect", refusal(307, "", "Location: http://127.0.0.1:1/"), "error invalid_request unmetered"},
		{
			"anthropic", "overloaded on the way",
			answer(messageStart(`{"input_tokens":12,"output_tokens":1}`) + event("error", a("overloaded_error"))),
			"error server_error 200 used 12 unmetered",
		},
		{
			"anthropic", "an error of tomorrow on the way",
			answer(messageStart(`{"input_tokens":12,"output_tokens":1}`) + event("error", `"?"`)),
			"error server_error 200 used 12 unmetered",
		},
		{"openai", "an error on the way", answer(chunk("") + "data: " + o(`"server_error"`) + "\n\n"), "error server_error 200 unmetered"},
		{"openai", "a limit on the way", answer(chunk("") + "data: " + o("429") + "\n\n"), "error rate_limit 200 unmetered"},
		{"openai", "an error of tomorrow on the way", answer("data: {\"error\":\"?\"}\n\n"), "error server_error 200 unmetered"},
	}
	for _, w := range wires {
		for _, c := range cases {
			if c.wire == w.name {
				t.Run(w.name+"/"+c.name, func(t *testing.T) {
					var asked atomic.Int32
					got := show(w.ask(t, request(), func(rw http.ResponseWriter, r *http.Request) {
						asked.Add(1)
						c.answer(rw, r)
					}, nil))
					if n := asked.Load(); got != c.want || n != 1 {
						t.Errorf("got %q, want %q; asked %d times", got, c.want, n)
					}
				})
			}
		}
	}
}
