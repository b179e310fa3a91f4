package openai

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/retinue-dev/retinue/internal/api/admission"
)

// parse reads a body as the handlers do.
func parse(t *testing.T, body string, into interface{ check() error }) error {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
	if err := read(httptest.NewRecorder(), r, into); err != nil {
		return err
	}
	return into.check()
}

func TestRequestsThatAreRefusedSayWhy(t *testing.T) {
	for body, want := range map[string]string{
		`{"messages": 1}`:             "body",
		`{`:                           "body",
		`{"n": 2}`:                    "n:",
		`{"logprobs": true}`:          "logprobs",
		`{"tool_choice": "required"}`: "tool_choice",
		`{"tool_choice": {"type": "function", "function": {"name": "f"}}}`:     "tool_choice",
		`{"response_format": {"type": "json_schema"}}`:                         "response_format",
		`{"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}`: "image_url",
	} {
		err := parse(t, body, &chatRequest{})
		p, ok := errors.AsType[*admission.Problem](err)
		if !ok || p.Status != http.StatusBadRequest || !strings.Contains(p.Detail, want) || p.Next == "" {
			t.Errorf("%s: %v", body, err)
		}
	}
	for body, want := range map[string]string{
		`{"input": [{"type": "function_call_output"}]}`:                       "function_call_output",
		`{"text": {"format": {"type": "json_schema"}}}`:                       "text.format",
		`{"background": true, "stream": true}`:                                "background",
		`{"input": [{"role": "user", "content": [{"type": "input_image"}]}]}`: "input_image",
	} {
		err := parse(t, body, &responseRequest{})
		p, ok := errors.AsType[*admission.Problem](err)
		if !ok || p.Status != http.StatusBadRequest || !strings.Contains(p.Detail, want) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestWhatIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		messages, conversation, want string
	}{
		"one":                {`[{"role": "user", "content": "a"}]`, "", "a"},
		"parts":              {`[{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]`, "", "a\nb"},
		"two in a row":       {`[{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]`, "", "a\n\nb"},
		"known conversation": {`[{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]`, "x", "c"},
		"new conversation": {
			`[{"role": "developer", "content": "a"}, {"role": "assistant", "content": null}, {"role": "user", "content": "c"}]`, "",
			"Said before, elsewhere:\n\n<earlier>\ndeveloper: a\n\n</earlier>\n\nc",
		},
		"nothing new": {`[{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]`, "x", ""},
		"nothing":     {`[]`, "", ""},
		"too much":    {`[{"role": "user", "content": "` + strings.Repeat("a", maxText+1) + `"}]`, "", ""},
	} {
		var list []talker
		if err := json.Unmarshal([]byte(c.messages), &list); err != nil {
			t.Fatal(err)
		}
		got, err := say(list, c.conversation)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestWhereAResponseGoesOn(t *testing.T) {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
	for body, want := range map[string]string{
		`{}`:                                    "",
		`{"conversation": "c1"}`:                "c1",
		`{"conversation": {"id": "c"}}`:         "c",
		`{"previous_response_id": "resp_c2.m"}`: "c2",
		`{"metadata": {"conversation": "c3"}}`:  "c3",
		`{"conversation": "c1", "previous_response_id": "resp_c2.m"}`: "c2",
	} {
		var q responseRequest
		if err := json.Unmarshal([]byte(body), &q); err != nil {
			t.Fatal(err)
		}
		if got, err := q.place(r); got != want || err != nil {
			t.Errorf("%s: %q, %v", body, got, err)
		}
	}
}
