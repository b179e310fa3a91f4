package scripted

import (
	"net/http"
	"strconv"
)

// The shapes of OpenAI's Chat Completions API, in the order in which it writes its fields.
type (
	openaiCompletion struct {
		ID                string         `json:"id"`
		Object            string         `json:"object"`
		Created           int64          `json:"created"`
		Model             string         `json:"model"`
		Choices           []openaiChoice `json:"choices"`
		Usage             *openaiUsage   `json:"usage,omitempty"`
		ServiceTier       string         `json:"service_tier"`
		SystemFingerprint string         `json:"system_fingerprint"`
	}
	openaiChoice struct {
		Index        int            `json:"index"`
		Message      *openaiMessage `json:"message,omitempty"`
		Logprobs     *string        `json:"logprobs"`
		FinishReason string         `json:"finish_reason"`
	}
	openaiMessage struct {
		Role      string       `json:"role"`
		Content   *string      `json:"content"`
		Reasoning string       `json:"reasoning_content,omitempty"`
		ToolCalls []openaiCall `json:"tool_calls,omitempty"`
		Refusal   *string      `json:"refusal"`
	}
	// openaiChunk has usage null in every chunk but the last when the count was asked for, and no
	// such field when it was not.
	openaiChunk struct {
		ID                string              `json:"id"`
		Object            string              `json:"object"`
		Created           int64               `json:"created"`
		Model             string              `json:"model"`
		ServiceTier       string              `json:"service_tier"`
		SystemFingerprint string              `json:"system_fingerprint"`
		Choices           []openaiChunkChoice `json:"choices"`
	}
	openaiCountedChunk struct {
		openaiChunk
		Usage *openaiUsage `json:"usage"`
	}
	openaiChunkChoice struct {
		Index        int         `json:"index"`
		Delta        openaiDelta `json:"delta"`
		Logprobs     *string     `json:"logprobs"`
		FinishReason *string     `json:"finish_reason"`
	}
	openaiDelta struct {
		Role      string       `json:"role,omitempty"`
		Content   *string      `json:"content,omitempty"`
		Reasoning string       `json:"reasoning_content,omitempty"`
		ToolCalls []openaiCall `json:"tool_calls,omitempty"`
		Refusal   *string      `json:"refusal,omitempty"`
	}
	openaiCall struct {
		Index    *int           `json:"index,omitempty"`
		ID       *string        `json:"id,omitempty"`
		Type     string         `json:"type,omitempty"`
		Function openaiFunction `json:"function"`
	}
	openaiFunction struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	}
	openaiUsage struct {
		PromptTokens            int64                   `json:"prompt_tokens"`
		CompletionTokens        int64                   `json:"completion_tokens"`
		TotalTokens             int64                   `json:"total_tokens"`
		PromptTokensDetails     openaiPromptDetails     `json:"prompt_tokens_details"`
		CompletionTokensDetails openaiCompletionDetails `json:"completion_tokens_details"`
	}
	openaiPromptDetails struct {
		CachedTokens     int64 `json:"cached_tokens"`
		CacheWriteTokens int64 `json:"cache_write_tokens"`
		AudioTokens      int64 `json:"audio_tokens"`
	}
	openaiCompletionDetails struct {
		ReasoningTokens          int64 `json:"reasoning_tokens"`
		AudioTokens              int64 `json:"audio_tokens"`
		AcceptedPredictionTokens int64 `json:"accepted_prediction_tokens"`
		RejectedPredictionTokens int64 `json:"rejected_prediction_tokens"`
	}
)

// openaiCreated is when every completion was made: content holds no clock.
const openaiCreated = 1735689600

const openaiFingerprint = "fp_scripted"

var openaiStops = map[Stop]string{
	StopEnd: "stop", StopTools: "tool_calls", StopMaxTokens: "length", StopRefusal: "stop",
}

func openaiUsageOf(u *Usage) *openaiUsage {
	if u == nil {
		return nil
	}
	return &openaiUsage{
		PromptTokens: u.Input, CompletionTokens: u.Output, TotalTokens: u.Input + u.Output,
		PromptTokensDetails:     openaiPromptDetails{CachedTokens: u.CacheRead, CacheWriteTokens: u.CacheWrite},
		CompletionTokensDetails: openaiCompletionDetails{ReasoningTokens: u.Reasoning},
	}
}

// openaiBody is an answer that is not streamed.
func (a *answer) openaiBody() []byte {
	message := &openaiMessage{Role: "assistant", Reasoning: a.thinking}
	switch {
	case a.stop == StopRefusal:
		message.Refusal = &a.text
	case a.text != "":
		message.Content = &a.text
	}
	for _, c := range a.calls {
		message.ToolCalls = append(message.ToolCalls,
			openaiCall{ID: &c.id, Type: "function", Function: openaiFunction{c.tool, c.args}})
	}
	return must(openaiCompletion{
		ID: "chatcmpl-" + a.id, Object: "chat.completion", Created: openaiCreated, Model: a.model,
		Choices:     []openaiChoice{{Message: message, FinishReason: openaiStops[a.stop]}},
		Usage:       openaiUsageOf(a.told),
		ServiceTier: "default", SystemFingerprint: openaiFingerprint,
	})
}

// openaiChunk lays out one chunk of a stream.
func (a *answer) openaiChunk(kind frameKind, counted bool, choices []openaiChunkChoice, u *Usage) frame {
	chunk := openaiChunk{
		ID: "chatcmpl-" + a.id, Object: "chat.completion.chunk", Created: openaiCreated, Model: a.model,
		ServiceTier: "default", SystemFingerprint: openaiFingerprint, Choices: choices,
	}
	if !counted {
		return data(kind, chunk)
	}
	return data(kind, openaiCountedChunk{chunk, openaiUsageOf(u)})
}

// openaiFrames is an answer as a stream.
func (a *answer) openaiFrames(counted bool) []frame {
	empty := ""
	var frames []frame
	say := func(kind frameKind, d openaiDelta) {
		frames = append(frames, a.openaiChunk(kind, counted, []openaiChunkChoice{{Delta: d}}, nil))
	}
	opening := openaiDelta{Role: "assistant", Content: &empty}
	if len(a.calls) > 0 && a.text == "" {
		opening.Content = nil
	}
	say(frameOpen, opening)
	for _, c := range chunks(a.thinking, a.chunk) {
		say(frameDelta, openaiDelta{Reasoning: c})
	}
	for _, c := range chunks(a.text, a.chunk) {
		if a.stop == StopRefusal {
			say(frameDelta, openaiDelta{Refusal: &c})
		} else {
			say(frameDelta, openaiDelta{Content: &c})
		}
	}
	for i, c := range a.calls {
		say(frameBegin, openaiDelta{ToolCalls: []openaiCall{
			{Index: &i, ID: &c.id, Type: "function", Function: openaiFunction{Name: c.tool}},
		}})
		for _, args := range chunks(c.args, a.chunk) {
			say(frameDelta, openaiDelta{ToolCalls: []openaiCall{
				{Index: &i, Function: openaiFunction{Arguments: args}},
			}})
		}
	}
	stop := openaiStops[a.stop]
	frames = append(frames,
		a.openaiChunk(frameStop, counted, []openaiChunkChoice{{FinishReason: &stop}}, nil))
	if counted && a.told != nil {
		frames = append(frames, a.openaiChunk(frameUsage, true, []openaiChunkChoice{}, a.told))
	}
	return append(frames, frame{frameLast, []byte("data: [DONE]\n\n")})
}

// openaiResponse lays an answer out for OpenAI's wire.
func openaiResponse(q *ask, a *answer) *response {
	r := &response{
		status: http.StatusOK, header: http.Header{}, delay: a.delay, pace: a.pace, billed: true,
	}
	r.header.Set("Openai-Version", "2020-10-01")
	r.header.Set("Openai-Organization", "scripted")
	r.header.Set("Openai-Processing-Ms", strconv.FormatInt(a.delay.Milliseconds(), 10))
	if q.Stream {
		r.header.Set("Content-Type", "text/event-stream; charset=utf-8")
		r.frames = a.openaiFrames(q.Counted)
	} else {
		r.header.Set("Content-Type", "application/json")
		r.frames = []frame{{frameBody, a.openaiBody()}}
	}
	return r
}

// openaiProblem is the inside of OpenAI's error body.
type openaiProblem struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

// openaiErrors are the type and the code that go with a status.
var openaiErrors = map[int][2]string{
	http.StatusBadRequest:            {"invalid_request_error", ""},
	http.StatusUnauthorized:          {"invalid_request_error", "invalid_api_key"},
	http.StatusForbidden:             {"invalid_request_error", "permission_denied"},
	http.StatusNotFound:              {"invalid_request_error", "model_not_found"},
	http.StatusMethodNotAllowed:      {"invalid_request_error", "method_not_supported"},
	http.StatusRequestEntityTooLarge: {"invalid_request_error", "request_too_large"},
	http.StatusTooManyRequests:       {"requests", "rate_limit_exceeded"},
	http.StatusInternalServerError:   {"server_error", ""},
	http.StatusServiceUnavailable:    {"server_error", "overloaded"},
	http.StatusGatewayTimeout:        {"server_error", "timeout"},
}

func openaiError(status int, message, param string) []byte {
	kind := openaiErrors[status]
	p := openaiProblem{Message: message, Type: kind[0]}
	if param != "" {
		p.Param = &param
	}
	if kind[1] != "" {
		p.Code = &kind[1]
	}
	return must(struct {
		Error openaiProblem `json:"error"`
	}{p})
}
