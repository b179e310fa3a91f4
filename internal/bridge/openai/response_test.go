package openai_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retinue-dev/retinue/internal/api"
	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/journal"
)

const helloResponse = `{"model": "retinue", "input": "Hello"}`

// answered is an expected response: its status, its text, and more fields.
func answered(status, state, text, more string) string {
	output := `[]`
	if text != "" {
		output = `[{"type": "message", "status": "completed", "role": "assistant", "content": [{"type": "output_text", "text": "` + text + `", "annotations": []}]}]`
	}
	return `{"object": "response", "status": "` + status + `", "retinue": "` + state + `", "output": ` + output + `, "model": "retinue", "background": false,
		"error": null, "incomplete_details": null, "instructions": null, "max_output_tokens": null, "parallel_tool_calls": false,
		"previous_response_id": null, "temperature": null, "top_p": null, "tool_choice": "none", "tools": [], "metadata": {},
		"usage": {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0, "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}` + more + `}`
}

const used = `, "usage": {"input_tokens": 20, "output_tokens": 5, "total_tokens": 25, "input_tokens_details": {"cached_tokens": 8}, "output_tokens_details": {"reasoning_tokens": 2}}`

// idOf is the id of a response.
func (f *front) idOf(body string) string {
	f.Helper()
	var r struct{ ID string }
	if err := json.Unmarshal([]byte(body), &r); err != nil || !strings.HasPrefix(r.ID, "resp_") {
		f.Fatalf("%s: %v", body, err)
	}
	return r.ID
}

// TestResponses asks, reads the same response again, and continues from it.
func TestResponses(t *testing.T) {
	f := newFront(t, answers())
	_, body := f.send(http.MethodPost, "/v1/responses", `{"model": "retinue", "input": [{"role": "user", "content": "Hello"}], "instructions": "Be kind.", "metadata": {"a": "b"}}`)
	f.same("the response", answered("completed", "completed", "Good day.", used+`, "metadata": {"a": "b"}`), f.shape(body))
	if want := "Said before, elsewhere:\n\n<earlier>\nsystem: Be kind.\n\n</earlier>\n\nHello"; f.said[0].Text != want {
		t.Errorf("the orchestrator is told %q", f.said[0].Text)
	}
	id := f.idOf(body)
	_, again := f.send(http.MethodGet, "/v1/responses/"+id, "")
	f.same("the response, read again", answered("completed", "completed", "Good day.", used), f.shape(again))
	f.send(http.MethodPost, "/v1/responses", `{"model": "retinue", "input": "And now?", "background": true, "previous_response_id": "`+id+`"}`)
	if len(f.said) != 2 || f.said[1].Text != "And now?" {
		t.Errorf("the orchestrator is told %+v", f.said)
	}
	for _, name := range []string{"resp_none", "resp_a.b", "none"} {
		if resp, body := f.send(http.MethodGet, "/v1/responses/"+name, ""); resp.StatusCode != http.StatusNotFound || !strings.Contains(body, `"code":"not_found"`) {
			t.Errorf("%s: %s %s", name, resp.Status, body)
		}
	}
}

// TestResponsesInTheBackground begins one that keeps running, reads its progress, and stops it.
func TestResponsesInTheBackground(t *testing.T) {
	f := newFront(t, begins)
	_, body := f.send(http.MethodPost, "/v1/responses", strings.Replace(helloResponse, "{", `{"background": true,`, 1))
	f.same("the response", answered("in_progress", "running", "", `, "usage": null, "background": true`), f.shape(body))
	id := f.idOf(body)
	_, body = f.send(http.MethodGet, "/v1/responses/"+id, "")
	f.same("while it runs", answered("in_progress", "running", "", ""), f.shape(body))
	_, body = f.send(http.MethodPost, "/v1/responses/"+id+"/cancel", "")
	f.same("once it is stopped", answered("cancelled", "cancelled", "", ""), f.shape(body))
}

// TestHowResponsesEnd is what is said of a run that failed, of one that was cut off, and of one
// that waits for a person.
func TestHowResponsesEnd(t *testing.T) {
	asks := func(s api.Said) []journal.Row {
		return append(begins(s), journal.ApprovalRequested{In: main, Call: "1.0", Tool: "shell", Hash: "h"},
			journal.StatusChanged{In: main, Serial: 2, Status: chat.StatusWaiting, Reason: chat.WaitApproval})
	}
	for name, c := range map[string]struct {
		does                func(api.Said) []journal.Row
		status, state, more string
		says                string
	}{
		"a failure":    {does: ends(journal.TurnEnded{Status: chat.StatusFailed, ErrorKind: chat.KindAuth}), status: "failed", state: "failed", more: `, "error": {"code": "server_error", "message": "the run failed (auth); see conversation C"}`},
		"a rate limit": {does: ends(journal.TurnEnded{Status: chat.StatusFailed, ErrorKind: chat.KindRateLimit}), status: "failed", state: "failed", more: `, "error": {"code": "rate_limit_exceeded", "message": "the run failed (rate_limit); see conversation C"}`},
		"cut off":      {does: ends(journal.TurnEnded{Status: chat.StatusCompleted, Cut: true}), status: "incomplete", state: "completed", more: `, "incomplete_details": {"reason": "max_output_tokens"}`},
		"an approval":  {does: asks, status: "completed", state: "waiting", says: "This waits for your approval: shell"},
	} {
		f := newFront(t, c.does)
		resp, body := f.send(http.MethodPost, "/v1/responses", helloResponse)
		body = strings.ReplaceAll(body, resp.Header.Get("Retinue-Conversation"), "C")
		if c.says != "" {
			if !strings.Contains(body, c.says) || !strings.Contains(body, `"status":"`+c.status+`"`) || !strings.Contains(body, `"kind":"approval"`) {
				t.Errorf("%s: %s", name, body)
			}
			continue
		}
		f.same(name, answered(c.status, c.state, "", c.more), f.shape(body))
	}
}

// TestResponseStream follows a response from its beginning, and reads the stream of one that has
// ended: the events are the same.
func TestResponseStream(t *testing.T) {
	f := newFront(t, answers())
	_, body := f.send(http.MethodPost, "/v1/responses", strings.Replace(helloResponse, "{", `{"stream": true,`, 1))
	names, data := events(body)
	const doing = "response.in_progress" // once as OpenAI has it, and once for each event of ours
	want := []string{
		"response.created", doing, doing, doing, "response.output_item.added", "response.content_part.added", "response.output_text.delta",
		"response.output_text.done", "response.content_part.done", "response.output_item.done", doing, "response.completed",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("the events (-want +got):\n%s", diff)
	}
	var last struct {
		Response json.RawMessage
		Sequence int `json:"sequence_number"`
	}
	if err := json.Unmarshal([]byte(data[len(data)-1]), &last); err != nil || last.Sequence != len(data)-1 {
		t.Errorf("%v, number %d of %d", err, last.Sequence, len(data))
	}
	f.same("the last one", answered("completed", "completed", "Good day.", used), f.shape(string(last.Response)))
	_, later := f.send(http.MethodGet, "/v1/responses/"+f.idOf(string(last.Response))+"?stream=true", "")
	if again, _ := events(later); !cmp.Equal(want, again) {
		t.Errorf("read again: %q", again)
	}
}
