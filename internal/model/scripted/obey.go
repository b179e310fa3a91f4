package scripted

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
)

// orderMark is an order in a text, and taskMark one that counts only at the beginning: a report
// repeats the task that it is about. The order in them is base64, so that it survives whatever
// quotes the text.
var (
	orderMark = regexp.MustCompile(`ORDER\(([A-Za-z0-9_-]+)\)`)
	taskMark  = regexp.MustCompile(`(?:ORDER|TASK)\(([A-Za-z0-9_-]+)\)`)
)

// Order writes an order to call a tool, for a model that obeys.
func Order(tool string, args any) (string, error) {
	text, err := marshal(map[string]any{"tool": tool, "args": args})
	if err != nil {
		return "", err
	}
	return "ORDER(" + base64.RawURLEncoding.EncodeToString(text) + ")", nil
}

// Task makes an order one that counts only at the beginning.
func Task(order string) string { return strings.Replace(order, "ORDER(", "TASK(", 1) }

// order finds the last order in the newest input of the model: results of tools with their
// pictures, else the user's words, and at the beginning the system prompt, where the task of a
// sub-agent is.
func (a *ask) order() (toolCall, bool) {
	mark, newest := orderMark, strings.Join(a.Results, "\n")+strings.Join(a.Pictures, "\n")
	if len(a.Results)+len(a.Pictures) == 0 {
		newest = a.Text
		if a.Turn == 0 {
			mark, newest = taskMark, a.System+newest
		}
	}
	found := mark.FindAllStringSubmatch(newest, -1)
	if len(found) == 0 {
		return toolCall{}, false
	}
	text, err := base64.RawURLEncoding.DecodeString(found[len(found)-1][1])
	var call struct {
		Tool string          `json:"tool"`
		Args json.RawMessage `json:"args"`
	}
	if err != nil || json.Unmarshal(text, &call) != nil || call.Tool == "" {
		return toolCall{}, false
	}
	return toolCall{tool: call.Tool, args: string(call.Args)}, true
}
