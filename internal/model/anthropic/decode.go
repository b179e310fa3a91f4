package anthropic

import (
	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/model"
)

// The beginnings of the seals of thinking: whose it is, and what it is. The provider's own mark
// follows.
const (
	sealSignature = "anthropic/signature:"
	sealRedacted  = "anthropic/redacted:"
)

// decoder turns the events of one stream into pieces of a reply.
type decoder struct {
	x      *model.Exchange
	blocks map[int64]*block
	open   int
	stop   model.Stop
	done   bool
}

// block is one content block; its piece is nil when it is of a kind we have not asked for.
type block struct {
	kind   string
	id     string
	piece  *model.Piece
	sealed bool
	closed bool
}

func (d *decoder) take(e sdk.MessageStreamEventUnion) {
	if d.done {
		return
	}
	switch e.Type {
	case "message_start":
		d.x.Identify(e.Message.ID, e.Message.Model)
		u := e.Message.Usage
		d.x.Count(count(u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens))
	case "content_block_start":
		d.start(e.Index, e.ContentBlock)
	case "content_block_delta":
		d.add(e.Index, e.Delta)
	case "content_block_stop":
		d.close(e.Index)
	case "message_delta":
		d.usage(e.Usage)
		if e.Delta.StopReason != "" {
			d.stop = stopOf(e.Delta.StopReason)
		}
	case "message_stop":
		d.done = true
		if d.stop == "" {
			d.x.Break(chat.KindServerError, "the provider ended the reply without a reason")
			return
		}
		d.x.Stop(d.stop)
		d.x.Linger()
	}
	if d.stop != "" && d.open == 0 && !d.x.Stopped() {
		d.x.Stop(d.stop)
	}
}

// start opens a block. A start that is repeated changes nothing; another block under the same index
// is a block of its own.
func (d *decoder) start(index int64, c sdk.ContentBlockStartEventContentBlockUnion) {
	if old := d.blocks[index]; old != nil {
		if old.kind == c.Type && old.id == c.ID {
			return
		}
		d.close(index)
	}
	b := &block{kind: c.Type, id: c.ID}
	d.blocks[index] = b
	d.open++
	switch c.Type {
	case "text":
		b.piece = d.x.Open(index, chat.PartText)
		b.piece.Add(c.Text)
	case "thinking":
		b.piece = d.x.Open(index, chat.PartThinking)
		b.piece.Add(c.Thinking)
		b.sign(c.Signature)
	case "redacted_thinking":
		b.piece = d.x.Open(index, chat.PartThinking)
		b.piece.Seal(sealRedacted + c.Data)
	case "tool_use":
		b.piece = d.x.Open(index, chat.PartToolUse)
		b.piece.Name(c.Name)
		if args := c.JSON.Input.Raw(); args != "{}" && args != "null" {
			b.piece.Whole(args)
		}
	}
}

func (d *decoder) add(index int64, delta sdk.MessageStreamEventUnionDelta) {
	b := d.blocks[index]
	if b == nil || b.closed {
		d.x.Break(chat.KindServerError, "the provider sent content outside a block")
		return
	}
	if b.piece == nil {
		return
	}
	switch {
	case b.kind == "text" && delta.Type == "text_delta":
		b.piece.Add(delta.Text)
	case b.kind == "thinking" && delta.Type == "thinking_delta":
		b.piece.Add(delta.Thinking)
	case b.kind == "thinking" && delta.Type == "signature_delta":
		b.sign(delta.Signature)
	case b.kind == "tool_use" && delta.Type == "input_json_delta":
		b.piece.Add(delta.PartialJSON)
	case delta.Type == "citations_delta":
	default:
		d.x.Break(chat.KindServerError, "the provider sent content that does not fit its block")
	}
}

func (d *decoder) close(index int64) {
	if b := d.blocks[index]; b != nil && !b.closed {
		b.closed = true
		d.open--
	}
}

// usage takes the last word on tokens. Counts of the input that it does not repeat stay as the
// start of the message had them.
func (d *decoder) usage(u sdk.MessageDeltaUsage) {
	c := d.x.Counted()
	if u.JSON.InputTokens.Valid() {
		c = count(u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens)
	}
	c.Output, c.Reasoning = u.OutputTokens, u.OutputTokensDetails.ThinkingTokens
	d.x.Count(c)
}

// count makes the input include the caches, which this provider counts beside it.
func count(input, read, written int64) model.Count {
	return model.Count{Input: model.Total(input, read, written), CacheRead: read, CacheWrite: written}
}

// sign adds to the signature of a thinking block.
func (b *block) sign(signature string) {
	if signature == "" {
		return
	}
	if !b.sealed {
		b.sealed = true
		b.piece.Seal(sealSignature)
	}
	b.piece.Seal(signature)
}

// stopOf translates the reason. A reason of tomorrow ends the turn like any other.
func stopOf(reason sdk.StopReason) model.Stop {
	switch reason {
	case sdk.StopReasonToolUse:
		return model.StopTools
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		return model.StopMaxTokens
	case sdk.StopReasonRefusal:
		return model.StopRefusal
	case sdk.StopReasonEndTurn, sdk.StopReasonStopSequence, sdk.StopReasonPauseTurn:
		return model.StopEnd
	}
	return model.StopEnd
}
