package model_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestQuirks reads answers of servers that no specification allows.
func TestQuirks(t *testing.T) {
	start := messageStart(`{"input_tokens":12,"output_tokens":1}`)
	tools, end := messageStop("tool_use", `,"usage":{"output_tokens":5}`), messageStop("end_turn", `,"usage":{"output_tokens":5}`)
	usage := counted(`"prompt_tokens":12,"completion_tokens":5,"total_tokens":17`)
	call := func(index, id, name, args string) string {
		return chunk(`{"index":0,"delta":{"tool_calls":[{"index":` + index + `,"id":` + id +
			`,"function":{"name":` + name + `,"arguments":"` + args + `"}}]},"finish_reason":null}`)
	}
	stop := func(reason string) string {
		return chunk(`{"index":0,"delta":{},"finish_reason":"` + reason + `"}`)
	}
	cases := []struct{ wire, name, body, want string }{
		{
			"anthropic", "arguments in one go",
			start + blockStart(0, `{"type":"tool_use","id":"a","name":"read","input":{"path":"b"}}`) + blockStop(0) + tools,
			"tools c1 m 12+5\n" + `7.0 read {"path":"b"}`,
		},
		{
			"anthropic", "a block that starts twice",
			start + blockStart(0, `{"type":"tool_use","id":"a","name":"list","input":{}}`) +
				blockStart(0, `{"type":"tool_use","id":"a","name":"list","input":{}}`) + blockStop(0) + tools,
			"tools c1 m 12+5\n7.0 list {}",
		},
		{
			"anthropic", "two blocks under one index",
			start + blockStart(0, `{"type":"tool_use","id":"a","name":"list","input":{}}`) +
				blockStart(0, `{"type":"tool_use","id":"b","name":"list","input":{}}`) + blockStop(0) + tools,
			"tools c1 m 12+5\n7.0 list {}\n7.1 list {}",
		},
		{
			"anthropic", "blocks that come out of order",
			start + blockStart(1, `{"type":"text","text":"b"}`) + blockStart(0, `{"type":"text","text":"a"}`) +
				blockStop(1) + blockStop(0) + end,
			"end c1 m 12+5\n" + `text "a"` + "\n" + `text "b"`,
		},
		{
			"anthropic", "content without a block",
			start + blockDelta(0, `{"type":"text_delta","text":"a"}`) + end,
			"error server_error used 12 unmetered",
		},
		{
			"anthropic", "content after its block",
			start + blockStart(0, `{"type":"text","text":""}`) + blockStop(0) +
				blockDelta(0, `{"type":"text_delta","text":"a"}`) + end,
			"error server_error used 12 unmetered",
		},
		{
			"anthropic", "content of another kind",
			start + blockStart(0, `{"type":"text","text":""}`) +
				blockDelta(0, `{"type":"input_json_delta","partial_json":"a"}`) + blockStop(0) + end,
			"error server_error used 12 unmetered",
		},
		{
			"anthropic", "a stop without a reason",
			start + event("message_stop", `{"type":"message_stop"}`),
			"error server_error used 12 unmetered",
		},
		{
			"anthropic", "a reason while a block is open, and no more",
			start + blockStart(0, `{"type":"text","text":"a"}`) + strings.Split(end, "event: message_stop")[0],
			"error network used 17 unmetered",
		},
		{
			"anthropic", "thinking kept to itself",
			start + blockStart(0, `{"type":"thinking","thinking":"","signature":""}`) +
				blockDelta(0, `{"type":"signature_delta","signature":"s1"}`) +
				blockDelta(0, `{"type":"signature_delta","signature":"s2"}`) + blockStop(0) +
				blockStart(1, `{"type":"text","text":"a"}`) + blockStop(1) + end,
			"end c1 m 12+5\n" + `thinking "" sealed anthropic/signature:s1s2` + "\n" + `text "a"`,
		},
		{
			"anthropic", "events and blocks of tomorrow",
			start + event("weather", `{"type":"weather"}`) +
				blockStart(0, `{"type":"server_tool_use","id":"x","name":"web_search","input":{}}`) +
				blockDelta(0, `{"type":"input_json_delta","partial_json":"{}"}`) + blockStop(0) +
				blockStart(1, `{"type":"text","text":"a"}`) + blockStop(1) + end,
			"end c1 m 12+5\n" + `text "a"`,
		},
		{
			"openai", "no error, said aloud",
			`data: {"id":"c1","model":"m","error":null,"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}` +
				"\n\n" + usage,
			"end c1 m 12+5\n" + `text "a"`,
		},
		{
			"openai", "every call under index nought",
			call("0", `"a"`, `"list"`, "{}") + call("0", `"b"`, `"read"`, `{\"path\":`) +
				call("0", `"b"`, `"read"`, `\"c\"}`) + stop("tool_calls") + usage,
			"tools c1 m 12+5\n7.0 list {}\n" + `7.1 read {"path":"c"}`,
		},
		{
			"openai", "an id that changes",
			chunk(`{"index":0,"delta":{"content":"a"},"finish_reason":null}`) +
				strings.Replace(chunk(`{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}`), "c1", "c2", 1) + usage,
			"end c1 m 12+5\n" + `text "ab"`,
		},
		{
			"openai", "another choice",
			chunk(`{"index":1,"delta":{"content":"b"},"finish_reason":"stop"},{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}`) + usage,
			"end c1 m 12+5\n" + `text "a"`,
		},
		{
			"openai", "reasoning under its other name",
			chunk(`{"index":0,"delta":{"reasoning":"hm","content":"a"},"finish_reason":"stop"}`) + usage,
			"end c1 m 12+5\n" + `thinking "hm" sealed openai/field:reasoning` + "\n" + `text "a"`,
		},
		{
			"openai", "reasoning under both names",
			chunk(`{"index":0,"delta":{"reasoning":"hm","reasoning_content":"hm","content":"a"},"finish_reason":"stop"}`) + usage,
			"end c1 m 12+5\n" + `thinking "hm" sealed openai/field:reasoning_content` + "\n" + `text "a"`,
		},
		{
			"openai", "a refusal in its own field",
			chunk(`{"index":0,"delta":{"refusal":"No."},"finish_reason":"stop"}`) + usage,
			"refusal c1 m 12+5\n" + `text "No."`,
		},
		{
			"openai", "reasoning beside the completion",
			chunk(`{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}`) +
				counted(`"prompt_tokens":12,"completion_tokens":5,"total_tokens":47,"completion_tokens_details":{"reasoning_tokens":30}`),
			"end c1 m 12+35 reasoning 30\n" + `text "a"`,
		},
		{
			"openai", "DeepSeek's cache",
			chunk(`{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}`) +
				counted(`"prompt_tokens":12,"completion_tokens":5,"total_tokens":17,"prompt_cache_hit_tokens":8`),
			"end c1 m 12+5 read 8\n" + `text "a"`,
		},
		{
			"openai", "more read from a cache than there was",
			chunk(`{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}`) +
				counted(`"prompt_tokens":12,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":13}`),
			"end c1 m 605+5 estimated\n" + `text "a"`,
		},
	}
	for _, w := range wires {
		for _, c := range cases {
			if c.wire == w.name {
				t.Run(w.name+"/"+c.name, func(t *testing.T) {
					got := show(w.ask(t, request(), answer(c.body), nil))
					if diff := cmp.Diff(c.want, got); diff != "" {
						t.Errorf("(-want +got)\n%s", diff)
					}
				})
			}
		}
	}
}
