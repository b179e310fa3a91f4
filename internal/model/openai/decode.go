package openai

import (
	"encoding/json"

	sdk "github.com/openai/openai-go/v3"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/model"
)

// sealField marks thinking with the field it came in, so that it goes back in the same.
const sealField = "openai/field:"

// reasoningFields are where servers put what a model thinks; the protocol has no place for it.
var reasoningFields = []string{"reasoning_content", "reasoning"}

// The order of parts in a reply: thinking, text, then calls by their index.
const (
	thinkingOrder = iota - 2
	textOrder
)

// decoder turns the chunks of one stream into pieces of a reply.
type decoder struct {
	x        *model.Exchange
	thinking *model.Piece
	text     *model.Piece
	calls    map[int64]*call
	refused  bool
}

// call is a tool call on its way.
type call struct {
	id    string
	piece *model.Piece
}

func (d *decoder) take(chunk sdk.ChatCompletionChunk) {
	d.x.Identify(chunk.ID, chunk.Model)
	if chunk.JSON.Usage.Valid() {
		d.x.Count(count(chunk.Usage))
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue // we asked for one
		}
		d.reason(choice.Delta)
		d.say(choice.Delta.Content)
		if choice.Delta.Refusal != "" {
			d.refused = true
			d.say(choice.Delta.Refusal)
		}
		for _, c := range choice.Delta.ToolCalls {
			d.call(c)
		}
		if choice.FinishReason != "" {
			d.x.Stop(d.stop(choice.FinishReason))
		}
	}
}

func (d *decoder) reason(delta sdk.ChatCompletionChunkChoiceDelta) {
	for _, field := range reasoningFields {
		var text string
		raw := delta.JSON.ExtraFields[field].Raw()
		if raw == "" || json.Unmarshal([]byte(raw), &text) != nil || text == "" {
			continue
		}
		if d.thinking == nil {
			d.thinking = d.x.Open(thinkingOrder, chat.PartThinking)
			d.thinking.Seal(sealField + field)
		}
		d.thinking.Add(text)
		return // servers that fill both say the same twice
	}
}

func (d *decoder) say(text string) {
	if text == "" {
		return
	}
	if d.text == nil {
		d.text = d.x.Open(textOrder, chat.PartText)
	}
	d.text.Add(text)
}

// call adds to a tool call. Calls are told apart by their index; servers that give every call the
// same index tell them apart by id.
func (d *decoder) call(c sdk.ChatCompletionChunkChoiceDeltaToolCall) {
	open := d.calls[c.Index]
	if open == nil || c.ID != "" && open.id != "" && c.ID != open.id {
		open = &call{piece: d.x.Open(max(0, c.Index), chat.PartToolUse)}
		if d.calls == nil {
			d.calls = map[int64]*call{}
		}
		d.calls[c.Index] = open
	}
	if c.ID != "" {
		open.id = c.ID
	}
	open.piece.Name(c.Function.Name)
	open.piece.Add(c.Function.Arguments)
}

// stop translates the reason. A reason of tomorrow ends the turn like any other.
func (d *decoder) stop(reason string) model.Stop {
	switch {
	case d.refused || reason == "content_filter":
		return model.StopRefusal
	case reason == "length":
		return model.StopMaxTokens
	case reason == "tool_calls" || reason == "function_call":
		return model.StopTools
	}
	return model.StopEnd
}

// count reads the tokens. Some servers leave reasoning out of the completion and have it in the
// total; DeepSeek has a name of its own for tokens read from its cache.
func count(u sdk.CompletionUsage) model.Count {
	c := model.Count{
		Input: u.PromptTokens, Output: u.CompletionTokens,
		CacheRead:  u.PromptTokensDetails.CachedTokens,
		CacheWrite: u.PromptTokensDetails.CacheWriteTokens,
		Reasoning:  u.CompletionTokensDetails.ReasoningTokens,
	}
	if c.Reasoning > 0 && u.TotalTokens == model.Total(c.Input, c.Output, c.Reasoning) {
		c.Output += c.Reasoning
	}
	if raw := u.JSON.ExtraFields["prompt_cache_hit_tokens"].Raw(); c.CacheRead == 0 && raw != "" {
		if json.Unmarshal([]byte(raw), &c.CacheRead) != nil {
			c.CacheRead = 0
		}
	}
	return c
}
