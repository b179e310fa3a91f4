package model_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/chat"
)

// TestRoundTrip puts a reply into a transcript and sends it back: every block is on the wire as the
// provider sent it, but for the ids, which are ours.
func TestRoundTrip(t *testing.T) {
	want := map[string]string{
		"anthropic": `{"role":"assistant","content":[
			{"type":"thinking","thinking":"Two files to look at.","signature":"c2lnbmF0dXJl"},
			{"type":"redacted_thinking","data":"cmVkYWN0ZWQ="},
			{"type":"text","text":"I look."},
			{"type":"tool_use","id":"call_7_2e0","name":"read","input":{"path":"a.txt"}},
			{"type":"tool_use","id":"call_7_2e1","name":"list","input":{}}]}`,
		"openai": `{"role":"assistant","reasoning_content":"Two files to look at.",
			"content":"I look.","tool_calls":[
			{"id":"call_7_2e0","type":"function","function":{"name":"read","arguments":"{\"path\": \"a.txt\"}"}},
			{"id":"call_7_2e1","type":"function","function":{"name":"list","arguments":"{}"}}]}`,
	}
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			req := request()
			reply := must(w.ask(t, req, answer(w.fixture(t, "tools")), nil))(t)
			req.Turn++
			req.Transcript = append(req.Transcript,
				chat.Message{ID: "m2", Speaker: chat.Assistant, Parts: reply.Parts},
				chat.Message{ID: "m3", Speaker: chat.User, Parts: []chat.Part{
					result("7.0", "hello", false), result("7.1", "a.txt", false),
				}})
			var sent capture
			if _, err := w.ask(t, req, sent.handle(w.fixture(t, "text")), nil); err != nil {
				t.Fatal(err)
			}
			var body struct{ Messages []any }
			var block any
			for raw, into := range map[string]any{string(sent.body): &body, want[w.name]: &block} {
				if err := json.Unmarshal([]byte(raw), into); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(block, body.Messages[1]); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
