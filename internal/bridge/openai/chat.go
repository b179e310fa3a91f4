package openai

import (
	"errors"
	"net/http"

	"github.com/retinue-dev/retinue/internal/bridge"
	"github.com/retinue-dev/retinue/internal/chat"
)

type chatRequest struct {
	shared
	Messages      []talker `json:"messages"`
	N             int      `json:"n"`
	Logprobs      bool     `json:"logprobs"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	ResponseFormat struct {
		Type string `json:"type"`
	} `json:"response_format"`
}

func (c chatRequest) check() error {
	if c.N > 1 {
		return invalid("n", "there is one answer", "leave it out")
	}
	if c.Logprobs {
		return invalid("logprobs", "agents have none", "leave it out")
	}
	if f := c.ResponseFormat.Type; f != "" && f != "text" {
		return invalid("response_format", "answers are text", "leave it out, and say in words what you want")
	}
	return c.shared.check()
}

// completion is an answer, or a piece of one.
type completion struct {
	ID      string     `json:"id"`
	Object  string     `json:"object"`
	Created int64      `json:"created"`
	Model   string     `json:"model"`
	Choices []choice   `json:"choices"`
	Usage   *tokens    `json:"usage,omitempty"`
	Retinue *extension `json:"retinue,omitempty"`
}

type choice struct {
	Index   int    `json:"index"`
	Message *words `json:"message,omitempty"`
	Delta   *words `json:"delta,omitempty"`
	// Finish is null until the end.
	Finish *string `json:"finish_reason"`
}

type words struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`
	// Reasoning is where clients that know the field show progress.
	Reasoning string `json:"reasoning_content,omitempty"`
}

type tokens struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
	PromptOf   struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionOf struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func tokensOf(u chat.Usage) *tokens {
	t := &tokens{Prompt: u.Input, Completion: u.Output, Total: u.Input + u.Output}
	t.PromptOf.Cached, t.CompletionOf.Reasoning = u.CacheRead, u.Reasoning
	return t
}

// finish is why an answer ends.
func finish(r bridge.Result) string {
	if r.Cut {
		return "length"
	}
	return "stop"
}

// reply is all that the person is told.
func reply(x *bridge.UserTurn, r bridge.Result) string {
	text := r.Words()
	if r.State != bridge.StateWaits {
		return text
	}
	if text != "" {
		text += bridge.Between
	}
	return text + bridge.AskWords(x.Asks(r.Pending))
}

func (w routes) chat(rw http.ResponseWriter, r *http.Request) {
	x, req, err := w.chatUserTurn(rw, r)
	if err != nil {
		w.Server.Guard().Refuse(rw, r, err)
		return
	}
	head := completion{ID: "chatcmpl-" + x.String(), Created: x.At.Unix(), Model: req.Model}
	if req.Stream {
		head.Object = "chat.completion.chunk"
		w.chatStream(rw, r, x, req, head)
		return
	}
	out, err := bridge.NewPatient(rw)
	if err != nil {
		w.Server.Guard().Refuse(rw, r, err)
		return
	}
	rw.Header().Set(ConversationHeader, x.Conversation)
	result, err := w.watch(r, x, quiet)
	if err == nil && result.State == bridge.StateFailed {
		err = broken(x, result)
	}
	if err != nil {
		if !errors.Is(err, errGone) {
			w.Server.Guard().Refuse(out, r, err)
		}
		return
	}
	text, end := reply(x, result), finish(result)
	head.Object, head.Usage, head.Retinue = "chat.completion", tokensOf(result.Usage), summary(x, result)
	head.Choices = []choice{{Message: &words{Role: "assistant", Content: &text}, Finish: &end}}
	send(out, http.StatusOK, head)
}

func (w routes) chatUserTurn(rw http.ResponseWriter, r *http.Request) (*bridge.UserTurn, chatRequest, error) {
	var req chatRequest
	if err := read(rw, r, &req); err != nil {
		return nil, req, err
	}
	if err := req.check(); err != nil {
		return nil, req, err
	}
	conversation := named(r, req.shared)
	text, err := say(req.Messages, conversation)
	if err != nil {
		return nil, req, err
	}
	x, err := w.post(r, req.shared, conversation, text)
	return x, req, err
}

// chunks sends an answer as it is written.
type chunks struct {
	stream
	head    completion
	x       *bridge.UserTurn
	message string
	any     bool
}

func (c *chunks) send(delta words, ext *extension, end *string) error {
	piece := c.head
	piece.Choices, piece.Retinue = []choice{{Delta: &delta, Finish: end}}, ext
	return c.event("", piece)
}

// text sends text of one message of the orchestrator.
func (c *chunks) text(message, text string, ext *extension) error {
	if text == "" {
		return nil
	}
	if c.any && message != c.message || ext != nil {
		text = bridge.Between + text
	}
	c.any, c.message = true, message
	return c.send(words{Content: &text}, ext, nil)
}

// tell sends news.
func (c *chunks) tell(n bridge.News) error {
	switch {
	case n.Beat:
		return c.beat()
	case n.Event != nil:
		line := bridge.Doing(*n.Event)
		if line != "" {
			line += "\n"
		}
		return c.send(words{Reasoning: line}, happened(c.x, *n.Event), nil)
	case n.Again:
		ext := extend(c.x, bridge.StateRuns)
		ext.Restarted = true
		return c.text(n.Message, n.Text, ext)
	}
	return c.text(n.Message, n.Text, nil)
}

func (w routes) chatStream(rw http.ResponseWriter, r *http.Request, x *bridge.UserTurn, req chatRequest, head completion) {
	out, err := open(rw, x)
	if err != nil {
		return
	}
	c := &chunks{stream: out, head: head, x: x}
	nothing := ""
	if c.send(words{Role: "assistant", Content: &nothing}, extend(x, bridge.StateRuns), nil) != nil {
		w.Gone(r, x)
		return
	}
	result, err := w.watch(r, x, c.tell)
	if err == nil && result.State == bridge.StateFailed {
		err = broken(x, result)
	}
	if err != nil {
		if !errors.Is(err, errGone) {
			_ = c.event("", w.problem(r, err)) // it may have gone
		}
		return
	}
	if result.State == bridge.StateWaits {
		err = c.text("ask", bridge.AskWords(x.Asks(result.Pending)), nil)
	}
	end := finish(result)
	if err == nil {
		err = c.send(words{}, summary(x, result), &end)
	}
	if err == nil && req.StreamOptions.IncludeUsage {
		last := head
		last.Choices, last.Usage = []choice{}, tokensOf(result.Usage)
		err = c.event("", last)
	}
	if err == nil {
		_ = c.write("data: [DONE]\n\n") // it may have gone
	}
}
