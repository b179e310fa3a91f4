package scripted

import (
	"encoding/json"
	"net/http"

	"github.com/retinue-dev/retinue/internal/model/scripted/request"
)

// The shapes of Anthropic's Messages API, in the order in which it writes its fields.
type (
	anthropicMessage struct {
		ID           string           `json:"id"`
		Type         string           `json:"type"`
		Role         string           `json:"role"`
		Model        string           `json:"model"`
		Content      []anthropicBlock `json:"content"`
		StopReason   *string          `json:"stop_reason"`
		StopSequence *string          `json:"stop_sequence"`
		Usage        *anthropicUsage  `json:"usage,omitempty"`
	}
	anthropicBlock struct {
		Type      string          `json:"type"`
		Thinking  *string         `json:"thinking,omitempty"`
		Signature *string         `json:"signature,omitempty"`
		Text      *string         `json:"text,omitempty"`
		ID        *string         `json:"id,omitempty"`
		Name      string          `json:"name,omitempty"`
		Input     json.RawMessage `json:"input,omitempty"`
	}
	anthropicUsage struct {
		InputTokens              int64                  `json:"input_tokens"`
		CacheCreationInputTokens int64                  `json:"cache_creation_input_tokens"`
		CacheReadInputTokens     int64                  `json:"cache_read_input_tokens"`
		CacheCreation            *anthropicCreation     `json:"cache_creation,omitempty"`
		OutputTokens             int64                  `json:"output_tokens"`
		OutputTokensDetails      anthropicOutputDetails `json:"output_tokens_details"`
		ServiceTier              string                 `json:"service_tier,omitempty"`
	}
	anthropicCreation struct {
		Ephemeral5m int64 `json:"ephemeral_5m_input_tokens"`
		Ephemeral1h int64 `json:"ephemeral_1h_input_tokens"`
	}
	anthropicOutputDetails struct {
		ThinkingTokens int64 `json:"thinking_tokens"`
	}
	anthropicEvent struct {
		Type         string            `json:"type"`
		Index        *int              `json:"index,omitempty"`
		Message      *anthropicMessage `json:"message,omitempty"`
		ContentBlock *anthropicBlock   `json:"content_block,omitempty"`
		Delta        any               `json:"delta,omitempty"`
		Usage        *anthropicUsage   `json:"usage,omitempty"`
	}
	anthropicStop struct {
		StopReason   string  `json:"stop_reason"`
		StopSequence *string `json:"stop_sequence"`
	}
	anthropicDelta struct {
		Type        string  `json:"type"`
		Text        *string `json:"text,omitempty"`
		Thinking    *string `json:"thinking,omitempty"`
		Signature   *string `json:"signature,omitempty"`
		PartialJSON *string `json:"partial_json,omitempty"`
	}
)

var anthropicStops = map[Stop]string{
	StopEnd: "end_turn", StopTools: "tool_use", StopMaxTokens: "max_tokens", StopRefusal: "refusal",
}

// anthropicUsageOf turns a count into Anthropic's, where input leaves the cache out.
func anthropicUsageOf(u *Usage) *anthropicUsage {
	if u == nil {
		return nil
	}
	return &anthropicUsage{
		InputTokens:              u.Input - u.CacheRead - u.CacheWrite,
		CacheCreationInputTokens: u.CacheWrite,
		CacheReadInputTokens:     u.CacheRead,
		OutputTokens:             u.Output,
		OutputTokensDetails:      anthropicOutputDetails{u.Reasoning},
	}
}

// startUsage is the count at the beginning of a message, when hardly anything has been said.
func (a *answer) startUsage(output int64) *anthropicUsage {
	u := anthropicUsageOf(a.told)
	if u == nil {
		return nil
	}
	u.CacheCreation = &anthropicCreation{Ephemeral5m: u.CacheCreationInputTokens}
	u.ServiceTier = "standard"
	u.OutputTokens = output
	u.OutputTokensDetails = anthropicOutputDetails{}
	return u
}

// anthropicBlocks are the blocks of an answer, whole. Arguments that are not JSON cannot be shown
// in a body that is; they come as text.
func (a *answer) anthropicBlocks() []anthropicBlock {
	blocks := []anthropicBlock{}
	if a.thinking != "" {
		signature := request.Seal(a.thinking)
		blocks = append(blocks, anthropicBlock{Type: "thinking", Thinking: &a.thinking, Signature: &signature})
	}
	if a.text != "" {
		blocks = append(blocks, anthropicBlock{Type: "text", Text: &a.text})
	}
	for _, c := range a.calls {
		input := json.RawMessage(c.args)
		if !json.Valid(input) {
			input = must(c.args)
		}
		blocks = append(blocks, anthropicBlock{Type: "tool_use", ID: &c.id, Name: c.tool, Input: input})
	}
	return blocks
}

// anthropicBody is an answer that is not streamed.
func (a *answer) anthropicBody() []byte {
	stop := anthropicStops[a.stop]
	usage := anthropicUsageOf(a.told)
	if usage != nil {
		usage.CacheCreation = &anthropicCreation{Ephemeral5m: usage.CacheCreationInputTokens}
		usage.ServiceTier = "standard"
	}
	return must(anthropicMessage{
		ID: "msg_" + a.id, Type: "message", Role: "assistant", Model: a.model,
		Content: a.anthropicBlocks(), StopReason: &stop, Usage: usage,
	})
}

// anthropicFrames is an answer as a stream.
func (a *answer) anthropicFrames() []frame {
	frames := []frame{event(frameOpen, "message_start", anthropicEvent{
		Type: "message_start",
		Message: &anthropicMessage{
			ID: "msg_" + a.id, Type: "message", Role: "assistant", Model: a.model,
			Content: []anthropicBlock{}, Usage: a.startUsage(1),
		},
	})}
	ping := event(framePing, "ping", anthropicEvent{Type: "ping"})
	for i, b := range a.anthropicBlocks() {
		frames = append(frames, a.anthropicBlock(i, b)...)
		if i == 0 { // one ping, after the first block has begun
			frames = append(frames[:2], append([]frame{ping}, frames[2:]...)...)
		}
	}
	return append(frames,
		event(frameStop, "message_delta", anthropicEvent{
			Type: "message_delta", Delta: anthropicStop{StopReason: anthropicStops[a.stop]},
			Usage: anthropicUsageOf(a.told),
		}),
		event(frameLast, "message_stop", anthropicEvent{Type: "message_stop"}),
	)
}

// anthropicBlock is one block as a stream: its empty beginning, its deltas and its end.
func (a *answer) anthropicBlock(i int, b anthropicBlock) []frame {
	empty := ""
	begin := anthropicBlock{Type: b.Type}
	var deltas []anthropicDelta
	switch {
	case b.Thinking != nil:
		begin.Thinking, begin.Signature = &empty, &empty
		for _, c := range chunks(*b.Thinking, a.chunk) {
			deltas = append(deltas, anthropicDelta{Type: "thinking_delta", Thinking: &c})
		}
		deltas = append(deltas, anthropicDelta{Type: "signature_delta", Signature: b.Signature})
	case b.Text != nil:
		begin.Text = &empty
		for _, c := range chunks(*b.Text, a.chunk) {
			deltas = append(deltas, anthropicDelta{Type: "text_delta", Text: &c})
		}
	default:
		begin.ID, begin.Name, begin.Input = b.ID, b.Name, json.RawMessage("{}")
		deltas = append(deltas, anthropicDelta{Type: "input_json_delta", PartialJSON: &empty})
		for _, c := range chunks(a.argsOf(i), a.chunk) {
			deltas = append(deltas, anthropicDelta{Type: "input_json_delta", PartialJSON: &c})
		}
	}
	frames := []frame{event(frameBegin, "content_block_start",
		anthropicEvent{Type: "content_block_start", Index: &i, ContentBlock: &begin})}
	for _, d := range deltas {
		frames = append(frames, event(frameDelta, "content_block_delta",
			anthropicEvent{Type: "content_block_delta", Index: &i, Delta: d}))
	}
	return append(frames, event(frameEnd, "content_block_stop",
		anthropicEvent{Type: "content_block_stop", Index: &i}))
}

// argsOf is the text of the arguments in block i, as it was written.
func (a *answer) argsOf(i int) string {
	if a.thinking != "" {
		i--
	}
	if a.text != "" {
		i--
	}
	return a.calls[i].args
}

// anthropicResponse lays an answer out for Anthropic's wire.
func anthropicResponse(q *ask, a *answer) *response {
	r := &response{
		status: http.StatusOK, header: http.Header{}, delay: a.delay, pace: a.pace, billed: true,
	}
	if q.Stream {
		r.header.Set("Content-Type", "text/event-stream; charset=utf-8")
		r.header.Set("Cache-Control", "no-cache")
		r.frames = a.anthropicFrames()
	} else {
		r.header.Set("Content-Type", "application/json")
		r.frames = []frame{{frameBody, a.anthropicBody()}}
	}
	return r
}

// anthropicErrors are the types that go with a status.
var anthropicErrors = map[int]string{
	http.StatusBadRequest:            "invalid_request_error",
	http.StatusUnauthorized:          "authentication_error",
	http.StatusForbidden:             "permission_error",
	http.StatusNotFound:              "not_found_error",
	http.StatusMethodNotAllowed:      "invalid_request_error",
	http.StatusRequestEntityTooLarge: "request_too_large",
	http.StatusTooManyRequests:       "rate_limit_error",
	http.StatusInternalServerError:   "api_error",
	http.StatusGatewayTimeout:        "timeout_error",
	statusOverloaded:                 "overloaded_error",
}

// statusOverloaded is Anthropic's own.
const statusOverloaded = 529

func anthropicError(status int, message, request string) []byte {
	type inner struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	return must(struct {
		Type      string `json:"type"`
		Error     inner  `json:"error"`
		RequestID string `json:"request_id"`
	}{"error", inner{anthropicErrors[status], message}, request})
}
