package openai

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/model"
)

// failedMark stands before the result of a call that failed; the protocol has no field for it.
const failedMark = "The call failed: "

// imageMark stands before the image of a result, which a message of the user's has to carry: a
// result is text in this protocol.
const imageMark = "The image that this call returned: "

// encode writes a checked request as the provider's.
func (c *Client) encode(req model.Request) sdk.ChatCompletionNewParams {
	p := sdk.ChatCompletionNewParams{
		Model:         req.Model,
		StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: sdk.Bool(true)},
	}
	if c.oldLimit {
		p.MaxTokens = sdk.Int(req.MaxOutput)
	} else {
		p.MaxCompletionTokens = sdk.Int(req.MaxOutput)
	}
	if req.Temperature != nil {
		p.Temperature = sdk.Float(*req.Temperature)
	}
	switch req.Effort {
	case "":
	case model.EffortNone:
		p.ReasoningEffort = shared.ReasoningEffortNone
	case model.EffortLow:
		p.ReasoningEffort = shared.ReasoningEffortLow
	case model.EffortMedium:
		p.ReasoningEffort = shared.ReasoningEffortMedium
	case model.EffortHigh:
		p.ReasoningEffort = shared.ReasoningEffortHigh
	}
	for _, t := range req.Tools {
		p.Tools = append(p.Tools, sdk.ChatCompletionFunctionTool(function(t)))
	}
	if len(req.System) > 0 {
		p.Messages = append(p.Messages, sdk.SystemMessage(system(req.System)))
	}
	spoke := lastSpoke(req.Transcript)
	for i, msg := range req.Transcript {
		if msg.Speaker == chat.Assistant {
			p.Messages = append(p.Messages, assistant(msg, i > spoke))
		} else {
			p.Messages = append(p.Messages, user(msg, req.Images)...)
		}
	}
	return p
}

// function keeps the schema as it was written, byte for byte.
func function(t model.Tool) shared.FunctionDefinitionParam {
	raw, err := json.Marshal(struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	}{t.Name, t.Description, t.Schema})
	if err != nil {
		panic("openai: a checked schema is always JSON: " + err.Error())
	}
	return param.Override[shared.FunctionDefinitionParam](json.RawMessage(raw))
}

// system joins the instructions: many servers take only one such message.
func system(in []model.Instruction) string {
	texts := make([]string, len(in))
	for i := range in {
		texts[i] = in[i].Text
	}
	return strings.Join(texts, "\n\n")
}

// lastSpoke is the last message in which the user said something besides answering calls.
func lastSpoke(t chat.Transcript) int {
	for i := len(t) - 1; i >= 0; i-- {
		spoke := func(p chat.Part) bool { return p.Kind != chat.PartToolResult && p.Call == "" }
		if t[i].Speaker == chat.User && slices.ContainsFunc(t[i].Parts, spoke) {
			return i
		}
	}
	return -1
}

// assistant writes a reply. Thinking goes back only while its round is open: there servers want to
// see it again, and elsewhere some refuse it.
func assistant(msg chat.Message, open bool) sdk.ChatCompletionMessageParamUnion {
	var out sdk.ChatCompletionAssistantMessageParam
	var texts []string
	extra := map[string]any{}
	for _, p := range msg.Parts {
		switch p.Kind {
		case chat.PartText:
			texts = append(texts, p.Text)
		case chat.PartThinking:
			if field, ok := strings.CutPrefix(p.Seal, sealField); ok && open &&
				slices.Contains(reasoningFields, field) {
				extra[field] = p.Text
			}
		case chat.PartToolUse:
			out.ToolCalls = append(out.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{
				OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
					ID: model.WireID(p.Call),
					Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{
						Name: model.WireTool(p.Tool), Arguments: p.Args,
					},
				},
			})
		case chat.PartImage, chat.PartToolResult:
			// never from an assistant: the transcript is checked
		}
	}
	if len(texts) > 0 {
		out.Content.OfString = sdk.String(strings.Join(texts, "\n\n"))
	}
	if len(extra) > 0 {
		out.SetExtraFields(extra)
	}
	return sdk.ChatCompletionMessageParamUnion{OfAssistant: &out}
}

// user writes the results as messages of their own, and then the user's other text.
func user(msg chat.Message, images map[string]model.Image) []sdk.ChatCompletionMessageParamUnion {
	var out []sdk.ChatCompletionMessageParamUnion
	var said []sdk.ChatCompletionContentPartUnionParam
	var texts []string
	for _, p := range msg.Parts {
		switch p.Kind {
		case chat.PartToolResult:
			text := p.Text
			if p.Failed {
				text = failedMark + text
			}
			out = append(out, sdk.ToolMessage(text, model.WireID(p.Call)))
		case chat.PartText:
			texts = append(texts, p.Text)
			said = append(said, sdk.TextContentPart(p.Text))
		case chat.PartImage:
			img := images[p.Image]
			if p.Call != "" {
				said = append(said, sdk.TextContentPart(imageMark+model.WireID(p.Call)))
			}
			said = append(said, sdk.ImageContentPart(sdk.ChatCompletionContentPartImageImageURLParam{
				URL: "data:" + img.MediaType + ";base64," + base64.StdEncoding.EncodeToString(img.Data),
			}))
		case chat.PartThinking, chat.PartToolUse:
			// never from the user: the transcript is checked
		}
	}
	switch {
	case len(said) == 0:
		return out
	case len(said) == len(texts): // not every server takes more than a string
		return append(out, sdk.UserMessage(strings.Join(texts, "\n\n")))
	}
	return append(out, sdk.UserMessage(said))
}
