package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/model"
)

const (
	// maxMarks is how many cache marks the provider takes, maxSystemMarks and maxMessageMarks how
	// many of them we spend where.
	maxMarks        = 4
	maxSystemMarks  = 2
	maxMessageMarks = 2
	// minBudget is the least the provider takes for thinking.
	minBudget = 1024
)

// encode writes a checked request as the provider's.
func (c *Client) encode(req model.Request) sdk.MessageNewParams {
	p := sdk.MessageNewParams{Model: req.Model, MaxTokens: req.MaxOutput}
	for _, in := range req.System {
		p.System = append(p.System, sdk.TextBlockParam{Text: in.Text})
	}
	for _, t := range req.Tools {
		tool := &sdk.ToolParam{
			Name: t.Name, InputSchema: param.Override[sdk.ToolInputSchemaParam](t.Schema),
		}
		if t.Description != "" {
			tool.Description = sdk.String(t.Description)
		}
		p.Tools = append(p.Tools, sdk.ToolUnionParam{OfTool: tool})
	}
	for _, msg := range req.Transcript {
		role := sdk.MessageParamRoleUser
		if msg.Speaker == chat.Assistant {
			role = sdk.MessageParamRoleAssistant
		}
		p.Messages = append(p.Messages, sdk.MessageParam{Role: role, Content: blocks(msg, req.Images)})
	}
	mark(req, &p)
	c.think(req, &p)
	if req.Temperature != nil && p.Thinking.OfEnabled == nil && p.Thinking.OfAdaptive == nil {
		p.Temperature = sdk.Float(*req.Temperature) // a thinking model takes none
	}
	return p
}

func blocks(msg chat.Message, images map[string]model.Image) []sdk.ContentBlockParamUnion {
	var out []sdk.ContentBlockParamUnion
	for _, p := range msg.Parts {
		switch p.Kind {
		case chat.PartText:
			out = append(out, sdk.NewTextBlock(p.Text))
		case chat.PartThinking:
			if signature, ok := strings.CutPrefix(p.Seal, sealSignature); ok {
				out = append(out, sdk.NewThinkingBlock(signature, p.Text))
			} else if data, ok := strings.CutPrefix(p.Seal, sealRedacted); ok {
				out = append(out, sdk.NewRedactedThinkingBlock(data))
			} // thinking of others is nothing to this provider
		case chat.PartImage:
			if p.Call == "" { // one of a result is a part of that
				out = append(out, picture(images[p.Image]))
			}
		case chat.PartToolUse:
			id, args := model.WireID(p.Call), json.RawMessage(p.Args)
			out = append(out, sdk.NewToolUseBlock(id, args, model.WireTool(p.Tool)))
		case chat.PartToolResult:
			block := sdk.NewToolResultBlock(model.WireID(p.Call), p.Text, p.Failed)
			for _, other := range msg.Parts {
				if other.Kind == chat.PartImage && other.Call == p.Call {
					block.OfToolResult.Content = append(block.OfToolResult.Content,
						sdk.ToolResultBlockParamContentUnion{OfImage: picture(images[other.Image]).OfImage})
				}
			}
			out = append(out, block)
		}
	}
	return out
}

func picture(img model.Image) sdk.ContentBlockParamUnion {
	return sdk.NewImageBlockBase64(img.MediaType, base64.StdEncoding.EncodeToString(img.Data))
}

// mark tells the provider up to where a request will be asked again: the tools, the instructions
// that stay, and the end of the talk so far. The part that changes least is marked first. A request
// that nothing will follow, without tools and with one message, is not worth writing to a cache.
func mark(req model.Request, p *sdk.MessageNewParams) {
	left := maxMarks
	ephemeral := sdk.NewCacheControlEphemeralParam()
	if n := len(p.Tools); n > 0 {
		p.Tools[n-1].OfTool.CacheControl = ephemeral
		left--
	}
	spent := 0
	for i := len(req.System) - 1; i >= 0 && spent < maxSystemMarks; i-- {
		if req.System[i].Cache {
			p.System[i].CacheControl = ephemeral
			spent++
		}
	}
	left -= spent
	if len(req.Tools) == 0 && len(req.Transcript) == 1 {
		return
	}
	for i, n := len(p.Messages)-1, min(left, maxMessageMarks); i >= 0 && n > 0; i, n = i-2, n-1 {
		content := p.Messages[i].Content
		*content[len(content)-1].GetCacheControl() = ephemeral
	}
}

// think sets how hard the model should think. A budget lies within the tokens of the reply, and
// leaves a quarter of them to the answer.
func (c *Client) think(req model.Request, p *sdk.MessageNewParams) {
	var budget int64
	var effort sdk.OutputConfigEffort
	switch req.Effort {
	case "":
		return
	case model.EffortNone:
		p.Thinking.OfDisabled = &sdk.ThinkingConfigDisabledParam{}
		return
	case model.EffortLow:
		budget, effort = 2048, sdk.OutputConfigEffortLow
	case model.EffortMedium:
		budget, effort = 8192, sdk.OutputConfigEffortMedium
	case model.EffortHigh:
		budget, effort = 24576, sdk.OutputConfigEffortHigh
	}
	switch c.thinking {
	case ThinkingAdaptive:
		p.Thinking.OfAdaptive = &sdk.ThinkingConfigAdaptiveParam{}
		p.OutputConfig.Effort = effort
	case ThinkingBudget:
		budget = min(budget, req.MaxOutput*3/4)
		if budget >= minBudget && thoughtfulRound(req.Transcript) {
			p.Thinking.OfEnabled = &sdk.ThinkingConfigEnabledParam{BudgetTokens: budget}
		}
	}
}

// thoughtfulRound reports whether thinking may be on. The provider refuses to think on in a round
// of calls that did not begin with thinking of its own.
func thoughtfulRound(t chat.Transcript) bool {
	if len(t) < 2 {
		return true
	}
	parts := t[len(t)-2].Parts
	calls := slices.ContainsFunc(parts, func(p chat.Part) bool { return p.Kind == chat.PartToolUse })
	seal := parts[0].Seal
	return !calls || strings.HasPrefix(seal, sealSignature) || strings.HasPrefix(seal, sealRedacted)
}
