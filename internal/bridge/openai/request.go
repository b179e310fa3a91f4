package openai

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/retinue-dev/retinue/internal/api/admission"
	"github.com/retinue-dev/retinue/internal/bridge"
)

// talker is one message of a request.
type talker struct {
	Type    string  `json:"type"`
	Role    string  `json:"role"`
	Content content `json:"content"`
}

// content is a text, or a list of parts that are all texts.
type content string

// UnmarshalJSON implements json.Unmarshaler.
func (c *content) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	var text string
	if json.Unmarshal(data, &text) == nil {
		*c = content(text)
		return nil
	}
	var parts []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	var texts []string
	for _, p := range parts {
		switch p.Type {
		case "text", "input_text", "output_text":
			texts = append(texts, p.Text)
		case "refusal":
			texts = append(texts, p.Refusal)
		default:
			return invalid("content", "a part of type "+p.Type+" cannot be taken", "send text; files belong into the workspace")
		}
	}
	*c = content(strings.Join(texts, "\n"))
	return nil
}

// shared are the fields that both endpoints have, and that matter here.
type shared struct {
	Model      string            `json:"model"`
	Stream     bool              `json:"stream"`
	Metadata   map[string]string `json:"metadata"`
	ToolChoice json.RawMessage   `json:"tool_choice"`
}

// check refuses options on which a client would rely in vain.
func (s shared) check() error {
	var choice string
	if len(s.ToolChoice) > 0 && !bytes.Equal(s.ToolChoice, []byte("null")) {
		if json.Unmarshal(s.ToolChoice, &choice) != nil || choice == "required" {
			return invalid("tool_choice", "the agents use tools of their own and call none of yours", "leave it out, or send none or auto")
		}
	}
	return nil
}

// read reads the body of a request.
func read(w http.ResponseWriter, r *http.Request, into any) error {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &admission.Problem{
			Status: http.StatusRequestEntityTooLarge, Code: "invalid", Detail: "the request is too large",
			Next: "name the conversation and send only what is new",
		}
	}
	if err != nil {
		return invalid("body", "it could not be read", "send it again")
	}
	if err := admission.CheckJSON(data); err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		if p, ok := errors.AsType[*admission.Problem](err); ok {
			return p
		}
		return invalid("body", "it is not the JSON that is expected here", "compare it with OpenAI's reference")
	}
	return nil
}

// key is the client's key of a request. Without one, nobody can tell that it is sent again.
func key(r *http.Request) (string, error) {
	k := r.Header.Get("Idempotency-Key")
	switch {
	case k == "":
		return rand.Text(), nil
	case len(k) < 8 || len(k) > 200:
		return "", invalid("Idempotency-Key", "it has less than 8 or more than 200 characters", "make a new one for each request")
	}
	return k, nil
}

// post posts the message of a request.
func (w routes) post(r *http.Request, s shared, conversation, text string) (*bridge.UserTurn, error) {
	ctx := r.Context()
	if err := bridge.Allowed(ctx); err != nil {
		return nil, err
	}
	k, err := key(r)
	if err != nil {
		return nil, err
	}
	workspace := s.Metadata["workspace"]
	role, err := w.role(ctx, s.Model, workspace)
	if err != nil {
		return nil, err
	}
	return w.Post(ctx, bridge.Message{
		Key: k, Text: text, Conversation: conversation, Role: role, Workspace: workspace, Answers: true,
	})
}

// named is the conversation that a request names, empty if none.
func named(r *http.Request, s shared) string {
	if c := r.Header.Get(ConversationHeader); c != "" {
		return c
	}
	return s.Metadata["conversation"]
}

// maxText is how long a message may be.
const maxText = 200_000

// say is the text to send: the user's last message, in a new conversation after all messages before
// it.
func say(list []talker, conversation string) (string, error) {
	last := len(list)
	for last > 0 && list[last-1].Role == "user" {
		last--
	}
	var words []string
	for _, m := range list[last:] {
		if m.Content != "" {
			words = append(words, string(m.Content))
		}
	}
	text := strings.Join(words, "\n\n")
	if text == "" {
		return "", invalid("messages", "the last one is not the user's, or is empty", "end with what the user says")
	}
	if conversation == "" {
		text = earlier(list[:last]) + text
	}
	if len(text) > maxText {
		return "", invalid("messages", "they are longer than 200,000 bytes", "name the conversation and send only what is new")
	}
	return text, nil
}

// earlier are the messages before, in one block before the last one.
func earlier(list []talker) string {
	var out strings.Builder
	for _, m := range list {
		if m.Content != "" {
			out.WriteString(m.Role + ": " + string(m.Content) + "\n\n")
		}
	}
	if out.Len() == 0 {
		return ""
	}
	return "Said before, elsewhere:\n\n<earlier>\n" + out.String() + "</earlier>\n\n"
}

// watch follows a user turn for a client. If the client goes, watch does what the client wished and
// returns errGone.
func (w routes) watch(r *http.Request, x *bridge.UserTurn, tell func(bridge.News) error) (bridge.Result, error) {
	result, err := x.Watch(r.Context(), tell)
	switch {
	case err == nil:
		return result, nil
	case r.Context().Err() != nil || errors.Is(err, errGone):
		w.Gone(r, x)
		return result, errGone
	case errors.Is(err, bridge.ErrClosing):
		return result, &admission.Problem{
			Code: "unavailable", Detail: "the server is stopping; the run goes on", Wait: restartWait,
			Next: "send the same again with the same Idempotency-Key, or go on in conversation " + x.Conversation,
		}
	}
	return result, err
}

// quiet is told of nothing.
func quiet(bridge.News) error { return nil }
