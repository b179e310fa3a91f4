package builtin

import (
	"context"
	_ "embed" // descriptions
	"encoding/json"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/tool"
)

//go:embed think.md
var thinkText string

type think struct{}

func (think) Definition() tool.Definition {
	return tool.Definition{
		Name: "think", Description: thinkText, Class: chat.ClassPure, Timeout: thinkTimeout,
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {"thought": {"type": "string", "description": "What you are thinking."}},
			"required": ["thought"],
			"additionalProperties": false
		}`),
	}
}

func (think) Run(context.Context, tool.Call) (tool.Result, error) {
	return tool.Result{Text: "Noted."}, nil
}
