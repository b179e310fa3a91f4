package builtin

import (
	"context"
	_ "embed" // descriptions
	"encoding/json"
	"fmt"
	"strings"

	"github.com/retinue-dev/retinue/internal/chat"
	"github.com/retinue-dev/retinue/internal/tool"
)

//go:embed todo.md
var todoText string

type todo struct{}

func (todo) Definition() tool.Definition {
	return tool.Definition{
		Name: "todo", Aliases: []string{"TodoWrite"}, Description: todoText, Class: chat.ClassPure, Timeout: thinkTimeout,
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"todos": {
					"type": "array", "maxItems": 100, "description": "The whole list, in order; it takes the place of the one before.",
					"items": {
						"type": "object",
						"properties": {
							"content": {"type": "string", "minLength": 1, "maxLength": 500, "description": "What is to be done."},
							"status": {"type": "string", "enum": ["pending", "in_progress", "completed"]}
						},
						"required": ["content", "status"]
					}
				}
			},
			"required": ["todos"],
			"additionalProperties": false
		}`),
	}
}

func (todo) Run(_ context.Context, call tool.Call) (tool.Result, error) {
	var args struct {
		Todos []struct{ Content, Status string }
	}
	if err := call.Decode(&args); err != nil {
		return tool.Result{}, err
	}
	if len(args.Todos) == 0 {
		return tool.Result{Text: "The list is empty.\n"}, nil
	}
	marks := map[string]string{"pending": " ", "in_progress": "~", "completed": "x"}
	var out strings.Builder
	open := 0
	for i, t := range args.Todos {
		if t.Status != "completed" {
			open++
		}
		fmt.Fprintf(&out, "%d. [%s] %s\n", i+1, marks[t.Status], strings.Join(strings.Fields(t.Content), " "))
	}
	fmt.Fprintf(&out, "%d of %d are open.\n", open, len(args.Todos))
	return tool.Result{Text: out.String()}, nil
}
